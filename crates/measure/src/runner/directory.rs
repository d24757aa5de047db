//! The run's directory: the probe, its companions and a private directory for each worker. The
//! janitor creates and removes it; this module locks it, so that no other run takes it for
//! abandoned. It is used by path, and programs are executed from it, so nobody else may be able to
//! replace a part of the path.

use super::janitor::Janitor;
use anyhow::{Context, Result, bail, ensure};
use assets::{FILES, JANITOR};
use nix::fcntl::{FcntlArg, fcntl};
use std::env;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use sys::libraries::{lacks, missing_loader};
use sys::owner::{self, Trust};
use sys::process::is_executable;
use sys::{lock, open, private};

pub struct RunDirectory {
    path: PathBuf,
    number: String,
    janitor: Janitor,
    lock: Option<File>,
    workers: u32,
}

impl RunDirectory {
    /// Below TMPDIR, or /tmp or the user's runtime directory.
    ///
    /// # Errors
    /// Why each candidate failed, with the way to choose another one.
    pub fn create() -> Result<RunDirectory> {
        Self::create_somewhere(true)
    }

    /// As `create`, without programs: for commands that start no probe.
    pub fn create_empty() -> Result<RunDirectory> {
        Self::create_somewhere(false)
    }

    fn create_somewhere(with_programs: bool) -> Result<RunDirectory> {
        // The janitor needs the same loader as the probe: without it, no directory would help.
        if let Some(loader) = missing_loader(JANITOR) {
            bail!(
                "the probe cannot run: {}; a static syscost needs none (see README.md)",
                lacks(&loader)
            );
        }
        let mut reasons = Vec::new();
        for (name, parent) in candidates() {
            match Self::create_in(&parent, with_programs) {
                Ok(made) => return Ok(made),
                Err(reason) => reasons.push(format!("{name} {}: {reason:#}", parent.display())),
            }
        }
        bail!(
            "{}; set TMPDIR to a directory of yours that has free space and is not mounted noexec",
            reasons.join("; ")
        )
    }

    /// `parent` is the user's choice for the files of operations. Only a directory with programs needs a file system that permits
    /// executing them.
    pub fn create_below(parent: &Path, with_programs: bool) -> Result<RunDirectory> {
        Self::create_in(parent, with_programs)
            .with_context(|| format!("cannot measure in {}", parent.display()))
    }

    fn create_in(parent: &Path, with_programs: bool) -> Result<RunDirectory> {
        let parent = parent.canonicalize()?;
        // Whoever can rename entries there could make us execute their program.
        owner::doubt_place(&parent, Trust::Group).map_or(Ok(()), |doubt| bail!(doubt))?;
        let (janitor, name) = Janitor::start(&parent)?;
        let path = parent.join(&name);
        let mut made = RunDirectory {
            path,
            number: name.rsplit('-').next().unwrap_or_default().to_string(),
            janitor,
            lock: None,
            workers: 0,
        };
        // Before anything is written: another run's janitor removes directories that nobody locks.
        made.lock = hold(&made.path)?;
        if with_programs {
            made.fill()?;
        }
        Ok(made)
    }

    fn fill(&self) -> Result<()> {
        ensure!(
            !FILES[0].1.is_empty(),
            "this syscost was built without its probe (SYSCOST_WITHOUT_PROBE=1)"
        );
        for (name, contents) in FILES.iter().filter(|(_, contents)| !contents.is_empty()) {
            write_program(&self.path.join(name), contents)?;
        }
        ensure!(
            is_executable(&self.probe()),
            "programs cannot be executed there"
        );
        Ok(())
    }

    /// Absolute, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last part of the directory's name, which also marks the run's processes.
    pub fn number(&self) -> &str {
        &self.number
    }

    /// `NAME=NUMBER`, by which the janitor knows the run's processes.
    pub fn mark(&self) -> CString {
        CString::new(format!("{}={}", private::RUN_VARIABLE, self.number)).unwrap_or_default()
    }

    pub fn probe(&self) -> PathBuf {
        self.path.join("probe")
    }

    /// Beside the probe, where it finds the probe's companions.
    pub fn add_program(&self, name: &str, path: &Path) -> Result<PathBuf> {
        // Checked one by one: execve says ENOENT for a missing file and for a missing loader alike.
        ensure!(path.exists(), "there is no such file");
        ensure!(is_executable(path), "it is not an executable file");
        let image = fs::read(path)?;
        if let Some(loader) = missing_loader(&image) {
            bail!("{}", lacks(&loader));
        }
        let copy = self.path.join(name);
        write_program(&copy, &image)?;
        Ok(copy)
    }

    /// Tells the janitor that podman may keep containers of this run.
    pub fn note_containers(&self) -> Result<()> {
        let note = self.path.join("containers");
        if !note.exists() {
            create_private(&note, 0o600)?;
        }
        Ok(())
    }

    /// Empty.
    ///
    /// # Errors
    /// The file system is full or no longer there.
    pub fn worker_directory(&mut self) -> Result<PathBuf> {
        self.workers += 1;
        let path = self.path.join(format!("worker-{}", self.workers));
        private::make(&path)?;
        Ok(path)
    }

    pub fn fixture_directory(&self) -> Result<PathBuf> {
        let path = self.path.join(super::fixtures::DIRECTORY);
        private::make(&path)?;
        Ok(path)
    }

    /// The janitor kills it if the run is killed.
    pub fn group_started(&mut self, group: u32) {
        self.janitor.send(&format!("+{group}\n"));
    }

    /// The group's number may be another's from now on.
    pub fn group_ended(&mut self, group: u32) {
        self.janitor.send(&format!("-{group}\n"));
    }

    /// Has the janitor give the terminal its present modes again if this process is killed.
    pub fn take_terminal(&mut self) {
        self.janitor.ask("@\n");
    }

    pub fn give_back_terminal(&mut self) {
        self.janitor.ask("~\n");
    }
}

impl Drop for RunDirectory {
    /// If our janitor was killed, another one cleans up after this run as after a dead one.
    fn drop(&mut self) {
        let cleaned = self.janitor.finish();
        // A new janitor takes the run for dead only without its lock.
        drop(self.lock.take());
        if let (false, Some(parent)) = (cleaned, self.path.parent()) {
            let _ = Janitor::start(parent).map(|(mut janitor, _)| janitor.finish());
        }
    }
}

/// Parents for the directory, each with its origin. TMPDIR has no alternative: the user chose the file system.
fn candidates() -> Vec<(&'static str, PathBuf)> {
    fn variable(name: &str) -> Option<(&str, PathBuf)> {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(|value| (name, PathBuf::from(value)))
    }

    match variable("TMPDIR") {
        Some(chosen) => vec![chosen],
        None => [("TMPDIR is not set;", "/tmp".into())]
            .into_iter()
            .chain(variable("XDG_RUNTIME_DIR"))
            .collect(),
    }
}

/// While the file is open and this process lives. On a file system without locks, no run is ever taken for dead.
fn hold(directory: &Path) -> Result<Option<File>> {
    private::make(directory)?;
    let file = open::trusted(&directory.join("lock"))?;
    let _ = fcntl(&file, FcntlArg::F_SETLK(&lock::whole_file()));
    Ok(Some(file))
}

/// Exactly this `mode`, whatever the umask.
///
/// # Errors
/// The file exists, or cannot be created.
pub fn create_private(path: &Path, mode: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// Writes a file that only this user can read and execute.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_program(path: &Path, contents: &[u8]) -> Result<()> {
    create_private(path, 0o700)
        .and_then(|mut file| file.write_all(contents))
        .with_context(|| format!("cannot write {}", path.display()))
}
