//! One command in several environments: how it is started in each, and with it a program that does nothing, whose time there is
//! the environment's own start-up. Called by `cli::race`.
//!
//! What our launcher makes (filters, namespaces, file systems) is made before the clock starts; other environments are made by
//! programs that are part of what is timed.

use super::command::Command;
use super::site::{Inside, Site, check_copied};
use crate::kernel::launch::Launch;
use crate::kernel::output::output;
use crate::kernel::private::RUN_VARIABLE;
use crate::model::Failure;
use crate::runner::{Environment, Files, Interrupt, NATIVE, RunDirectory};
use crate::trace;
use anyhow::{Context, Result, bail};
use nix::unistd::{User, geteuid};
use std::cell::RefCell;
use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

/// Tells our launcher to wait before it becomes the program (probe/extra/confine.c).
const HOLD: &str = "SYSCOST_HOLD=1";

/// Programs that do nothing, in the run's directory, the smallest first: not every build has the first.
const EMPTY: [&str; 2] = ["tiny-static", "tiny-dynamic"];

/// The environments of a race: the first is what the others are compared with. Without `native` it is put first: start-up is what an
/// environment adds to it.
///
/// # Errors
/// One that does not exist, is there twice, or cannot start a command.
pub fn timed(names: &[String]) -> Result<Vec<Environment>> {
    let native = (!names.iter().any(|name| name == NATIVE)).then(|| NATIVE.to_string());
    let names: Vec<String> = native.into_iter().chain(names.iter().cloned()).collect();
    let one = |(index, name): (usize, &String)| {
        if names[..index].contains(name) {
            bail!("--env: {name} is there twice");
        }
        let found = Environment::find(name)?;
        found.check_starts_commands()?;
        found.check_needs()?;
        Ok(found)
    };
    names.iter().enumerate().map(one).collect()
}

/// The name of this process's user: a command in an environment is not started as the one who called sudo, since what it needs
/// belongs to this one.
pub fn own_user() -> Option<String> {
    User::from_uid(geteuid()).ok().flatten().map(|user| user.name)
}

/// `command` in each environment; in a fresh copy of the working directory if that is asked for, or if one of them has a file system of
/// its own.
///
/// # Errors
/// Why one cannot start a program here, or the working directory cannot be copied.
pub fn enter(
    command: &Command,
    environments: &[Environment],
    is_copied: bool,
    run: &mut RunDirectory,
    interrupt: &Interrupt,
) -> Result<Vec<Command>> {
    let home = env::current_dir().context("the working directory does not exist any more")?;
    let is_copied = is_copied || environments.iter().any(|environment| environment.files().is_some());
    if is_copied {
        check_copied(&home, run.path())?;
    }
    let mut all = Vec::new();
    for (index, environment) in environments.iter().enumerate() {
        if environment.keeps_containers {
            run.note_containers()?;
        }
        let directory = run.worker_directory()?;
        let (home, files) = (home.clone(), environment.files());
        let run_path = run.path().to_path_buf();
        let site = Site { run: run_path, directory, home, is_copied, files, kept: RefCell::default() };
        let own = Entrance { environment, number: run.number(), mark: run.mark(), site: &site };
        own.check(interrupt)?;
        let entered = own.command(command)?;
        all.push(Command { base: (index > 0).then_some(0), ..entered(site) });
    }
    Ok(all)
}

/// One environment, entered from the directory of `site`.
struct Entrance<'a> {
    environment: &'a Environment,
    number: &'a str,
    /// By it the janitor finds processes of the run.
    mark: CString,
    site: &'a Site,
}

