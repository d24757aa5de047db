//! Where a command runs in an environment: a private directory that is cleared before each execution, if asked for with a fresh copy
//! of the working directory. Made by `inside`, used by `rounds`.

use super::kept::Kept;
use crate::kernel::launch::Launch;
use crate::kernel::output::output;
use crate::kernel::private;
use crate::model::Failure;
use crate::runner::{FILES_DIRECTORY, Files, Interrupt};
use crate::trace;
use anyhow::{Context, Result, bail};
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// More is not copied before each execution: files take as long as many bytes do.
const MOST_MIB: u64 = 256;
const MOST_FILES: u64 = 20_000;

/// A command's environment.
pub struct Inside {
    pub name: String,
    /// Whether the kernel's accounting of what is started includes the command.
    pub is_accounted: bool,
    pub has_others: bool,
    /// What a command may miss there.
    pub lacks: Option<String>,
    /// How the command is started for its calls to be counted: nobody waits for the environment.
    pub counted: (trace::Command, Launch),
    pub site: Site,
    /// The program that does nothing.
    pub empty: trace::Command,
    pub empty_launch: Launch,
}

/// The place of one command in one environment.
pub struct Site {
    pub run: PathBuf,
    pub directory: PathBuf,
    /// Where it works, unless in the copy.
    pub home: PathBuf,
    /// Whether each execution starts in a copy of `home`.
    pub is_copied: bool,
    /// What the environment's own file system does with that copy.
    pub files: Option<Files>,
    /// The copy, for the next execution.
    pub kept: RefCell<Option<Kept>>,
}

impl Site {
    /// Where the command works, as it is seen from outside of the environment.
    pub fn work(&self) -> PathBuf {
        if self.is_copied { self.directory.join(FILES_DIRECTORY) } else { self.home.clone() }
    }

    /// Where what starts it works: our launcher makes a file system in its working directory.
    pub fn start(&self) -> PathBuf {
        if self.files.is_some() { self.directory.clone() } else { self.work() }
    }

    /// Removes what the last execution left, but for a copy that is as fresh as a new one.
    ///
    /// # Errors
    /// What cannot be removed or made.
    pub fn clear(&self) -> Result<()> {
        let kept = self.kept.take();
        let restored = kept.and_then(|kept| kept.restored(&self.home, &self.work(), &self.run).ok().flatten());
        if let Some(kept) = restored.filter(|_| self.clear_beside().is_ok()) {
            *self.kept.borrow_mut() = Some(kept);
            return Ok(());
        }
        if self.directory.exists() {
            remove(&self.directory).with_context(|| format!("cannot remove {}", self.directory.display()))?;
        }
        private::make(&self.directory)?;
        if self.is_copied { private::make(&self.work()) } else { Ok(()) }
    }

