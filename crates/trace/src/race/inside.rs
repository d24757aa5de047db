//! One command in several environments: how it is started in each, and with it a program that does nothing, whose time there is
//! the environment's own start-up.
//!
//! Our launcher makes filters, namespaces and file systems before the clock starts; other environments are made by programs whose
//! time is part of the command's.

use super::command::{Command, Commands, joined};
use super::site::{FreshCopy, Inside, MOUNTED, Site, check_copied};
use super::trash::Trash;
use crate::target::{text, words};
use anyhow::{Context, Result, bail};
use assets::CONFINE;
use measure::runner::{Environment, Files, Interrupt, NATIVE, RunDirectory, command};
use nix::unistd::{User, geteuid};
use std::env;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::rc::Rc;
use std::time::Duration;
use sys::family::memory_kib;
use sys::launch::Launch;
use sys::output::output_within;
use sys::private::RUN_VARIABLE;
use sys::process::wait_readable;

/// Makes our launcher wait before it becomes the program (probe/extra/confine.c).
const HOLD: &CStr = c"SYSCOST_HOLD=1";

/// A program that does nothing. Like most commands it loads a library, which takes longer in some environments.
const EMPTY: &str = "tiny-dynamic";

/// A container that has not started its program by then never will.
const LONGEST_START: Duration = Duration::from_secs(20);

/// The environments by name; all are compared with the first. `native` is put first unless it is named: start-up is the time that an
/// environment adds to it.
///
/// # Errors
/// An environment is unknown, named twice, lacks what it needs, or cannot start commands.
pub fn timed(names: &[String]) -> Result<Vec<Environment>> {
    let native = if names.iter().any(|name| name == NATIVE) {
        None
    } else {
        Some(NATIVE.to_string())
    };
    let names: Vec<String> = native.into_iter().chain(names.iter().cloned()).collect();
    names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            if names[..index].contains(name) {
                bail!("--env: {name} is listed twice");
            }
            let environment = Environment::find(name)?;
            environment.check_starts_commands()?;
            environment.check_needs()?;
            Ok(environment)
        })
        .collect()
}

/// The name of this process's user, also under sudo: an environment's files belong to this user.
pub fn own_user() -> Option<String> {
    User::from_uid(geteuid())
        .ok()
        .flatten()
        .map(|user| user.name)
}

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Start {
    /// Fresh files if an environment has a file system of its own.
    #[default]
    AsNeeded,
    Fresh,
    /// Fresh files if they can be copied, because the command changes some.
    Changes,
    /// The files as they are, because the command changes none.
    Unchanged,
}

/// The command in each environment that can be entered with the files that it needs, and in the first once more; `tell` gets a line
/// for each one that is left out.
///
/// # Errors
/// An environment cannot start a command here, or no environment is left to compare.
pub fn enter(
    command: &Command,
    environments: &[Environment],
    start: Start,
    with: (&mut RunDirectory, &Interrupt),
    tell: &dyn Fn(&str),
) -> Result<Vec<Command>> {
    let (run, interrupt) = with;

    let home = env::current_dir().context("the working directory does not exist any more")?;
    let (environments, is_fresh) = with_files(
        environments,
        start,
        || check_copied(&home, run.path()),
        tell,
    )?;
    let trash = Rc::new(Trash::new(run.path().join("trash")));
    let [shared, apart] = [run.worker_directory()?, run.worker_directory()?]
        .map(|directory| FreshCopy::below(&directory, &trash));
    let mut all = Vec::new();
    // The first once more, as the control.
    let again = environments[0];
    for (index, environment) in environments.iter().copied().chain([again]).enumerate() {
        let is_control = index == environments.len();
        // The control has files at another place of the disk: it shows how much that matters.
        let copy = if is_control { &apart } else { &shared };
        let entrance = Entrance::new(environment, (run, interrupt), &home, is_fresh, copy)?;
        all.push(Command {
            base: (index > 0).then_some(0),
            is_control,
            ..entrance.command(command)?
        });
    }
    Ok(all)
}

