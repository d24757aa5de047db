//! The options that select the target of tracing, shared by `trace`, `why` and `top`.

use super::complete;
use anyhow::Result;
use clap::ArgGroup;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use trace::{Command, Running, Target};

/// A command to start, or processes that already run.
#[derive(clap::Args)]
#[group(skip)]
#[command(group(ArgGroup::new("target").required(true).args(["command", "all", "cgroup", "container", "pids"])))]
pub struct TargetArgs {
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", add = complete::files(), trailing_var_arg = true)]
    command: Vec<OsString>,
    /// Trace processes with all their threads and children, present and later [repeatable].
    #[arg(
        short,
        long = "pid",
        value_name = "PID[,PID...]",
        value_delimiter = ','
    )]
    pids: Vec<u32>,
    /// Trace the whole system.
    #[arg(short, long)]
    all: bool,
    /// Trace a control group (version 2) and those below it: a path, from /sys/fs/cgroup or as in /proc/PID/cgroup.
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,
    /// Trace a container of podman, docker, containerd or CRI-O, or a Kubernetes pod: its name or ID, at least 12 digits.
    #[arg(long, value_name = "NAME|ID")]
    container: Option<String>,
    /// How long to trace [default: until it ends, or ^C].
    #[arg(long = "for", value_name = "SECONDS", value_parser = super::run::seconds)]
    pub time: Option<Duration>,
    /// User to run the command as [default: the user who called sudo, else the current one].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "cgroup", "container", "pids"])]
    user: Option<String>,
}

impl TargetArgs {
    pub fn command(&self) -> String {
        self.command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// A file in place of a command, and the words after it: a regular file that is not executable, or '-' for standard input.
    pub fn profile(&self) -> Option<(PathBuf, &[OsString])> {
        let (word, behind) = self.command.split_first()?;
        let path = PathBuf::from(word);
        let is_file = || {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 == 0)
        };
        (word == "-" || (is_file() && !is_in_path(word))).then_some((path, behind))
    }

    pub fn resolve(&self) -> Result<Target> {
        let what = match (&self.cgroup, &self.container) {
            (Some(path), _) => Running::cgroup(path)?,
            (_, Some(name)) => Running::container(name)?,
            _ if self.all => Running::System,
            _ if !self.pids.is_empty() => Running::processes(&self.pids)?,
            _ => {
                return Ok(Target::Command(Command {
                    words: self.command.clone(),
                    user: self.user.clone(),
                    ..Command::default()
                }));
            }
        };
        Ok(Target::Running(what))
    }
}

fn is_in_path(word: &OsStr) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_plain = !word.as_encoded_bytes().contains(&b'/');
    is_plain && std::env::split_paths(&folders).any(|folder| folder.join(word).is_file())
}
