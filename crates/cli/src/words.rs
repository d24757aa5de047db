//! The command line as it was typed, made into the words of the parser: a pattern without a command is measured. Pure; `cli` calls it.

use super::error::usage;
use anyhow::Result;
use std::ffi::OsString;

/// Parses options that the program itself sets, with the checks of the command line.
pub fn parsed<A: clap::Args>(
    command: &'static str,
    words: impl IntoIterator<Item: Into<OsString> + Clone>,
) -> Result<A> {
    let parser = A::augment_args(clap::Command::new(command).no_binary_name(true));
    let matches = parser
        .try_get_matches_from(words)
        .and_then(|matches| A::from_arg_matches(&matches));
    usage(matches.map_err(Into::into))
}

const ANYWHERE: [&str; 2] = ["-q", "--quiet"];

const ALONE: [&str; 5] = ["-h", "--help", "--help-all", "-V", "--version"];

/// `typed` begins with the program.
pub fn with_command(typed: Vec<OsString>, commands: &[&str]) -> Vec<OsString> {
    let mut words = typed;
    let Some(at) = (1..words.len()).find(|at| !ANYWHERE.iter().any(|flag| &words[*at] == flag))
    else {
        return words;
    };
    let first = words[at].to_string_lossy().into_owned();
    let mut known = commands.iter().chain(&ALONE);
    if first == "help" {
        words.remove(at);
        words.push("--help".into());
    } else if !known.any(|known| is_like(known, &first)) {
        words.insert(at, "run".into());
    }
    words
}

/// Whether `typed` is `known` or a misspelling of it, which the parser then names. With another letter, a short name is another one:
/// `tcp` is not `top`. Nor is a past tense a slip: `call.cached_pid` is not `cache`.
fn is_like(known: &str, typed: &str) -> bool {
    let is_short = known.len() <= 4;
    let slips = if is_short { 1 } else { 2 };
    known.starts_with('-') == typed.starts_with('-')
        && strsim::damerau_levenshtein(known, typed) <= slips
        && !(is_short && strsim::hamming(known, typed) == Ok(1))
        && typed.strip_suffix('d') != Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{names, parser};
    use measure::runner::{RunDirectory, read_catalogue};

    fn completed(typed: &str) -> String {
        let words = with_command(
            typed.split(' ').map(OsString::from).collect(),
            &["run", "show", "why"],
        );
        words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_pattern_without_a_command_is_measured() {
        assert_eq!(
            completed("syscost getpid --time 1"),
            "syscost run getpid --time 1"
        );
        assert_eq!(
            completed("syscost -q --time 1 getpid"),
            "syscost -q run --time 1 getpid"
        );
        assert_eq!(completed("syscost help show"), "syscost show --help");
        for kept in [
            "syscost",
            "syscost -q",
            "syscost show a",
            "syscost -q show a",
            "syscost --help",
        ] {
            assert_eq!(completed(kept), kept);
        }
    }

    #[test]
    fn misspelt_commands_are_left_to_the_parser() {
        for kept in [
            "syscost shwo a",
            "syscost wy ls",
            "syscost -q wyh ls",
            "syscost --versoin",
        ] {
            assert_eq!(completed(kept), kept);
        }
    }

    #[test]
    fn no_operation_is_like_a_command() {
        let parser = parser(true);
        let commands = names(&parser);
        for operation in read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap() {
            let (area, name) = operation.id.split_once('.').unwrap();
            for word in [area, name, name.split('_').next().unwrap()] {
                assert!(
                    !commands.iter().any(|command| is_like(command, word)),
                    "{word}"
                );
            }
        }
    }
}