/// The environments whose files can be made, and whether each execution starts with fresh ones; or why the working directory cannot
/// be copied.
fn with_files<'a>(
    environments: &'a [Environment],
    start: Start,
    check_copied: impl FnOnce() -> Result<()>,
    tell: &dyn Fn(&str),
) -> Result<(Vec<&'a Environment>, bool)> {
    let has_files = environments.iter().any(|place| place.files().is_some());
    let is_fresh =
        matches!(start, Start::Fresh | Start::Changes) || has_files && start == Start::AsNeeded;
    let (left_out, others): (Vec<_>, Vec<_>) = environments
        .iter()
        .partition(|environment| environment.files() == Some(Files::Inside));
    let needs_copy = is_fresh || !left_out.is_empty();
    let Err(error) = (if needs_copy { check_copied() } else { Ok(()) }) else {
        return Ok((environments.iter().collect(), is_fresh));
    };
    if start == Start::Fresh || others.iter().all(|environment| environment.name == NATIVE) {
        return Err(error);
    }
    for environment in &left_out {
        tell(&format!("{} is left out: {error}", environment.name));
    }
    if is_fresh && left_out.is_empty() {
        tell(&format!("no execution gets fresh files: {error}"));
    }
    Ok((others, false))
}

/// A program that does nothing, natively, again natively as the control, and in each environment that can start it; with the memory that a
/// waiting program takes there. `tell` gets what is left out.
pub fn empty(
    environments: &[Environment],
    run: &mut RunDirectory,
    interrupt: &Interrupt,
    tell: &dyn Fn(&str),
) -> Result<Vec<(Command, Option<u64>)>> {
    let native = Environment::find(NATIVE)?;
    let home = run.worker_directory()?;
    let trash = Rc::new(Trash::new(run.path().join("trash")));
    let copy = FreshCopy::below(&home, &trash);
    let program = run.path().join(EMPTY).display().to_string();
    let empty = Commands {
        texts: vec![joined(&[program])],
        user: own_user(),
        ..Commands::default()
    };
    let command = empty.launched()?.swap_remove(0);
    let mut all = Vec::new();
    for environment in [&native, &native].into_iter().chain(environments) {
        let entered = Entrance::new(environment, (run, interrupt), &home, false, &copy);
        interrupt.check()?;
        match entered {
            Ok(entrance) => {
                let memory_kib = entrance.memory_kib(interrupt)?;
                all.push((entrance.command(&command)?, memory_kib));
            }
            Err(error) => tell(&format!("{error:#}")),
        }
    }
    Ok(all)
}

struct Entrance<'a> {
    environment: &'a Environment,
    number: String,
    mark: CString,
    site: Site,
}

