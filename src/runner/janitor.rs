//! Starts the janitor and talks to it: the process that makes the run's directory and removes it with all that the run
//! leaves, whatever ends the run. It is a program of its own, `probe/extra/janitor.c`, because it must outlive this one.
//!
//! Rejected: removing from a signal handler (`kill -9` has none); starting it from the run's directory (a kill before
//! that would leave the directory).

use super::files::JANITOR;
use anyhow::{Context, Result, bail};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running janitor.
pub struct Janitor {
    process: Child,
    input: Option<ChildStdin>,
}

impl Janitor {
    /// Starts it: it removes what dead runs left below `parent` and makes a directory there, whose name is returned.
    ///
    /// # Errors
    /// What it could not do there, or why it does not run.
    pub fn start(parent: &Path) -> Result<(Janitor, String)> {
        let mut process = from_memory(parent).or_else(|_| from_file(parent)).context("cannot start the janitor")?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let mut janitor = Janitor { input: process.stdin.take(), process };
        let line = line.trim_end();
        if let Some(name) = Some(line).filter(|line| line.starts_with("syscost-run-")) {
            return Ok((janitor, name.to_string()));
        }
        janitor.finish();
        bail!("{}", line.strip_prefix("error ").unwrap_or("the janitor ended without an answer"))
    }

    /// One that is gone cannot be told: then the run ends without it.
    pub fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes());
        }
    }

    /// Has it end what is left of the run, and waits for that; returns whether all is gone.
    pub fn finish(&mut self) -> bool {
        drop(self.input.take());
        self.process.wait().is_ok_and(|status| status.success())
    }
}

/// From memory, so that nothing is left should this process be killed meanwhile.
fn from_memory(parent: &Path) -> Result<Child> {
    let mut program = File::from(memfd_create(c"syscost-janitor", MFdFlags::MFD_CLOEXEC)?);
    program.write_all(JANITOR)?;
    spawn(Path::new(&format!("/proc/self/fd/{}", program.as_raw_fd())), parent)
}

/// Where programs cannot be executed from memory: from a file, which is removed at once.
fn from_file(parent: &Path) -> Result<Child> {
    let private = Permissions::from_mode(0o700);
    let mut file =
        tempfile::Builder::new().prefix("syscost-janitor-").permissions(private.clone()).tempfile_in(parent)?;
    file.as_file().set_permissions(private)?;
    file.write_all(JANITOR)?;
    spawn(&file.into_temp_path(), parent)
}

fn spawn(program: &Path, parent: &Path) -> Result<Child> {
    let mut command = Command::new(program);
    command.arg0("syscost-janitor").arg(parent).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    Ok(command.spawn()?)
}
