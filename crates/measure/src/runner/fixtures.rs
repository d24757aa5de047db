//! Files and directories that a study's snippets work on, removed with the run's directory.

use super::Interrupt;
use anyhow::{Context, Result, bail};
use model::Case;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use sys::host::Room;

const HOLE: &str = "{fixtures}";

pub const DIRECTORY: &str = "fixtures";

#[derive(Clone, Debug, PartialEq)]
pub enum Fixture {
    File {
        name: String,
        size: u64,
        /// Bytes per line, including the newline. The last line may be shorter.
        line_length: u64,
    },
    Directory {
        name: String,
        entries: u64,
        depth: u64,
    },
}

const ADVICE: &str = "set TMPDIR to a file system with more space, or ask for less";
/// Bytes, and files, that are written between two checks for an interrupt.
const BLOCK: usize = 1 << 20;
const FILES: u64 = 1 << 10;
/// A path has at most 4,096 bytes (PATH_MAX), and each directory in it takes two.
const DEEPEST: u64 = 1000;

pub fn names_fixtures(case: &Case) -> bool {
    case.code_contains(HOLE)
}

/// Workers start in directories beside the fixtures', so that a study's program with a relative path is the same in every run and is
/// found in the cache.
pub fn fill(text: &str) -> String {
    text.replace(HOLE, &format!("../{DIRECTORY}"))
}

/// Before the first is created.
///
/// # Errors
/// Too few bytes or inodes are free, with the numbers.
pub fn check_room(fixtures: &[Fixture], directory: &Path, room: &Room) -> Result<()> {
    let [bytes, files] = [Fixture::bytes, Fixture::files]
        .map(|part| fixtures.iter().map(part).fold(0, u64::saturating_add));
    if bytes > room.bytes {
        let [needed, free] = [bytes, room.bytes].map(|bytes| bytes.div_ceil(1 << 20));
        bail!(
            "the fixtures need {needed} MiB, and {} has {free} MiB free: {ADVICE}",
            directory.display()
        );
    }
    match room.files {
        Some(free) if files > free => {
            bail!(
                "the fixtures are {files} files, and {} has {free} free inodes: {ADVICE}",
                directory.display()
            )
        }
        _ => Ok(()),
    }
}

impl Fixture {
    /// An interrupt leaves it incomplete, without an error.
    ///
    /// # Errors
    /// The file system's, or a path that would be too long.
    pub fn make(&self, directory: &Path, interrupt: &Interrupt) -> Result<()> {
        match self {
            Fixture::File {
                name,
                size,
                line_length,
            } => {
                let path = directory.join(name);
                let written = path
                    .parent()
                    .map_or(Ok(()), fs::create_dir_all)
                    .and_then(|()| write_lines(&path, *size, *line_length, interrupt));
                written.with_context(|| format!("cannot make the fixture '{name}' of {size} bytes"))
            }
            // Checked here: the kernel's error would only say that a name is too long.
            Fixture::Directory { name, depth, .. } if *depth > DEEPEST => {
                bail!(
                    "cannot make the fixture '{name}': a path cannot be {depth} directories deep; use at most {DEEPEST}"
                )
            }
            Fixture::Directory {
                name,
                entries,
                depth,
            } => {
                let path = (1..*depth).fold(directory.join(name), |path, _| path.join("d"));
                fill_directory(&path, *entries, interrupt).with_context(|| {
                    format!("cannot make the fixture '{name}' of {entries} entries")
                })
            }
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Fixture::File { size, .. } => *size,
            Fixture::Directory { .. } => 0,
        }
    }

    fn files(&self) -> u64 {
        match self {
            Fixture::File { .. } => 1,
            Fixture::Directory { entries, depth, .. } => entries.saturating_add(*depth),
        }
    }
}

fn write_lines(
    path: &Path,
    size: u64,
    line_length: u64,
    interrupt: &Interrupt,
) -> std::io::Result<()> {
    let length = usize::try_from(line_length)
        .unwrap_or(BLOCK)
        .clamp(1, BLOCK);
    let mut line = vec![b'x'; length - 1];
    line.push(b'\n');
    // A block holds whole lines, so that each write begins with one.
    let lines = line.repeat(BLOCK / length);
    let mut file = File::create(path)?;
    let mut left = size;
    while left > 0 && !interrupt.is_set() {
        let part = left.min(lines.len() as u64);
        file.write_all(&lines[..part as usize])?;
        left -= part;
    }
    Ok(())
}

fn fill_directory(path: &Path, entries: u64, interrupt: &Interrupt) -> std::io::Result<()> {
    fs::create_dir_all(path)?;
    (0..entries)
        .take_while(|i| !i.is_multiple_of(FILES) || !interrupt.is_set())
        .try_for_each(|i| File::create(path.join(format!("e{i:06}"))).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64, line_length: u64) -> Fixture {
        Fixture::File {
            name: "f".into(),
            size,
            line_length,
        }
    }

    fn directory(entries: u64, depth: u64) -> Fixture {
        Fixture::Directory {
            name: "d".into(),
            entries,
            depth,
        }
    }

    #[test]
    fn directories_have_their_entries_at_their_depth_and_long_files_whole_lines() {
        let below = tempfile::tempdir().unwrap();
        let size = 2 * BLOCK as u64 + 5;
        for made in [directory(3, 2), file(size, 1000)] {
            made.make(below.path(), &Interrupt::default()).unwrap();
        }
        let entries = fs::read_dir(below.path().join("d/d")).unwrap();
        assert_eq!(entries.count(), 3);
        let text = fs::read(below.path().join("f")).unwrap();
        assert_eq!(text.len() as u64, size);
        assert!(
            text.iter()
                .enumerate()
                .all(|(i, byte)| (*byte == b'\n') == (i % 1000 == 999))
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_sizes() {
        fn file(size: u64) -> Fixture {
            super::tests::file(size, 64)
        }

        fn check(fixtures: &[Fixture], files: Option<u64>) -> Result<(), String> {
            let room = Room {
                bytes: 3 << 20,
                files,
            };
            check_room(fixtures, Path::new("/t"), &room).map_err(|e| e.to_string())
        }

        assert_eq!(
            check(&[file(1 << 20), file(2 << 20), directory(6, 2)], Some(10)),
            Ok(())
        );
        let many = format!("the fixtures are 11 files, and /t has 10 free inodes: {ADVICE}");
        assert_eq!(check(&[directory(9, 2)], Some(10)), Err(many));
        assert!(
            check(&[file(u64::MAX), file(u64::MAX)], Some(10)).is_err(),
            "sums do not overflow"
        );
        assert!(check(&[directory(1 << 40, 2)], None).is_ok());
        let made = directory(0, u64::MAX).make(Path::new("/nowhere"), &Interrupt::default());
        let message = made.unwrap_err().to_string();
        assert!(
            message.ends_with(
                "a path cannot be 18446744073709551615 directories deep; use at most 1000"
            ),
            "{message}"
        );
    }
}
