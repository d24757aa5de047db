//! Files and directories that a study's snippets work on, in a directory of the run's own: it vanishes with the run.

use crate::model::Case;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// What snippets write for the fixtures' directory.
const HOLE: &str = "{fixtures}";

/// Its name in the run's directory.
pub const DIRECTORY: &str = "fixtures";

/// Something to work on; names are relative to the fixtures' directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fixture {
    /// A file of `size` bytes: lines of `x` that have `line_length` bytes with their newline. The last may be shorter.
    File { name: String, size: u64, line_length: u64 },
    /// A directory with `entries` empty files, `depth` directories deep: 1 means in the directory itself.
    Directory { name: String, entries: u64, depth: u64 },
}

/// Whether the case's code names the fixtures' directory.
pub fn names_fixtures(case: &Case) -> bool {
    [&case.operation, &case.setup, &case.prelude].iter().any(|text| text.contains(HOLE))
}

/// `text` with the directory's path. It is relative, so that the same study makes the same program every time, which the
/// cache then has: workers are started in directories beside the fixtures'.
pub fn fill(text: &str) -> String {
    text.replace(HOLE, &format!("../{DIRECTORY}"))
}

impl Fixture {
    /// Makes it below `directory`.
    ///
    /// # Errors
    /// When it cannot be written; the message names it.
    pub fn make(&self, directory: &Path) -> Result<()> {
        match self {
            Fixture::File { name, size, line_length } => {
                let path = directory.join(name);
                let written = make_parent(&path).and_then(|()| write_lines(&path, *size, *line_length));
                written.with_context(|| format!("cannot make the fixture '{name}' of {size} bytes"))
            }
            Fixture::Directory { name, entries, depth } => {
                let path = (1..*depth).fold(directory.join(name), |path, _| path.join("d"));
                fill_directory(&path, *entries)
                    .with_context(|| format!("cannot make the fixture '{name}' of {entries} entries"))
            }
        }
    }
}

fn make_parent(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn write_lines(path: &Path, size: u64, line_length: u64) -> std::io::Result<()> {
    let length = usize::try_from(line_length.clamp(1, 1 << 20)).unwrap_or(1);
    let mut line = vec![b'x'; length - 1];
    line.push(b'\n');
    let mut file = BufWriter::new(File::create(path)?);
    let mut left = size;
    while left > 0 {
        let part = left.min(length as u64) as usize;
        file.write_all(&line[..part])?;
        left -= part as u64;
    }
    file.flush()
}

fn fill_directory(path: &Path, entries: u64) -> std::io::Result<()> {
    fs::create_dir_all(path)?;
    (0..entries).try_for_each(|i| File::create(path.join(format!("e{i:06}"))).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_size_and_lines() {
        let directory = tempfile::tempdir().unwrap();
        let file = Fixture::File { name: "1000/f".into(), size: 10, line_length: 4 };
        file.make(directory.path()).unwrap();
        assert_eq!(fs::read_to_string(directory.path().join("1000/f")).unwrap(), "xxx\nxxx\nxx");
    }

    #[test]
    fn directories_have_their_entries_at_their_depth() {
        let directory = tempfile::tempdir().unwrap();
        Fixture::Directory { name: "d".into(), entries: 3, depth: 2 }.make(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path().join("d/d")).unwrap().count(), 3);
    }
}
