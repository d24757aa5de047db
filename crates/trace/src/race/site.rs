//! The directory in which a command runs in an environment: the working directory, a copy of it that is made fresh before each
//! execution, or one in the environment's file system, with a copy in it or over the working directory.

use super::kept::Kept;
use super::trash::Trash;
use anyhow::{Context, Result, bail, ensure};
use measure::runner::{Environment, FILES_DIRECTORY, Files, Interrupt};
use std::cell::RefCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use sys::launch::{Launch, Started};
use sys::output::output;
use sys::private;
use sys::tracee::reap;

const MOST_MIB: u64 = 256;
const MOST_FILES: u64 = 20_000;

pub const LOOK: Duration = Duration::from_millis(200);

/// A link to the launcher whose file system is used.
pub const MOUNTED: &str = "held";

pub struct Inside {
    pub environment: Environment,
    /// Nobody waits for the environment.
    pub counted: Launch,
    pub empty: Launch,
    pub site: Site,
}

pub struct Site {
    pub run: PathBuf,
    pub directory: PathBuf,
    pub home: PathBuf,
    /// Whether each execution starts with the files that `home` has.
    pub is_fresh: bool,
    /// How the environment's own file system gets these files.
    pub files: Option<Files>,
    /// The executions join it.
    pub launch: Option<Launch>,
    mounted: RefCell<Option<Mounted>>,
    copy: Rc<FreshCopy>,
}

/// A copy of the working directory. All environments without a file system of their own share one, so that the place of its files on
/// the disk makes no difference between them.
pub struct FreshCopy {
    path: PathBuf,
    kept: RefCell<Option<Kept>>,
    trash: Rc<Trash>,
}

impl FreshCopy {
    /// A copy below `directory`, which is made before the first execution.
    pub fn below(directory: &Path, trash: &Rc<Trash>) -> Rc<FreshCopy> {
        Rc::new(FreshCopy {
            path: directory.join(FILES_DIRECTORY),
            kept: RefCell::default(),
            trash: Rc::clone(trash),
        })
    }
}

pub struct Mounted(Started, i32);

impl Drop for Mounted {
    fn drop(&mut self) {
        self.0.end();
        let _ = reap(self.1);
    }
}

impl Site {
    /// Nothing is made yet. `shared` is the copy for those without a file system.
    pub fn new(
        run: &Path,
        directory: PathBuf,
        home: &Path,
        is_fresh: bool,
        files: Option<Files>,
        shared: &Rc<FreshCopy>,
    ) -> Site {
        let copy = match files {
            None => Rc::clone(shared),
            Some(_) => FreshCopy::below(&directory, &shared.trash),
        };
        Site {
            run: run.to_path_buf(),
            directory,
            home: home.to_path_buf(),
            is_fresh,
            files,
            launch: None,
            mounted: RefCell::default(),
            copy,
        }
    }

    /// The directory as seen from outside of the environment.
    pub fn work(&self) -> PathBuf {
        match self.files {
            Some(_) => self.directory.join(MOUNTED).join("cwd/."),
            None if self.is_fresh => self.copy.path.clone(),
            None => self.home.clone(),
        }
    }

    /// The directory in which the launcher starts: it finds the file system from there.
    pub fn start(&self) -> PathBuf {
        if self.files.is_some() {
            self.directory.clone()
        } else {
            self.work()
        }
    }

    pub fn removal(&self) -> Duration {
        self.copy.trash.removal()
    }

    /// Makes the place as it was before the last execution.
    ///
    /// # Errors
    /// The files cannot be copied, or the file system cannot be made.
    pub fn ready(&self, interrupt: &Interrupt) -> Result<()> {
        let kept = self.copy.kept.take();
        let with = (&*self.run, &*self.copy.trash);
        let kept = kept.and_then(|it| it.restored(&self.home, &self.work(), with).ok()?);
        let is_ready = if self.is_fresh {
            kept.is_some()
        } else {
            self.work().exists()
        };
        *self.copy.kept.borrow_mut() = kept;
        if is_ready && (self.files.is_some() || self.clear_beside().is_ok()) {
            Ok(())
        } else {
            self.make(interrupt)
        }
    }

    fn make(&self, interrupt: &Interrupt) -> Result<()> {
        // Files below an overlay are not changed by what runs in it: only the overlay is made again.
        // Taken first in either case: the old mounts hold the files that are about to be removed.
        let mounts_again = self.mounted.take().is_some() && self.files == Some(Files::Below);
        if !mounts_again || self.clear_beside().is_err() {
            if self.directory.exists() {
                self.clear(&self.directory)?;
            }
            private::make(&self.directory)?;
            let below = self.directory.join(FILES_DIRECTORY);
            match self.files {
                Some(Files::Below) if !self.is_fresh => symlink(&self.home, below)?,
                Some(Files::Below) => self.copy(&below, interrupt)?,
                _ => {}
            }
        }
        if let Some(launch) = &self.launch {
            *self.mounted.borrow_mut() = Some(self.mount(launch, interrupt)?);
        }
        if self.files.is_none() && self.is_fresh && self.work().exists() {
            self.clear(&self.work())?;
        }
        if self.files == Some(Files::Inside) || self.files.is_none() && self.is_fresh {
            self.copy(&self.work(), interrupt)?;
            *self.copy.kept.borrow_mut() = if self.is_fresh {
                Kept::read(&self.work()).ok()
            } else {
                None
            };
        }
        Ok(())
    }

