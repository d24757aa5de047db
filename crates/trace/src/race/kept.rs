//! What is in a directory, so that it is seen whether a program changed it, and what the last execution changed in a copy is made as it
//! was.
//!
//! Whatever a program changes gets a new change time, which it cannot set. So files with the same one are as they were.

use super::trash::Trash;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use sys::output::output;
use sys::private;

const MOST_CHANGED: usize = 200;

const MOST: usize = 500_000;

/// Several of the kernel's steps of file times.
const STEP: Duration = Duration::from_millis(20);

pub struct Kept(BTreeMap<PathBuf, Facts>);

#[derive(PartialEq)]
struct Facts {
    is_directory: bool,
    /// Number, mode, owners and links.
    own: [u64; 5],
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Facts {
    fn of(metadata: &Metadata) -> Facts {
        let own = [
            metadata.ino(),
            metadata.mode().into(),
            metadata.uid().into(),
            metadata.gid().into(),
            metadata.nlink(),
        ];
        Facts {
            is_directory: metadata.is_dir(),
            own,
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// At most entries of the directory came or went.
    fn is_same_directory(&self, now: &Facts) -> bool {
        now.is_directory && self.own[..4] == now.own[..4] && self.modified != now.modified
    }
}

impl Kept {
    pub fn of(top: &Path) -> io::Result<Kept> {
        sleep(STEP);
        Ok(Kept(facts(top)?))
    }

    pub fn changed(&self, top: &Path) -> io::Result<Option<PathBuf>> {
        let now = facts(top)?;
        Ok(self
            .0
            .keys()
            .chain(now.keys())
            .find(|path| match (self.0.get(*path), now.get(*path)) {
                (Some(was), Some(now)) => !(was == now || was.is_same_directory(now)),
                _ => true,
            })
            .cloned())
    }

    /// Makes `copy` as `original` is again; `None` or an error if all has to be copied.
    pub fn restored(
        self,
        original: &Path,
        copy: &Path,
        with: (&Path, &Trash),
    ) -> Result<Option<Kept>> {
        let (run, trash) = with;

        let now = facts(copy)?;
        let changed: Vec<(&PathBuf, &Facts)> = self
            .0
            .iter()
            .filter(|(path, was)| now.get(*path) != Some(*was))
            .collect();
        let added: Vec<&PathBuf> = now
            .keys()
            .filter(|path| !self.0.contains_key(*path))
            .collect();
        if changed.is_empty() && added.is_empty() {
            return Ok(Some(self));
        }
        let (directories, files): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|(_, was)| was.is_directory);
        if files.len() > MOST_CHANGED
            || !directories
                .iter()
                .all(|(path, was)| now.get(*path).is_some_and(|now| was.is_same_directory(now)))
            || !files.iter().all(|(path, was)| {
                was.own[4] == 1
                    && now
                        .get(*path)
                        .is_none_or(|now| !now.is_directory && now.own[4] == 1)
            })
        {
            return Ok(None);
        }
        // What is below another that was added goes with that.
        let added = added
            .into_iter()
            .filter(|path| path.parent().is_none_or(|above| self.0.contains_key(above)));
        let replaced = files.iter().map(|(path, _)| *path);
        let gone = added.chain(replaced.filter(|path| now.contains_key(*path)));
        gone.map(|path| copy.join(path))
            .try_for_each(|path| trash.take(&path))?;
        if !files.is_empty() {
            let mut copies = private::helper("cp", run);
            copies
                .current_dir(original)
                .args(["-a", "--reflink=auto", "--parents", "--"]);
            copies.args(files.iter().map(|(path, _)| path)).arg(copy);
            if !output(&mut copies)?.status.success() {
                return Ok(None);
            }
        }
        // Removing and copying changed the times of directories, too.
        let touched = files.iter().filter_map(|(path, _)| path.parent());
        let directories = directories.iter().map(|(path, _)| path.as_path());
        for path in touched.chain(directories).collect::<BTreeSet<_>>() {
            copy_time(&original.join(path), &copy.join(path))?;
        }
        Ok(Some(Kept::of(copy)?))
    }
}

fn copy_time(from: &Path, to: &Path) -> io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    File::open(to)?.set_times(FileTimes::new().set_modified(modified))
}

fn facts(top: &Path) -> io::Result<BTreeMap<PathBuf, Facts>> {
    let metadata = fs::metadata(top)?;
    let mut all = BTreeMap::from([(PathBuf::new(), Facts::of(&metadata))]);
    let (device, mut left) = (metadata.dev(), vec![PathBuf::new()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(top.join(&directory))? {
            let entry = entry?;
            let (path, metadata) = (directory.join(entry.file_name()), entry.metadata()?);
            if metadata.is_dir() && metadata.dev() == device {
                left.push(path.clone());
            }
            all.insert(path, Facts::of(&metadata));
        }
        if all.len() > MOST {
            return Err(io::Error::other("too many files"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_program_changed_is_as_it_was() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        let (original, copy) = (at("original"), at("copy"));
        for name in ["deep/er", "other"] {
            fs::create_dir_all(original.join(name)).unwrap();
            fs::write(original.join(name).join("file"), "as it was").unwrap();
        }
        let restored: [fn(&Path) -> io::Result<()>; 5] = [
            |_| Ok(()),
            |copy| fs::write(copy.join("other/file"), "as it is."),
            |copy| fs::remove_file(copy.join("deep/er/file")),
            |copy| fs::create_dir_all(copy.join("new/er/est")),
            |copy| fs::rename(copy.join("other/file"), copy.join("moved")),
        ];
        let copied_again: [fn(&Path) -> io::Result<()>; 3] = [
            |copy| fs::remove_dir_all(copy.join("other")),
            |copy| fs::set_permissions(copy.join("deep"), PermissionsExt::from_mode(0o711)),
            |copy| fs::hard_link(copy.join("other/file"), copy.join("two")),
        ];
        let restored = restored.map(|change| (change, true));
        let changes = restored
            .into_iter()
            .chain(copied_again.map(|change| (change, false)));
        for (index, (change, is_restored)) in changes.enumerate() {
            let kept = {
                let _ = fs::remove_dir_all(&copy);
                let mut copies = std::process::Command::new("cp");
                copies.arg("-a").args([&original, &copy]);
                assert!(copies.status().unwrap().success());
                Kept::of(&copy).unwrap()
            };
            change(&copy).unwrap();
            let trash = Trash::new(at("trash"));
            let found = kept.restored(&original, &copy, (top.path(), &trash));
            let found = found.unwrap();
            assert_eq!(found.is_some(), is_restored, "{index}");
            let is_same = || {
                let [original, copy] = [&original, &copy].map(|top| facts(top).unwrap());
                original.keys().eq(copy.keys())
                    && original.values().zip(copy.values()).all(|(a, b)| {
                        (a.size, a.modified, a.own[1]) == (b.size, b.modified, b.own[1])
                    })
            };
            assert!(!is_restored || is_same(), "{index}");
            assert!(
                !is_restored || fs::read_to_string(copy.join("other/file")).unwrap() == "as it was",
                "{index}"
            );
        }
    }
}
