//! The files of a build: a line each with digest and name. It detects changes by a full disk, a
//! crash or by accident; from other users, who could change the manifest too, the location of the
//! cache protects.

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::{open, owner};

pub const NAME: &str = ".manifest";

const LONGEST: u64 = 1 << 24;

pub fn write(directory: &Path) -> Result<()> {
    let path = directory.join(NAME);
    fs::write(&path, listing(directory)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

pub fn holds(directory: &Path) -> bool {
    let written = open::bytes(&directory.join(NAME), LONGEST);
    written.is_ok_and(|written| listing(directory).is_ok_and(|found| found == written))
}

fn listing(directory: &Path) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    add(directory, &mut OsString::new(), &mut lines)?;
    Ok(lines)
}

fn add(directory: &Path, prefix: &mut OsString, lines: &mut Vec<u8>) -> Result<()> {
    check(directory, Metadata::is_dir)?;
    let mut names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<Vec<_>>>()?;
    names.sort();
    for name in names
        .iter()
        .filter(|name| !prefix.is_empty() || *name != NAME)
    {
        let path = directory.join(name);
        let mut relative = prefix.clone();
        relative.push(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            relative.push("/");
            add(&path, &mut relative, lines)?;
            continue;
        }
        check(&path, Metadata::is_file)?;
        let digest = digest(&path).with_context(|| format!("cannot read {}", path.display()))?;
        lines.extend([digest.as_bytes(), b" ", relative.as_bytes(), b"\0\n"].concat());
    }
    Ok(())
}

/// SHA-256 of a regular file of this user or of root: of its data, and of where data begins after a hole.
pub fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut part) = (open::own(path)?, Sha256::new(), vec![0; 1 << 16]);
    let mut end = 0;
    while let Some(data) = open::data(&file, end)? {
        if data.start > end {
            hash.update(data.start.to_le_bytes());
        }
        end = data.end;
        let mut data = (&mut file).take(data.end - data.start);
        loop {
            match data.read(&mut part)? {
                0 => break,
                read => hash.update(&part[..read]),
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(path: &Path, is_right_kind: fn(&Metadata) -> bool) -> Result<()> {
    let facts = fs::symlink_metadata(path)?;
    if facts.uid() != owner::effective_user() || !is_right_kind(&facts) {
        bail!("{}: not this user's own file or directory", path.display());
    }
    Ok(())
}
