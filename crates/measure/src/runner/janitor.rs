//! The process that creates the run's directory and removes it with everything that the run leaves,
//! however the run ends: a separate program, `probe/extra/janitor.c`, because it must outlive this
//! one.
//!
//! Rejected: clean-up in a signal handler (SIGKILL runs none); starting the janitor from the run's
//! directory (a kill before that would leave the directory behind).

use anyhow::{Context, Result, bail};
use assets::JANITOR;
use std::ffi::CStr;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use sys::embedded::Embedded;
use sys::private::RUN_PREFIX;

const NAME: &CStr = c"syscost-janitor";

pub struct Janitor {
    process: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Janitor {
    /// Removes what dead runs left below `parent` and creates a directory there, whose name is returned.
    ///
    /// # Errors
    /// It cannot be started, or cannot create the directory.
    pub fn start(parent: &Path) -> Result<(Janitor, String)> {
        let started =
            Embedded::in_memory(NAME, JANITOR).and_then(|program| spawn(&program.path(), parent));
        // Some sandboxes have no memfd_create, and some kernels refuse to execute from one.
        let mut process = started
            .or_else(|_| {
                Embedded::in_file(NAME, JANITOR, parent)
                    .and_then(|program| spawn(&program.path(), parent))
            })
            .context("cannot start the janitor")?;
        let mut janitor = Janitor {
            input: process.stdin.take(),
            output: process.stdout.take().map(BufReader::new),
            process,
        };
        let line = janitor.line();
        let line = line.trim_end();
        if let Some(name) = Some(line).filter(|line| line.starts_with(RUN_PREFIX)) {
            return Ok((janitor, name.to_string()));
        }
        janitor.finish();
        bail!(
            "{}",
            line.strip_prefix("error ")
                .unwrap_or("the janitor ended without an answer")
        )
    }

    /// A janitor that has been killed is ignored: the next run cleans up.
    pub fn send(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes());
        }
    }

    /// Waits until the janitor has acted on it.
    pub fn ask(&mut self, line: &str) {
        self.send(line);
        self.line();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self
            .output
            .as_mut()
            .map(|output| output.read_line(&mut line));
        line
    }

    /// Removes everything. False if it could not, or was killed.
    pub fn finish(&mut self) -> bool {
        drop(self.input.take());
        self.process.wait().is_ok_and(|status| status.success())
    }
}

fn spawn(program: &Path, parent: &Path) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .arg0(NAME.to_string_lossy().as_ref())
        .arg(parent)
        .current_dir("/")
        // Signals of the terminal must not end it before its work is done.
        .process_group(0);
    // A bare root has no /dev/null.
    let silence = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_or_else(|_| Stdio::inherit(), Stdio::from);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(silence)
        .spawn()
}
