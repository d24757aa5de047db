//! Control groups by their IDs, which are the inode numbers of their directories.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where systems mount version 2 of control groups.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
/// Has one line with this file in every group of version 2, and of no other.
const OF_VERSION_2: &str = "cgroup.procs";

/// The ID of the group whose directory that is.
///
/// # Errors
/// If it is no directory of a control group.
pub fn id(directory: &Path) -> Result<u64> {
    let named = || format!("trace: --cgroup {}", directory.display());
    if !directory.join(OF_VERSION_2).exists() || !directory.join("cgroup.controllers").exists() {
        bail!("{}: no control group of version 2: look under {}", named(), root().display());
    }
    Ok(fs::metadata(directory).with_context(named)?.ino())
}

/// The paths of all groups below the root of the hierarchy, by ID.
pub fn paths() -> BTreeMap<u64, String> {
    let root = root();
    let mut found = BTreeMap::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        let Ok(metadata) = fs::metadata(&directory) else { continue };
        let path = directory.strip_prefix(&root).unwrap_or(&directory);
        found.insert(metadata.ino(), format!("/{}", path.display()));
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.extend(inner.map(|entry| entry.path()));
    }
    found
}

fn root() -> PathBuf {
    let mounted = |mount: &&&str| Path::new(**mount).join("cgroup.controllers").exists();
    PathBuf::from(MOUNTS.iter().find(mounted).unwrap_or(&MOUNTS[1]))
}
