//! The files of a directory that somebody named: the only reader of such directories. What it leaves out is reported, as what
//! cannot be read of the files: one line for each reason, and the exit status is 3.

use super::error::usage;
use super::exit::Exit;
use super::messages;
use crate::clean;
use anyhow::{Context, Result};
use indexmap::IndexMap;
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What a directory holds, by name.
#[derive(Debug, Default)]
struct Listing {
    files: Vec<PathBuf>,
    /// What is called like them and is none, with the reason.
    others: Vec<(PathBuf, String)>,
}

/// The JSON files of `directory`, without hidden ones. Errors: if it cannot be read, wholly
/// or in part.
fn list(directory: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden || path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        match no_file(&entry, &path) {
            None => listing.files.push(path),
            Some(reason) => listing.others.push((path, reason)),
        }
    }
    listing.files.sort();
    listing.others.sort();
    Ok(listing)
}

/// Why the entry is no file. A pipe could be waited for, a directory is none. Of most entries the directory itself knows that
/// they are files.
fn no_file(entry: &DirEntry, path: &Path) -> Option<String> {
    if entry.file_type().is_ok_and(|kind| kind.is_file()) {
        return None;
    }
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() => None,
        Ok(_) => Some("is not a file".to_string()),
        Err(error) => Some(match error.kind() {
            ErrorKind::NotFound => "is a link to a file that does not exist".to_string(),
            _ if error.raw_os_error() == Some(libc::ELOOP) => "is a link that leads to itself".to_string(),
            _ => format!("cannot be looked at ({error})"),
        }),
    }
}

/// The files that `inputs` name, with those of directories in their place; what is left out of directories goes to `skipped`.
/// Errors: if a directory cannot be read or has no such file.
pub fn expanded(inputs: &[PathBuf], skipped: &mut Skipped) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for input in inputs {
        match is_directory(input)? {
            true => files.extend(files_of(input, skipped)?),
            false => files.push(input.clone()),
        }
    }
    Ok(files)
}

/// Whether it is one. What does not exist is none: whoever reads it says so. Errors: if that cannot be found out.
pub fn is_directory(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(facts) => Ok(facts.is_dir()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Ok(false),
        Err(_) if path == Path::new("-") => Ok(false),
        Err(error) => Err(error).with_context(|| format!("{}: cannot be looked at", shown(path))),
    }
}

/// The files of `directory`; what is left out goes to `skipped`. Errors: if it cannot be read. A usage error where it
/// has none and nothing was left out.
fn files_of(directory: &Path, skipped: &mut Skipped) -> Result<Vec<PathBuf>> {
    let name = shown(directory);
    let listing = list(directory).with_context(|| format!("{name}: cannot be read; name a directory of result files"));
    let listing = usage(listing)?;
    if listing.files.is_empty() && listing.others.is_empty() {
        return usage(Err(anyhow::anyhow!(
            "{name}: there is no file called *.json in it; write runs there with 'syscost run --out-dir'"
        )));
    }
    listing.others.iter().for_each(|(path, reason)| skipped.add(&path.to_string_lossy(), reason));
    Ok(listing.files)
}

/// A path as it is shown.
pub fn shown(path: &Path) -> String {
    clean::line(&path.to_string_lossy())
}

/// Files that were left out: how many for each reason, and the first of them.
#[derive(Debug, Default)]
pub struct Skipped(IndexMap<String, (usize, String)>);

impl Skipped {
    pub fn add(&mut self, name: &str, reason: &str) {
        self.0.entry(reason.to_string()).or_insert_with(|| (0, name.to_string())).0 += 1;
    }

    fn lines(&self) -> Vec<String> {
        let line = |(reason, (count, first)): (&String, &(usize, String))| match count {
            1 => format!("{first}: {reason}"),
            _ => format!("{first} and {} more: {reason}", count - 1),
        };
        self.0.iter().map(line).collect()
    }

    /// Names them on standard error; returns how the command ends.
    pub fn told(&self) -> Exit {
        self.lines().iter().for_each(|line| messages::tell(&format_args!("skipped: {line}")));
        if self.0.is_empty() { Exit::Success } else { Exit::SomeFailed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_no_file_is_listed_with_the_reason() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["b.json", "a.jsonl", "a.txt", ".hidden.json"] {
            fs::write(at(name), "").unwrap();
        }
        fs::create_dir(at("folder.json")).unwrap();
        symlink("b.json", at("good.json")).unwrap();
        symlink("nowhere", at("dangling.json")).unwrap();
        symlink("loop.json", at("loop.json")).unwrap();
        let listing = list(directory.path()).unwrap();
        assert_eq!(listing.files, ["b.json", "good.json"].map(at));
        let others: Vec<_> = listing.others.iter().map(|(path, reason)| (path.clone(), reason.as_str())).collect();
        assert_eq!(
            others,
            [
                (at("dangling.json"), "is a link to a file that does not exist"),
                (at("folder.json"), "is not a file"),
                (at("loop.json"), "is a link that leads to itself")
            ]
        );
    }

    #[test]
    fn each_reason_is_a_line() {
        let mut skipped = Skipped::default();
        for (name, reason) in [("a", "is odd"), ("b", "is even"), ("c", "is odd"), ("d", "is odd")] {
            skipped.add(name, reason);
        }
        assert_eq!(skipped.lines(), ["a and 2 more: is odd", "b: is even"]);
    }
}