    fn mount(&self, launch: &Launch, interrupt: &Interrupt) -> Result<Mounted> {
        let held = launch.hold()?;
        let pid = i32::try_from(held.pid)?;
        let mut mounted = Mounted(held.release(false)?, pid);
        let has_entered = has_entered(&mut mounted.0, interrupt);
        interrupt.check()?;
        ensure!(
            has_entered,
            "its file system cannot be made again in {}",
            self.directory.display()
        );
        // The mounts are in the holder's namespace: from ours they are reached through its /proc entry.
        symlink(format!("/proc/{pid}"), self.directory.join(MOUNTED))?;
        Ok(mounted)
    }

    fn clear(&self, path: &Path) -> Result<()> {
        let cleared = self.copy.trash.take(path);
        cleared.with_context(|| format!("cannot remove {}", path.display()))
    }

    fn clear_beside(&self) -> Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name() != FILES_DIRECTORY {
                self.clear(&entry.path())?;
            }
        }
        Ok(())
    }

    fn copy(&self, to: &Path, interrupt: &Interrupt) -> Result<()> {
        if !to.exists() {
            private::make(to)?;
        }
        let mut copies = private::helper("cp", &self.run);
        copies.args(["-a", "--reflink=auto"]);
        let copied = output(copies.args([&self.home, to].map(|it| it.join("."))))?;
        interrupt.check()?;
        if !copied.status.success() {
            let text = String::from_utf8_lossy(&copied.stderr);
            let reason = text.lines().next().unwrap_or("cp failed");
            bail!("cannot copy the working directory: {reason}");
        }
        Ok(())
    }
}

/// Some directories may lack permissions, as the work directory of an overlay does.
pub fn remove(path: &Path) -> std::io::Result<()> {
    if !path.is_dir() || path.is_symlink() {
        return fs::remove_file(path);
    }
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    permit(path)?;
    fs::remove_dir_all(path)
}

fn permit(directory: &Path) -> std::io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_type()?.is_dir() {
            permit(&entry.path())?;
        }
    }
    Ok(())
}

/// Too large to be copied before each execution, or the copies would be in it.
pub fn check_copied(home: &Path, run: &Path) -> Result<()> {
    let at = home.display();
    if run.starts_with(home) {
        bail!(
            "a fresh copy of {at} cannot be made in {} inside of it: set TMPDIR to another directory",
            run.display()
        );
    }
    let (mut bytes, mut files, mut left) = (0, 0, vec![home.to_path_buf()]);
    while let Some(directory) = left.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot read {}", directory.display()))?;
        for entry in entries.flatten() {
            let facts = entry.metadata()?;
            (bytes, files) = (bytes + facts.len(), files + 1);
            if facts.is_dir() {
                left.push(entry.path());
            }
        }
        if bytes > MOST_MIB << 20 || files > MOST_FILES {
            bail!(
                "{at} has more than the {MOST_MIB} MiB or {MOST_FILES} files that are copied before each execution: run it in a \
                 smaller one"
            );
        }
    }
    Ok(())
}

/// False if it has ended or should end.
pub fn has_entered(started: &mut Started, interrupt: &Interrupt) -> bool {
    while !interrupt.is_set() {
        if let Some(entered) = started.has_entered_within(LOOK) {
            return entered;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(top: &Path, is_fresh: bool) -> Site {
        let (run, home) = (top.join("run"), top.join("home"));
        let trash = Rc::new(Trash::new(run.join("trash")));
        let shared = FreshCopy::below(&run.join("w0"), &trash);
        Site::new(&run, run.join("w1"), &home, is_fresh, None, &shared)
    }

    #[test]
    fn a_directory_of_many_files_is_not_copied() {
        let top = tempfile::tempdir().unwrap();
        let site = site(top.path(), true);
        fs::create_dir_all(&site.home).unwrap();
        fs::write(site.home.join("one"), "").unwrap();
        let link = |number| {
            fs::hard_link(site.home.join("one"), site.home.join(format!("{number}"))).unwrap()
        };
        (1..MOST_FILES).for_each(link);
        assert!(check_copied(&site.home, &site.run).is_ok());
        link(MOST_FILES);
        let error = check_copied(&site.home, &site.run).unwrap_err();
        assert!(error.to_string().contains("20000 files"));
    }
}
