//! Environments that a user's own command makes: on this machine, or on another one through the
//! command's pipe.

use super::{Environment, NATIVE, PROGRAM};
use anyhow::{Context, Result, ensure};
use itertools::Itertools;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Meeting {
    /// It runs in the worker's directory and inherits its CPU.
    #[default]
    Known,
    /// A user's command on this machine: the probe must be greeted first. Its programs are those of
    /// the environment `build`.
    Command {
        build: &'static str,
    },
    Elsewhere(PathBuf),
}

/// The hole for the statically linked program, for containers with another C library or none.
const STATIC_PROGRAM: &str = "{static}";
const STATIC: &str = "static";
const NOT_TRACED: &str = "it ran on another machine, where it cannot be traced";
const LONGEST_NAME: usize = 30;

impl Environment {
    /// `[NAME=]COMMAND` starts the program on this machine.
    ///
    /// # Errors
    /// No command, unbalanced quotes, or a name that is in use.
    pub fn of_command(text: &str, taken: &[String]) -> Result<Environment> {
        let (name, words) = parts(text)?;
        let build = if words.iter().any(|word| word.contains(STATIC_PROGRAM)) {
            STATIC
        } else {
            NATIVE
        };
        let run = words
            .into_iter()
            .map(|word| word.replace(STATIC_PROGRAM, PROGRAM));
        let run = with_program(run.collect());
        let name = named(name, &run[..1], taken)?;
        Ok(Environment {
            name,
            what: "The programs of this machine, started by a command of the user's.".to_string(),
            run,
            meeting: Meeting::Command { build },
            ..Environment::find(NATIVE)?
        })
    }

    /// `[NAME=]COMMAND` leads to another machine, which has the probe at the path `probe`.
    ///
    /// # Errors
    /// As `of_command`.
    pub fn elsewhere(text: &str, probe: &Path, taken: &[String]) -> Result<Environment> {
        let (name, words) = parts(text)?;
        let place: Vec<String> = words
            .iter()
            // Words with spaces or holes are code for a shell, not the name of a place.
            .filter(|word| *word != "--" && !word.contains([' ', '{']))
            .cloned()
            .collect();
        let ends = if place.len() > 1 {
            [&place[..1], &place[place.len() - 1..]].concat()
        } else {
            place
        };
        let name = named(name, &ends, taken)?;
        let meeting = Meeting::Elsewhere(probe.to_path_buf());
        let (what, unverified) = (
            "A probe on another machine.".to_string(),
            Some(NOT_TRACED.to_string()),
        );
        Ok(Environment {
            name,
            what,
            run: with_program(words),
            meeting,
            unverified,
            ..Environment::find(NATIVE)?
        })
    }

    /// Nothing about the worker can be checked from here.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.meeting, Meeting::Elsewhere(_))
    }
}

fn parts(text: &str) -> Result<(Option<String>, Vec<String>)> {
    fn is_name(name: &&str) -> bool {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
    }

    let named = text.split_once('=').filter(|(name, _)| is_name(name));
    let command = named.map_or(text, |(_, command)| command);
    let words =
        shell_words::split(command).with_context(|| format!("'{command}' is not a command"))?;
    ensure!(
        !words.is_empty(),
        "'{text}' has no command; give the words that come before a program"
    );
    Ok((named.map(|(name, _)| name.to_string()), words))
}

fn with_program(mut words: Vec<String>) -> Vec<String> {
    if !words.iter().any(|word| word.contains(PROGRAM)) {
        words.push(PROGRAM.to_string());
    }
    words
}

/// A given name must be free; else one is made of `words` and, if need be, a number.
fn named(given: Option<String>, words: &[String], taken: &[String]) -> Result<String> {
    if let Some(name) = given {
        ensure!(
            !is_in_use(&name, taken),
            "there is an environment '{name}' already: choose another name"
        );
        return Ok(name);
    }
    let name = words
        .iter()
        .map(|word| word.rsplit('/').next().unwrap_or_default().to_string())
        .join(" ");
    let name: String = name.chars().take(LONGEST_NAME).collect();
    Ok(free_name(
        if name.is_empty() {
            "command".to_string()
        } else {
            name
        },
        |name| is_in_use(name, taken),
    ))
}

fn is_in_use(name: &String, taken: &[String]) -> bool {
    taken.contains(name) || Environment::names().contains(&name.as_str())
}

/// `name`, or the first free one of `name #2`, `name #3` and so on.
pub fn free_name(name: String, in_use: impl Fn(&String) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name} #{number}"));
    std::iter::once(name.clone())
        .chain(numbered)
        .find(|name| !in_use(name))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Result<Environment> {
        Environment::of_command(text, &["taken".to_string()])
    }

    fn command(text: &str) -> Environment {
        made(text).unwrap()
    }

    #[test]
    fn a_command_is_split_as_a_shell_splits_it_and_gets_the_program() {
        let container = command("container run -i --rm -v '{run}:/a b' debian");
        assert_eq!(
            container.run.join("|"),
            "container|run|-i|--rm|-v|{run}:/a b|debian|{program}"
        );
        assert_eq!(
            (container.name.as_str(), &container.meeting),
            ("container", &Meeting::Command { build: "native" })
        );
        let inside = command("here=sh -c 'exec \"$0\"' {static} x");
        assert_eq!(inside.run, ["sh", "-c", "exec \"$0\"", "{program}", "x"]);
        assert_eq!(
            (inside.name.as_str(), &inside.meeting),
            ("here", &Meeting::Command { build: "static" })
        );
        assert!(!inside.is_elsewhere() && inside.unverified.is_none());
    }

    #[test]
    fn names_are_free_ones() {
        fn error(text: &str) -> String {
            made(text).unwrap_err().to_string()
        }

        assert_eq!(command("/usr/bin/taken -x").name, "taken #2");
        assert_eq!(command("static").name, "static #2");
        assert_eq!(
            error("taken=nice"),
            "there is an environment 'taken' already: choose another name"
        );
        assert_eq!(
            error("x="),
            "'x=' has no command; give the words that come before a program"
        );
        assert_eq!(error("nice 'a"), "'nice 'a' is not a command");
        assert_eq!(command("env A=b").run, ["env", "A=b", "{program}"]);
    }

    #[test]
    fn another_machine_is_named_by_the_ends_of_its_command() {
        fn there(text: &str) -> Environment {
            Environment::elsewhere(text, Path::new("/tmp/probe"), &[]).unwrap()
        }

        for (text, name) in [
            ("ssh host", "ssh host"),
            ("kubectl exec -i pod --", "kubectl pod"),
            ("cat", "cat"),
            ("sh -c 'echo x; exec {program}'", "sh -c"),
            ("away=ssh host {program}", "away"),
        ] {
            assert_eq!(there(text).name, name);
            assert!(there(text).is_elsewhere() && there(text).unverified.is_some());
            assert_eq!(there(text).run.concat().matches("{program}").count(), 1);
        }
    }
}