    /// What lies beside the copy.
    fn clear_beside(&self) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                _ if entry.file_name() == FILES_DIRECTORY => {}
                true => remove(&entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    /// Makes the fresh copy, unless there is one.
    ///
    /// # Errors
    /// What cp reports.
    pub fn fill(&self, interrupt: &Interrupt) -> Result<()> {
        if self.is_copied && self.kept.borrow().is_none() {
            self.copy(&self.home, &self.work(), interrupt)?;
            *self.kept.borrow_mut() = Kept::of(&self.work()).ok();
        }
        Ok(())
    }

    /// Copies that into the file system that a launcher, the process `pid`, has made and now works in.
    ///
    /// # Errors
    /// What cp reports.
    pub fn fill_inside(&self, pid: u32, interrupt: &Interrupt) -> Result<()> {
        let inside = PathBuf::from(format!("/proc/{pid}/cwd"));
        if self.files == Some(Files::Inside) { self.copy(&self.work(), &inside, interrupt) } else { Ok(()) }
    }

    /// Copies with owners, times and links.
    fn copy(&self, from: &Path, to: &Path, interrupt: &Interrupt) -> Result<()> {
        let contents = |directory: &Path| OsString::from(directory.join("."));
        let copied = output(
            private::helper("cp", &self.run).args(["-a", "--reflink=auto"]).arg(contents(from)).arg(contents(to)),
        )?;
        if interrupt.is_set() {
            return Err(Failure::interrupted().into());
        }
        if !copied.status.success() {
            let text = String::from_utf8_lossy(&copied.stderr);
            bail!("cannot copy the working directory: {}", text.lines().next().unwrap_or("cp failed"));
        }
        Ok(())
    }
}

/// Removes a tree of ours, of which some directories may have no permissions, as those of an overlay's work.
fn remove(directory: &Path) -> std::io::Result<()> {
    if fs::remove_dir_all(directory).is_ok() {
        return Ok(());
    }
    permit(directory)?;
    fs::remove_dir_all(directory)
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

/// Checks that `home` is small enough to be copied before each execution, and does not hold the copies.
///
/// # Errors
/// Why it cannot be, and what to do.
pub fn check_copied(home: &Path, run: &Path) -> Result<()> {
    let at = home.display();
    if run.starts_with(home) {
        bail!("a fresh copy of {at} cannot be made in {} inside of it: set TMPDIR to another directory", run.display());
    }
    let (mut bytes, mut files, mut left) = (0, 0, vec![home.to_path_buf()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?.flatten()
        {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn site(top: &Path, is_copied: bool) -> Site {
        let at = |name: &str| top.join(name);
        Site {
            run: at("run"),
            directory: at("run/w1"),
            home: at("home"),
            is_copied,
            files: None,
            kept: RefCell::default(),
        }
    }

    #[test]
    fn each_execution_starts_in_a_fresh_copy() {
        let top = tempfile::tempdir().unwrap();
        let site = site(top.path(), true);
        fs::create_dir_all(&site.run).unwrap();
        fs::create_dir_all(site.home.join("deep")).unwrap();
        fs::write(site.home.join("deep/file"), "as it was").unwrap();
        for _ in 0..2 {
            site.clear().unwrap();
            site.fill(&Interrupt::default()).unwrap();
            assert_eq!(fs::read_to_string(site.work().join("deep/file")).unwrap(), "as it was");
            fs::write(site.work().join("deep/file"), "changed").unwrap();
            fs::create_dir(site.work().join("closed")).unwrap();
            fs::write(site.work().join("closed/file"), "").unwrap();
            fs::set_permissions(site.work().join("closed"), Permissions::from_mode(0o000)).unwrap();
        }
        assert_eq!(fs::read_to_string(site.home.join("deep/file")).unwrap(), "as it was");
        site.clear().unwrap();
        site.fill(&Interrupt::default()).unwrap();
        let number = || fs::metadata(site.work().join("deep")).unwrap().ino();
        let first = number();
        fs::write(site.directory.join("beside"), "").unwrap();
        site.clear().unwrap();
        site.fill(&Interrupt::default()).unwrap();
        assert!(
            number() == first && !site.directory.join("beside").exists(),
            "what nobody changed is not copied again"
        );
    }

    #[test]
    fn what_is_large_or_holds_the_copy_is_not_copied() {
        let top = tempfile::tempdir().unwrap();
        let site = site(top.path(), true);
        fs::create_dir_all(&site.home).unwrap();
        assert!(check_copied(&site.home, &site.run).is_ok());
        assert!(check_copied(top.path(), &site.run).unwrap_err().to_string().contains("set TMPDIR"));
        fs::File::create(site.home.join("large")).unwrap().set_len((MOST_MIB << 20) + 1).unwrap();
        assert!(check_copied(&site.home, &site.run).unwrap_err().to_string().contains("256 MiB"));
        fs::remove_file(site.home.join("large")).unwrap();
        fs::write(site.home.join("one"), "").unwrap();
        let link = |number| fs::hard_link(site.home.join("one"), site.home.join(format!("{number}"))).unwrap();
        (1..MOST_FILES).for_each(link);
        assert!(check_copied(&site.home, &site.run).is_ok());
        link(MOST_FILES);
        assert!(check_copied(&site.home, &site.run).unwrap_err().to_string().contains("20000 files"));
    }
}
