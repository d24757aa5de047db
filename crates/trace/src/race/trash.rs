//! Moves files of earlier executions away until the race ends. A file system that has just removed thousands of files takes many times
//! as long to make others: `cp -r` of 2,000 files on ext4 takes 0.05 to 0.1 s after a move, 0.6 to 2 s after a removal.

use super::site::remove;
use anyhow::Result;
use nix::sys::statvfs::statvfs;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::private;

const MOST: Used = Used {
    files: 100_000,
    bytes: 2 << 30,
};

/// The time to remove a file: about 25 us on a quiet machine, and 60 us beside other work.
const REMOVAL: Duration = Duration::from_micros(60);

#[derive(Clone, Copy, Default)]
struct Used {
    files: u64,
    bytes: u64,
}

pub struct Trash {
    directory: PathBuf,
    moved: Cell<u64>,
    /// Before anything was moved.
    before: Cell<Option<Used>>,
}

impl Trash {
    /// Moves files to `directory`, which is made when it is needed and must be on their file system.
    pub fn new(directory: PathBuf) -> Trash {
        Trash {
            directory,
            moved: Cell::default(),
            before: Cell::default(),
        }
    }

    /// Removes it if it is on another file system.
    pub fn take(&self, path: &Path) -> Result<()> {
        if !self.directory.exists() {
            private::make(&self.directory)?;
            self.before.set(self.used());
        }
        self.moved.update(|count| count + 1);
        let place = self.directory.join(self.moved.get().to_string());
        // The trash may be on another file system than the files.
        if fs::rename(path, place).is_err() {
            remove(path)?;
        }
        if self.is_full() {
            remove(&self.directory)?;
        }
        Ok(())
    }

    pub fn removal(&self) -> Duration {
        let files = u32::try_from(self.held().files).unwrap_or(u32::MAX);
        REMOVAL.saturating_mul(files)
    }

    fn is_full(&self) -> bool {
        let held = self.held();
        held.files > MOST.files || held.bytes > MOST.bytes
    }

    /// The use of what was moved, and of files that others have made on the file system since.
    fn held(&self) -> Used {
        let Some((before, now)) = self.before.get().zip(self.used()) else {
            return Used::default();
        };
        Used {
            files: now.files.saturating_sub(before.files),
            bytes: now.bytes.saturating_sub(before.bytes),
        }
    }

    fn used(&self) -> Option<Used> {
        let facts = statvfs(&self.directory).ok()?;
        Some(Used {
            files: facts.files() - facts.files_free(),
            bytes: (facts.blocks() - facts.blocks_free()) * facts.fragment_size(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_are_moved_away_under_names_of_their_own() {
        let top = tempfile::tempdir().unwrap();
        let [file, deep, gone, moved] =
            ["file", "deep", "gone", "trash"].map(|name| top.path().join(name));
        let trash = Trash::new(moved.clone());
        fs::create_dir(&deep).unwrap();
        for path in [&file, &deep.join("er")] {
            fs::write(path, "text").unwrap();
        }
        trash.take(&file).unwrap();
        trash.take(&deep).unwrap();
        assert!(!file.exists() && !deep.exists());
        assert_eq!(fs::read_to_string(moved.join("1")).unwrap(), "text");
        assert!(moved.join("2/er").exists());
        assert!(trash.take(&gone).is_err());
    }
}