impl<'a> Entrance<'a> {
    /// # Errors
    /// A command cannot be started there.
    fn new(
        environment: &'a Environment,
        with: (&mut RunDirectory, &Interrupt),
        home: &Path,
        is_fresh: bool,
        copy: &Rc<FreshCopy>,
    ) -> Result<Entrance<'a>> {
        let (run, interrupt) = with;
        if environment.keeps_containers {
            run.note_containers()?;
        }
        let directory = run.worker_directory()?;
        let files = environment.files();
        let mut entrance = Entrance {
            environment,
            number: run.number().to_string(),
            mark: run.mark(),
            site: Site::new(run.path(), directory, home, is_fresh, files, copy),
        };
        entrance.check(interrupt)?;
        if files.is_some() {
            entrance.site.launch =
                Some(entrance.launch(&[entrance.empty_program().into()], true, true)?);
        }
        Ok(entrance)
    }

    fn empty_program(&self) -> PathBuf {
        self.site.run.join(EMPTY)
    }

    /// A command that starts the words in the environment: in the file system that its launcher has made and waits in, if there is one.
    fn started(&self, words: &[OsString]) -> process::Command {
        let site = &self.site;
        if site.launch.is_some() {
            let joins = [
                site.run.join(CONFINE).into(),
                "join".into(),
                MOUNTED.into(),
                "--".into(),
            ];
            return command(&[&joins, words].concat());
        }
        self.environment
            .started_command(command(words), &site.run, &site.directory, &site.work())
    }

    fn check(&self, interrupt: &Interrupt) -> Result<()> {
        if self.site.files.is_none() {
            self.site.ready(interrupt)?;
        }
        let mut command = self.started(&[self.empty_program().into()]);
        command
            .current_dir(self.site.start())
            .env(RUN_VARIABLE, &self.number)
            .stdin(Stdio::null());
        let name = &self.environment.name;
        let ended = output_within(&mut command, LONGEST_START)
            .with_context(|| format!("environment {name} cannot start a command here"))?;
        interrupt.check()?;
        if !ended.status.success() {
            let line = last_line(&ended.stderr).or(last_line(&ended.stdout));
            let reason = line.unwrap_or(ended.status.to_string());
            bail!("environment {name} cannot start a command here: {reason}");
        }
        Ok(())
    }

    /// The launch of the words in the environment; with `holds`, our launcher waits when it has made the environment.
    fn launch(&self, words: &[OsString], silent: bool, holds: bool) -> Result<Launch> {
        let started = self.started(words);
        let command = crate::Command {
            words: std::iter::once(started.get_program())
                .chain(started.get_args())
                .map(OsStr::to_owned)
                .collect(),
            user: own_user(),
            silent,
            directory: Some(self.site.start()),
        };
        let mut launch = Launch {
            bound: true,
            enters: holds && self.environment.is_launched(),
            ..command.prepare()?
        };
        // The janitor finds the command's processes by it, whatever groups and sessions they make.
        launch.environment.push(self.mark.clone());
        if launch.enters {
            launch.environment.push(HOLD.into());
        }
        Ok(launch)
    }

    /// The memory of all processes there while a program waits, in KiB; `None` if it may not be read.
    fn memory_kib(&self, interrupt: &Interrupt) -> Result<Option<u64>> {
        if self.site.files.is_some() {
            self.site.ready(interrupt)?;
        }
        let mut waiting = self.started(&["cat".into()]);
        waiting
            .current_dir(self.site.start())
            .env(RUN_VARIABLE, &self.number)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut waiting = waiting.spawn()?;
        // A byte that comes back shows that it runs.
        let mut byte = [b'.'];
        let (input, output) = (waiting.stdin.take(), waiting.stdout.take());
        let is_there = input
            .as_ref()
            .zip(output)
            .is_some_and(|(mut input, mut output)| {
                input.write_all(&byte).is_ok()
                    && wait_readable(&output, LONGEST_START)
                    && output.read_exact(&mut byte).is_ok()
            });
        let kib = memory_kib(waiting.id(), &self.mark.to_string_lossy());
        drop(input);
        if !is_there {
            let _ = waiting.kill();
        }
        waiting.wait()?;
        interrupt.check()?;
        Ok(if is_there { kib } else { None })
    }

    fn command(self, command: &Command) -> Result<Command> {
        let words = words(&command.launch);
        let launch = self.launch(&words, command.launch.silent, true)?;
        // Not held after entering: the tracer counts from the launcher's execve on, and by name afterwards.
        let counted = self.launch(&words, true, false)?;
        let empty = self.launch(&[self.empty_program().into()], true, true)?;
        let mut prepare = command.prepare.clone();
        if let Some(prepare) = &mut prepare {
            prepare.directory = Some(text(self.site.work().as_os_str())?);
            prepare.environment.push(self.mark.clone());
        }
        Ok(Command {
            text: command.text.clone(),
            parameters: command.parameters.clone(),
            launch,
            prepare,
            inside: Some(Inside {
                environment: self.environment.clone(),
                counted,
                empty,
                site: self.site,
            }),
            ..*command
        })
    }
}

/// Lets the janitor of `run` end processes that the commands leave running, if this process cannot.
pub fn mark_left(commands: &mut [Command], run: &RunDirectory) {
    for command in commands {
        command.launch.environment.push(run.mark());
    }
}

/// The last line that was printed; of our launcher (`error ERRNO call: text`) without the words for the protocol.
fn last_line(printed: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let of_launcher = line
        .strip_prefix("error E")
        .and_then(|rest| rest.split_once(' '));
    let of_launcher = of_launcher.filter(|(errno, _)| {
        errno
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
    });
    Some(of_launcher.map_or(line, |(_, reason)| reason).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_refusal_is_what_was_printed_last() {
        for (printed, reason) in [
            ("x\n bwrap: No permissions \n\n", "bwrap: No permissions"),
            (
                "error EPERM unshare: Not permitted\n",
                "unshare: Not permitted",
            ),
            ("error Ended early\n", "error Ended early"),
        ] {
            assert_eq!(last_line(printed.as_bytes()).unwrap(), reason);
        }
        assert_eq!(last_line(b"\n"), None);
    }
}