impl Entrance<'_> {
    fn empty_program(&self) -> PathBuf {
        let paths = EMPTY.map(|name| self.site.run.join(name));
        paths.iter().find(|path| path.exists()).unwrap_or(&paths[1]).clone()
    }

    fn started(&self, words: &[OsString]) -> process::Command {
        let mut program = process::Command::new(&words[0]);
        program.args(&words[1..]);
        self.environment.started_command(program, &self.site.run, &self.site.directory, &self.site.work())
    }

    /// Starts the program that does nothing, for the reason if that is not possible.
    fn check(&self, interrupt: &Interrupt) -> Result<()> {
        self.site.clear()?;
        let mut command = self.started(&[self.empty_program().into()]);
        command.current_dir(self.site.start()).env(RUN_VARIABLE, self.number).stdin(Stdio::null());
        let name = &self.environment.name;
        let ended = output(&mut command).with_context(|| format!("environment {name} cannot start a command here"))?;
        if interrupt.is_set() {
            return Err(Failure::interrupted().into());
        }
        if !ended.status.success() {
            let reason = last_line(&ended.stderr).or(last_line(&ended.stdout)).unwrap_or(ended.status.to_string());
            bail!("environment {name} cannot start a command here: {reason}");
        }
        Ok(())
    }

    /// What `words` are started by; `holds`: our launcher waits when it has made the environment.
    fn launch(&self, words: &[OsString], silent: bool, holds: bool) -> Result<(trace::Command, Launch)> {
        let started = self.started(words);
        let words = std::iter::once(started.get_program()).chain(started.get_args()).map(OsStr::to_owned).collect();
        let traced = trace::Command { words, user: own_user(), silent, directory: Some(self.site.start()) };
        let enters = holds && self.environment.is_launched();
        let mut launch = Launch { bound: true, enters, ..traced.prepare()? };
        launch.environment.push(self.mark.clone());
        if launch.enters {
            launch.environment.push(CString::new(HOLD)?);
        }
        Ok((traced, launch))
    }

    /// With the files that a file system of its own begins without: its mount hides them, but not from where this process is.
    fn counted_words(&self, words: &[OsString]) -> Vec<OsString> {
        if self.site.files != Some(Files::Inside) {
            return words.to_vec();
        }
        let mut from = OsString::from(format!("/proc/{}/root", process::id()));
        from.push(self.site.work());
        let copies = ["sh", "-c", "cp -a \"$0\"/. . && exec \"$@\""].map(OsString::from);
        copies.into_iter().chain([from]).chain(words.iter().cloned()).collect()
    }

    /// The command as it is started here, but for its site.
    fn command(&self, command: &Command) -> Result<impl FnOnce(Site) -> Command + use<>> {
        let (traced, launch) = self.launch(&command.traced.words, command.traced.silent, true)?;
        let (empty, empty_launch) = self.launch(&[self.empty_program().into()], true, true)?;
        let counted = self.launch(&self.counted_words(&command.traced.words), true, false)?;
        let mut prepare = command.prepare.clone();
        if let Some(prepare) = &mut prepare {
            prepare.directory = Some(text(&self.site.work())?);
            prepare.environment.push(self.mark.clone());
        }
        let Environment { name, unaccounted, switches, lacks, .. } = self.environment.clone();
        let (text, shell, parameters) = (command.text.clone(), command.shell, command.parameters.clone());
        Ok(move |site| {
            let has_others = unaccounted || switches;
            let inside =
                Inside { name, is_accounted: !unaccounted, has_others, lacks, counted, site, empty, empty_launch };
            Command { text, shell, parameters, base: None, traced, launch, prepare, inside: Some(inside) }
        })
    }
}

/// Has the janitor of `run` end what the commands leave running, if this process cannot.
pub fn mark_left(commands: &mut [Command], run: &RunDirectory) {
    commands.iter_mut().for_each(|command| command.launch.environment.push(run.mark()));
}

fn text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).context("the working directory's path has a zero byte")
}

/// The last line of what a program printed; of our launcher (`error ERRNO call: text`) without what is for the protocol.
fn last_line(printed: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let own = line.strip_prefix("error E").and_then(|rest| rest.split_once(' '));
    let is_errno = |errno: &str| errno.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit());
    Some(own.filter(|(errno, _)| is_errno(errno)).map_or(line, |(_, reason)| reason).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_those_that_start_commands_with_native_among_them() {
        let named = |names: &[&str]| -> Result<Vec<String>> {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            Ok(timed(&names)?.into_iter().map(|environment| environment.name).collect())
        };
        assert_eq!(named(&["seccomp"]).unwrap(), ["native", "seccomp"]);
        assert_eq!(named(&["seccomp", "native"]).unwrap(), ["seccomp", "native"]);
        assert!(named(&["seccomp", "seccomp"]).unwrap_err().to_string().contains("there twice"));
        assert!(named(&["static"]).unwrap_err().to_string().contains("cannot start a command"));
        assert!(named(&["linux-6.1"]).unwrap_err().to_string().contains("cannot be timed"));
    }

    #[test]
    fn the_reason_of_a_refusal_is_what_was_printed_last() {
        assert_eq!(last_line(b"x\n bwrap: No permissions \n\n").as_deref(), Some("bwrap: No permissions"));
        assert_eq!(
            last_line(b"error EPERM unshare: Operation not permitted\n").unwrap(),
            "unshare: Operation not permitted"
        );
        assert_eq!(last_line(b"error Ended early\n").unwrap(), "error Ended early");
        assert_eq!(last_line(b"\n"), None);
    }
}
