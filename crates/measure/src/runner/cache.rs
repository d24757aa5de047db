//! The private cache of builds: one directory per build, keyed by everything that went into it. Its
//! contents run as this user, so nobody else may be able to write there (`place`), and a build runs
//! only if the digests of its files are unchanged.

mod contents;
mod manifest;
mod place;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::lock::{self, Locked};
use sys::{open, private};

pub use contents::{Entry, MACHINE, entries};
pub use manifest::digest;

/// Facts that earlier runs leave for later ones; `None` if no place for it is safe.
pub fn state_directory() -> Option<PathBuf> {
    place::find(place::STATE)
}

/// The directory for files that can be made again; `None` if no place for it is safe.
pub fn cache_directory() -> Option<PathBuf> {
    place::find(place::CACHE)
}

pub struct Cache {
    root: PathBuf,
    run: PathBuf,
    warnings: RefCell<Vec<String>>,
    /// Those that are locked are not removed by `syscost cache`.
    used: RefCell<HashMap<PathBuf, Option<Locked>>>,
}

const UNFINISHED: &str = ".building-";
/// Each is an open file, of which a process may have 1,024 by default.
const MOST_LOCKS: usize = 256;

impl Cache {
    /// The user's own, or one that is removed with the run if no place for the user's is safe. Builds that other runs left unfinished
    /// are removed.
    pub fn open(run: &Path) -> Cache {
        let cache = Cache::rooted_at(cache_directory().unwrap_or_else(|| run.join("cache")), run);
        private::sweep(&cache.root, UNFINISHED);
        cache
    }

    fn rooted_at(root: PathBuf, run: &Path) -> Cache {
        Cache {
            root,
            run: run.to_path_buf(),
            warnings: RefCell::default(),
            used: RefCell::default(),
        }
    }

    /// A command for a compiler in `directory`, with the run's directory for its temporary files: these go with the run if it is killed.
    pub fn compiler(&self, program: impl AsRef<OsStr>, directory: &Path) -> Command {
        let mut command = private::helper(program, &self.run);
        command.current_dir(directory);
        command
    }

    /// The build of this `key`, made by `build` if it is missing or damaged. Two runs may
    /// make the same at once: the first to finish wins.
    ///
    /// # Errors
    /// Those of `build`, or the cache cannot be written.
    pub fn get(&self, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let target = self.root.join(key);
        // Before it is checked, so that nobody removes it afterwards.
        self.lock(&target);
        if self.has(&target)? {
            return Ok(target);
        }
        private::make(&self.root)?;
        let (fresh, lock) = private::begin(&self.root, UNFINISHED)?;
        build(fresh.path())?;
        manifest::write(fresh.path())?;
        // Losing the race leaves the other run's directory, which holds the same.
        let renamed = fs::rename(fresh.path(), &target);
        if !manifest::holds(&target) {
            renamed.with_context(|| format!("cannot keep {}", target.display()))?;
            bail!("{} was changed", target.display());
        }
        // The lock of an unfinished one would make other runs wait for it.
        drop(lock);
        self.used.borrow_mut().remove(&target);
        self.lock(&target);
        Ok(target)
    }

    fn lock(&self, target: &Path) {
        let lock = || open::directory(target).ok().and_then(lock::shared);
        let mut used = self.used.borrow_mut();
        if used.len() < MOST_LOCKS {
            used.entry(target.to_path_buf()).or_insert_with(lock);
        }
    }

    /// Whether there is a build of this key; its digests are not checked.
    pub fn holds(&self, key: &str) -> bool {
        self.root.join(key).exists()
    }

    /// The directory that has a directory for each build.
    pub fn directory(&self) -> &Path {
        &self.root
    }

    /// One sentence each, on builds that were changed after they were built.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    fn has(&self, target: &Path) -> Result<bool> {
        if fs::symlink_metadata(target).is_err() {
            return Ok(false);
        }
        if manifest::holds(target) {
            return Ok(true);
        }
        // After an update of this program a change is expected.
        if !manifest::is_of_another_version(target) {
            let text = format!(
                "{} was changed after it was built, and rebuilt",
                target.display()
            );
            self.warnings.borrow_mut().push(text);
        }
        let (aside, _lock) = private::begin(&self.root, UNFINISHED)?;
        match fs::rename(target, aside.path().join("changed")) {
            // Another run has moved it away.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            moved => moved
                .map(|()| false)
                .with_context(|| format!("cannot remove {}", target.display())),
        }
    }
}

/// The first half of the SHA-256 of `parts` and their lengths, in hexadecimal: `a` and `bc` have another key than `ab` and `c`.
pub fn key(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths first, so that parts cannot run into each other.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    manifest::hex(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn cache() -> (TempDir, Cache) {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::rooted_at(directory.path().join("cache"), directory.path());
        (directory, cache)
    }

    fn get(cache: &Cache, key: &str, text: &str) -> Result<PathBuf> {
        cache.get(key, |path| Ok(fs::write(path.join("x"), text)?))
    }

    type Damage = (&'static str, fn(&Path));

    #[test]
    fn a_build_that_was_changed_is_made_anew() {
        let damages: [Damage; 5] = [
            ("another text", |built| {
                fs::write(built.join("x"), "2").unwrap()
            }),
            ("one more file", |built| {
                fs::write(built.join("y"), "").unwrap()
            }),
            ("one file fewer", |built| {
                fs::remove_file(built.join("x")).unwrap()
            }),
            ("no manifest", |built| {
                fs::remove_file(built.join(manifest::NAME)).unwrap()
            }),
            ("a link in its place", |built| {
                fs::rename(built, built.with_extension("away")).unwrap();
                std::os::unix::fs::symlink(built.with_extension("away"), built).unwrap();
            }),
        ];
        for (what, damage) in damages {
            let (_keep, cache) = cache();
            let built = get(&cache, "a", "1").unwrap();
            damage(&built);
            assert_eq!(get(&cache, "a", "3").unwrap(), built, "{what}");
            assert_eq!(fs::read_to_string(built.join("x")).unwrap(), "3", "{what}");
            assert!(
                cache.warnings()[0].ends_with("was changed after it was built, and rebuilt"),
                "{what}"
            );
        }
    }

    #[test]
    fn a_build_of_another_version_is_made_anew_without_a_warning() {
        let (_keep, cache) = cache();
        let built = get(&cache, "a", "1").unwrap();
        let digest = "0".repeat(64);
        fs::write(built.join(manifest::NAME), format!("{digest} x\0\n")).unwrap();
        assert_eq!(get(&cache, "a", "3").unwrap(), built);
        assert_eq!(fs::read_to_string(built.join("x")).unwrap(), "3");
        assert!(cache.warnings().is_empty(), "{:?}", cache.warnings());
    }
}
