//! The list of a build's files: a line each with digest and name. It detects changes by a full disk, a
//! crash or by accident. Other users could change the list too: the location of the
//! cache protects from them.

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::{open, owner};

pub const NAME: &str = ".manifest";
/// The first line. A build whose list has another version is made anew, since nothing is known about its files.
const VERSION: &[u8] = b"version 2\n";

const LONGEST: u64 = 1 << 24;
const PIECE: u64 = 1 << 16;

/// # Errors
/// A file that is not this user's, cannot be read, or is not a regular file.
pub fn write(directory: &Path) -> Result<()> {
    let path = directory.join(NAME);
    fs::write(&path, listing(directory)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Exactly those of the list.
pub fn holds(directory: &Path) -> bool {
    let written = read(directory);
    written.is_ok_and(|written| listing(directory).is_ok_and(|current| current == written))
}

pub fn is_of_another_version(directory: &Path) -> bool {
    read(directory).is_ok_and(|written| !written.starts_with(VERSION))
}

fn read(directory: &Path) -> io::Result<Vec<u8>> {
    open::bytes(&directory.join(NAME), LONGEST)
}

fn listing(directory: &Path) -> Result<Vec<u8>> {
    let mut lines = VERSION.to_vec();
    add(directory, &mut OsString::new(), &mut lines)?;
    Ok(lines)
}

fn add(directory: &Path, prefix: &mut OsString, lines: &mut Vec<u8>) -> Result<()> {
    // Checked on the way: a link or another user's file could change after its digest was taken.
    check(directory, Metadata::is_dir)?;
    let mut names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<Vec<_>>>()?;
    // Directories list their entries in any order.
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
        let digest =
            digest_of_pieces(&path).with_context(|| format!("cannot read {}", path.display()))?;
        lines.extend([digest.as_bytes(), b" ", relative.as_bytes(), b"\0\n"].concat());
    }
    Ok(())
}

/// SHA-256 in hexadecimal.
///
/// # Errors
/// The file is not of this user or root, or cannot be read.
pub fn digest(path: &Path) -> Result<String> {
    sha256(path).with_context(|| format!("cannot read {}", path.display()))
}

fn sha256(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut part) = (open::trusted(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&part[..read]),
        }
    }
}

/// SHA-256 of a file's length, and of its pieces that are not all zeros, with their places. Which zeros are holes is up to the file
/// system, and changes as it writes them.
fn digest_of_pieces(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (open::trusted(path)?, Sha256::new(), Vec::new());
    hash.update(file.metadata()?.len().to_le_bytes());
    let mut place = 0;
    while let Some(data) = open::data_from(&file, place)? {
        place = data - data % PIECE;
        file.seek(SeekFrom::Start(place))?;
        piece.clear();
        (&mut file).take(PIECE).read_to_end(&mut piece)?;
        if piece.iter().any(|byte| *byte != 0) {
            hash.update(place.to_le_bytes());
            hash.update(&piece);
        }
        place += PIECE;
    }
    Ok(hex(&hash.finalize()))
}

/// Two lower-case digits per byte.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn zeros_are_the_same_whether_they_are_a_hole_or_written() {
        fn zeros(length: u64) -> (u64, Vec<u8>) {
            (0, vec![0; usize::try_from(length).unwrap()])
        }

        fn digest_of_writes(path: &Path, writes: &[(u64, Vec<u8>)]) -> String {
            let file = fs::File::create(path).unwrap();
            for (place, bytes) in writes {
                file.write_all_at(bytes, *place).unwrap();
            }
            file.set_len(4 * PIECE).unwrap();
            digest_of_pieces(path).unwrap()
        }

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let data = (2 * PIECE + 4096, vec![7; 100]);
        let sparse = digest_of_writes(&path, std::slice::from_ref(&data));
        let whole = [zeros(4 * PIECE), data.clone()];
        assert_eq!(digest_of_writes(&path, &whole), sparse);
        let half = [zeros(2 * PIECE), data];
        assert_eq!(digest_of_writes(&path, &half), sparse);
        let moved = (2 * PIECE + 8192, vec![7; 100]);
        assert_ne!(digest_of_writes(&path, &[moved]), sparse);
    }
}
