//! The private cache of what was built: one directory a build, keyed by everything that went into it.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where builds are kept, or where they are made anew for each run if that cannot be written.
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `syscost` below XDG_CACHE_HOME or ~/.cache; else a directory in `run`, which vanishes with the run.
    pub fn open(run: &Path) -> Cache {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home);
        let kept = base.map(|base| base.join("syscost")).filter(|path| make(path).is_ok());
        Cache { root: kept.unwrap_or_else(|| run.join("cache")) }
    }

    /// The directory of the build that `parts` identify: made by `build` in a new directory where it is not there yet.
    /// Two runs that build the same at once do not disturb each other: the first to end wins.
    ///
    /// # Errors
    /// What `build` says, or that the cache cannot be written.
    pub fn get<E: From<anyhow::Error>>(
        &self,
        parts: &[&str],
        build: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let target = self.root.join(key(parts));
        if target.is_dir() {
            return Ok(target);
        }
        make(&self.root)?;
        let fresh = tempfile::Builder::new().prefix(".building-").tempdir_in(&self.root).context("cache")?;
        build(fresh.path())?;
        // Losing the race leaves the other's directory, which holds the same.
        let renamed = fs::rename(fresh.path(), &target);
        match target.is_dir() {
            true => Ok(target),
            false => Err(renamed
                .context(format!("cannot keep {}", target.display()))
                .err()
                .map_or_else(|| anyhow::anyhow!("{} vanished", target.display()).into(), Into::into)),
        }
    }
}

fn make(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make {}", path.display()))?;
    tempfile::tempfile_in(path).with_context(|| format!("cannot write in {}", path.display()))?;
    Ok(())
}

fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_made_once_and_a_failed_one_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache { root: directory.path().join("cache") };
        let built = cache.get(&["a", "b"], |path| Ok::<_, anyhow::Error>(fs::write(path.join("x"), "1")?)).unwrap();
        assert_eq!(fs::read_to_string(built.join("x")).unwrap(), "1");
        let again = cache.get(&["a", "b"], |_| Err(anyhow::anyhow!("built twice"))).unwrap();
        assert_eq!(again, built);
        assert!(cache.get(&["ab"], |_| Err(anyhow::anyhow!("no"))).is_err());
        assert_eq!(fs::read_dir(directory.path().join("cache")).unwrap().count(), 1);
    }
}
