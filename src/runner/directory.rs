//! The run's directory: the probe, its companions and a private directory for each worker, watched by a janitor.
//!
//! The janitor is a process of its own that removes everything when its standard input ends: at the end of the run, by
//! ^C, and also when the driver is killed. Rejected: removing from a signal handler (`kill -9` has none).

use super::files::{FILES, write_program};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A directory below the temporary directory that vanishes with everything that runs in it.
pub struct RunDirectory {
    path: PathBuf,
    janitor: Child,
    janitor_input: Option<ChildStdin>,
    workers: u32,
}

impl RunDirectory {
    /// Makes the directory where programs may be executed, puts the probe into it and starts the janitor.
    ///
    /// # Errors
    /// When no candidate directory lets a program be written and executed.
    pub fn create() -> Result<RunDirectory> {
        let mut reasons = Vec::new();
        for parent in candidates() {
            match Self::create_in(&parent) {
                Ok(made) => return Ok(made),
                Err(reason) => reasons.push(format!("{}: {reason:#}", parent.display())),
            }
        }
        bail!("no directory to run the probe from ({}); set TMPDIR to one without noexec", reasons.join("; "))
    }

    fn create_in(parent: &Path) -> Result<RunDirectory> {
        let temporary = tempfile::Builder::new().prefix("syscost-").tempdir_in(parent)?;
        for (name, contents) in FILES.iter().filter(|(_, contents)| !contents.is_empty()) {
            write_program(&temporary.path().join(name), contents)?;
        }
        let mut janitor = start_janitor(temporary.path())?;
        let janitor_input = janitor.stdin.take();
        Ok(RunDirectory { path: temporary.keep(), janitor, janitor_input, workers: 0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The native probe's executable.
    pub fn probe(&self) -> PathBuf {
        self.path.join("probe")
    }

    /// A new empty directory for one worker.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn worker_directory(&mut self) -> Result<PathBuf> {
        self.workers += 1;
        let path = self.path.join(format!("worker-{}", self.workers));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// The directory of fixtures, beside those of the workers; made where it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fixture_directory(&self) -> Result<PathBuf> {
        let path = self.path.join(super::fixtures::DIRECTORY);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// Tells the janitor of a process group that must not outlive the run.
    pub fn group_started(&mut self, group: u32) {
        self.tell(&format!("+{group}\n"));
    }

    /// Tells the janitor that a process group has ended, before its number can be used again.
    pub fn group_ended(&mut self, group: u32) {
        self.tell(&format!("-{group}\n"));
    }

    /// A janitor that is gone cannot be told: then the run ends without it, and Drop removes what it can.
    fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.janitor_input {
            let _ = input.write_all(line.as_bytes());
        }
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        drop(self.janitor_input.take());
        let cleaned = self.janitor.wait().is_ok_and(|status| status.success());
        if !cleaned {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn candidates() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    [Some(std::env::temp_dir()), runtime, std::env::current_dir().ok()].into_iter().flatten().collect()
}

fn start_janitor(directory: &Path) -> Result<Child> {
    let mut command = Command::new(directory.join("probe"));
    command.arg("--janitor").arg(directory).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().with_context(|| format!("cannot execute {}/probe", directory.display()))
}
