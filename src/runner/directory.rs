//! The run's directory: the probe, its companions and a private directory for each worker. The janitor makes and removes
//! it; here it is held, so that no other run takes it for a dead one's, and filled.
//!
//! It is used by its path, and programs are executed from it: so nobody else may be able to exchange a name on the way.

use super::files::{FILES, write_program};
use super::janitor::Janitor;
use crate::kernel::process::{is_executable, is_unknown_user};
use anyhow::{Context, Result, bail, ensure};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::geteuid;
use std::env;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// In the environment of workers: the run's number, which names the kernel objects that they make (probe/objects.h).
pub const RUN_VARIABLE: &str = "SYSCOST_RUN";

/// A directory below the temporary directory that vanishes with everything that runs in it.
pub struct RunDirectory {
    path: PathBuf,
    /// The run's number.
    number: String,
    janitor: Janitor,
    /// Locked as long as it is open.
    lock: Option<File>,
    workers: u32,
}

impl RunDirectory {
    /// Has the janitor remove what dead runs left and make the directory, and puts the probe into it.
    ///
    /// # Errors
    /// When no candidate is a directory that is safe, has room, and lets programs be executed; it names all of them.
    pub fn create() -> Result<RunDirectory> {
        let mut reasons = Vec::new();
        for (name, parent) in candidates() {
            match Self::create_in(&parent) {
                Ok(made) => return Ok(made),
                Err(reason) => reasons.push(format!("{name} {}: {reason:#}", parent.display())),
            }
        }
        bail!("{}; set TMPDIR to a directory of yours that has room and is not mounted noexec", reasons.join("; "))
    }

    fn create_in(parent: &Path) -> Result<RunDirectory> {
        let parent = parent.canonicalize()?;
        parent.ancestors().try_for_each(check_names_are_safe)?;
        let (janitor, name) = Janitor::start(&parent)?;
        let path = parent.join(&name);
        let number = name.rsplit('-').next().unwrap_or_default().to_string();
        let mut made = RunDirectory { path, number, janitor, lock: None, workers: 0 };
        made.lock = hold(&made.path)?;
        made.fill()?;
        Ok(made)
    }

    fn fill(&self) -> Result<()> {
        for (name, contents) in FILES.iter().filter(|(_, contents)| !contents.is_empty()) {
            write_program(&self.path.join(name), contents)?;
        }
        ensure!(is_executable(&self.probe()), "programs cannot be executed there");
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's number, as it stands in workers' environment.
    pub fn number(&self) -> &str {
        &self.number
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
        make_private(&path)?;
        Ok(path)
    }

    /// The directory of fixtures, beside those of the workers; made where it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fixture_directory(&self) -> Result<PathBuf> {
        let path = self.path.join(super::fixtures::DIRECTORY);
        if !path.is_dir() {
            make_private(&path)?;
        }
        Ok(path)
    }

    /// Tells the janitor of a process group that must not outlive the run.
    pub fn group_started(&mut self, group: u32) {
        self.janitor.tell(&format!("+{group}\n"));
    }

    /// Tells the janitor that a process group has ended, before its number can be used again.
    pub fn group_ended(&mut self, group: u32) {
        self.janitor.tell(&format!("-{group}\n"));
    }
}

impl Drop for RunDirectory {
    /// Where our janitor was killed or did not succeed, the next one finds a dead run's directory.
    fn drop(&mut self) {
        let cleaned = self.janitor.finish();
        drop(self.lock.take());
        if let (false, Some(parent)) = (cleaned, self.path.parent()) {
            let _ = Janitor::start(parent).map(|(mut janitor, _)| janitor.finish());
        }
    }
}

/// Where the directory may be, with what says so. Where the user has chosen, there is no second choice: figures of files
/// are those of a file system.
fn candidates() -> Vec<(&'static str, PathBuf)> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(|value| (name, PathBuf::from(value)));
    match variable("TMPDIR") {
        Some(chosen) => vec![chosen],
        None => [("TMPDIR is not set;", "/tmp".into())].into_iter().chain(variable("XDG_RUNTIME_DIR")).collect(),
    }
}

/// Whoever may rename entries of a directory on the way to ours could have us execute a program of theirs.
fn check_names_are_safe(directory: &Path) -> Result<()> {
    let about = directory.metadata().with_context(|| format!("cannot look at {}", directory.display()))?;
    match exchange(&about) {
        None => Ok(()),
        Some(who) => bail!("{who} could exchange what is in {}", directory.display()),
    }
}

/// Who else may rename others' entries of a directory. Its group is trusted by whoever gave it the right to write.
fn exchange(about: &Metadata) -> Option<String> {
    const STICKY: u32 = 0o1000;
    const ALL_WRITE: u32 = 0o002;
    let sticky = about.mode() & STICKY != 0;
    if about.mode() & ALL_WRITE != 0 && !sticky {
        return Some(format!("anybody (mode {:o}, not sticky)", about.mode() & 0o7777));
    }
    let owner = about.uid();
    let trusted = owner == 0 || owner == geteuid().as_raw() || is_unknown_user(owner) || sticky;
    (!trusted).then(|| format!("its owner, user {owner},"))
}

/// Locks the directory that the janitor has made for as long as the file is open and this process lives: children do not
/// inherit the lock. File systems without locks are no error: then no run is ever taken for a dead one's there.
fn hold(directory: &Path) -> Result<Option<File>> {
    let about = directory.symlink_metadata()?;
    let private = about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0;
    ensure!(private, "{} is not private", directory.display());
    let lock = OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(directory.join("lock"))?;
    let whole = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let _ = fcntl(&lock, FcntlArg::F_SETLK(&whole));
    Ok(Some(lock))
}

/// Makes a directory that is nobody else's, whatever the umask is.
fn make_private(path: &Path) -> Result<()> {
    let make = || {
        DirBuilder::new().mode(0o700).create(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o700))
    };
    make().with_context(|| format!("cannot make {}", path.display()))
}
