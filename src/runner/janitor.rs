//! Starts the janitor and talks to it: the process that creates the run's directory and removes it with everything that the
//! run leaves, however the run ends. It is a separate program, `probe/extra/janitor.c`, because it must outlive this one.
//!
//! Rejected: clean-up in a signal handler (SIGKILL runs none); starting the janitor from the run's directory (a kill before
//! that would leave the directory behind).

use super::files::JANITOR;
use crate::kernel::private::RUN_PREFIX;
use anyhow::{Context, Result, bail};
use nix::sys::memfd::MFdFlags;
use nix::sys::memfd::memfd_create;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

pub struct Janitor {
    process: Child,
    input: Option<ChildStdin>,
}

impl Janitor {
    /// Starts it. It removes what dead runs left below `parent` and creates a directory there, whose name is returned.
    ///
    /// # Errors
    /// What it could not do, or why it could not be started.
    pub fn start(parent: &Path) -> Result<(Janitor, String)> {
        let mut process = from_memory(parent).or_else(|_| from_file(parent)).context("cannot start the janitor")?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let mut janitor = Janitor { input: process.stdin.take(), process };
        let line = line.trim_end();
        if let Some(name) = Some(line).filter(|line| line.starts_with(RUN_PREFIX)) {
            return Ok((janitor, name.to_string()));
        }
        janitor.finish();
        bail!("{}", line.strip_prefix("error ").unwrap_or("the janitor ended without an answer"))
    }

    /// Sends it a line. A janitor that has been killed is ignored: the next run cleans up.
    pub fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes());
        }
    }

    /// Has it clean up and waits for that; returns whether everything is gone.
    pub fn finish(&mut self) -> bool {
        drop(self.input.take());
        self.process.wait().is_ok_and(|status| status.success())
    }
}

/// From memory, so that nothing is left behind if this process is killed meanwhile.
fn from_memory(parent: &Path) -> Result<Child> {
    let mut program = File::from(memfd_create(c"syscost-janitor", MFdFlags::MFD_CLOEXEC)?);
    program.write_all(JANITOR)?;
    spawn(Path::new(&format!("/proc/self/fd/{}", program.as_raw_fd())), parent)
}

/// From a file, removed at once, for systems that cannot execute programs from memory.
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
    // A bare root has no /dev/null.
    let silence = OpenOptions::new().write(true).open("/dev/null").map_or_else(|_| Stdio::inherit(), Stdio::from);
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(silence).spawn()?)
}
