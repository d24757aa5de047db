//! What a build consists of: a line with digest and name for each of its files, written when it is whole.
//!
//! It finds what a full disk, a crash or a careless hand has changed. Against other users the place of the cache stands:
//! who can write a build can write its manifest.

use crate::kernel::owner;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Its name in the build's directory.
pub const NAME: &str = ".manifest";

/// Writes the manifest of all files below `directory`.
///
/// # Errors
/// When one cannot be read, or is neither file nor directory.
pub fn write(directory: &Path) -> Result<()> {
    let path = directory.join(NAME);
    fs::write(&path, of(directory)?).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether `directory` holds the files of its manifest, unchanged, and no others.
pub fn holds(directory: &Path) -> bool {
    let written = fs::read(directory.join(NAME));
    written.is_ok_and(|written| of(directory).is_ok_and(|found| found == written))
}

fn of(directory: &Path) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    add(directory, &mut OsString::new(), &mut lines)?;
    Ok(lines)
}

fn add(directory: &Path, prefix: &mut OsString, lines: &mut Vec<u8>) -> Result<()> {
    check_owner(directory, fs::symlink_metadata(directory)?.is_dir())?;
    let mut names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
    names.sort();
    for name in names.iter().filter(|name| !prefix.is_empty() || *name != NAME) {
        let path = directory.join(name);
        let mut relative = prefix.clone();
        relative.push(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            relative.push("/");
            add(&path, &mut relative, lines)?;
            continue;
        }
        check_owner(&path, fs::symlink_metadata(&path)?.is_file())?;
        lines.extend(
            format!("{} ", digest(&path)?).bytes().chain(relative.as_bytes().iter().copied()).chain([0, b'\n']),
        );
    }
    Ok(())
}

fn check_owner(path: &Path, right_kind: bool) -> Result<()> {
    let own = fs::symlink_metadata(path)?.uid() == owner::effective_user();
    if !own || !right_kind {
        bail!("{}: not this user's own file or directory", path.display());
    }
    Ok(())
}

fn digest(path: &Path) -> Result<String> {
    let contents = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect())
}
