//! What is in the user's cache, by kind, and its removal: `syscost cache`.

use super::{UNFINISHED, manifest};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::{lock, open, private};

/// The names of states of machines begin with it.
pub const MACHINE: &str = "machine-";

pub struct Entry {
    /// `builds` or `machines`.
    pub kind: &'static str,
    pub bytes: u64,
    path: PathBuf,
}

/// What this program has put into the cache at `root`.
///
/// # Errors
/// The directory cannot be read.
pub fn entries(root: &Path) -> Result<Vec<Entry>> {
    private::sweep(root, UNFINISHED);
    let files = fs::read_dir(root).with_context(|| format!("cannot read {}", root.display()))?;
    let paths = files.flatten().map(|file| file.path());
    Ok(paths
        .filter_map(|path| {
            Some(Entry {
                kind: kind(&path)?,
                bytes: bytes(&path),
                path,
            })
        })
        .collect())
}

impl Entry {
    /// False if a running syscost uses it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, root: &Path) -> Result<bool> {
        let directory = open::directory(&self.path).ok();
        let Some(_lock) = directory.and_then(lock::alone) else {
            return Ok(false);
        };
        let (aside, _lock) = private::begin(root, UNFINISHED)?;
        // First out of the way: an interrupted removal leaves no half of a build.
        fs::rename(&self.path, aside.path().join("removed"))
            .and_then(|()| aside.close())
            .with_context(|| format!("cannot remove {}", self.path.display()))?;
        Ok(true)
    }
}

/// None for a link, and for what has another name or no list of its files.
fn kind(path: &Path) -> Option<&'static str> {
    open::directory(path).ok()?;
    fs::symlink_metadata(path.join(manifest::NAME)).ok()?;
    let name = path.file_name()?.to_str()?;
    let is_key = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name.starts_with(MACHINE) {
        Some("machines")
    } else {
        is_key.then_some("builds")
    }
}

/// On the disk.
fn bytes(path: &Path) -> u64 {
    let own = fs::symlink_metadata(path).map_or(0, |facts| facts.blocks() * 512);
    if open::directory(path).is_err() {
        return own;
    }
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    own + below.map(|entry| bytes(&entry.path())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::cache::Cache;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_this_program_made_and_nobody_uses_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("cache");
        let key = |digit: &str| digit.repeat(32);
        let get = |cache: &Cache, name: &str| {
            let build = |path: &Path| Ok(fs::write(path.join("x"), [1; 5000])?);
            cache.get(name, build).unwrap()
        };
        let cache = Cache::rooted_at(root.clone(), top.path());
        let machine = format!("{MACHINE}{}", key("c"));
        let unused = get(&cache, &key("a"));
        get(&cache, &machine);
        // A process that ends forgets what it used.
        drop(cache);
        let cache = Cache::rooted_at(root.clone(), top.path());
        let used = get(&cache, &key("b"));
        symlink(top.path(), unused.join("link")).unwrap();
        symlink(&unused, root.join(key("d"))).unwrap();
        fs::create_dir(root.join(key("e"))).unwrap();
        fs::create_dir(root.join("notes")).unwrap();
        let entries = entries(&root).unwrap();
        assert!(entries.iter().all(|entry| entry.bytes >= 5000));
        let mut removed: Vec<(&str, bool)> = entries
            .iter()
            .map(|entry| (entry.kind, entry.remove(&root).unwrap()))
            .collect();
        removed.sort_unstable();
        let expected = [("builds", false), ("builds", true), ("machines", true)];
        assert_eq!(removed, expected);
        assert!(used.exists() && !unused.exists() && top.path().exists());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 4);
    }
}
