//! The files in a directory, to find out whether a program changed them, and to undo what the last execution changed in a copy.
//!
//! Each change gives a file a new change time, which programs cannot set. So files with the same one are as they were.

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

/// Longer than several of the kernel's steps of file times: a change right after the look gets another time.
const STEP: Duration = Duration::from_millis(20);

pub struct Kept(BTreeMap<PathBuf, Facts>);

#[derive(PartialEq)]
struct Facts {
    is_directory: bool,
    identity: [u64; 4],
    links: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Facts {
    fn new(metadata: &Metadata) -> Facts {
        let identity = [
            metadata.ino(),
            metadata.mode().into(),
            metadata.uid().into(),
            metadata.gid().into(),
        ];
        Facts {
            is_directory: metadata.is_dir(),
            identity,
            links: metadata.nlink(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether at most entries of the directory came or went.
    fn is_same_directory(&self, now: &Facts) -> bool {
        now.is_directory && self.identity == now.identity && self.modified != now.modified
    }
}

impl Kept {
    /// Looks at all files below `top`, on its file system; takes at least 20 ms.
    pub fn read(top: &Path) -> io::Result<Kept> {
        sleep(STEP);
        Ok(Kept(facts(top)?))
    }

    /// Relative to `top`.
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

    /// `None` or an error if all has to be copied.
    pub fn restored(
        self,
        original: &Path,
        copy: &Path,
        with: (&Path, &Trash),
    ) -> Result<Option<Kept>> {
        let (run, trash) = with;

        let now = facts(copy)?;
        let changes = self.changes(&now);
        if changes.are_none() {
            return Ok(Some(self));
        }
        if !changes.can_be_undone(&self.0, &now) {
            return Ok(None);
        }
        // An entry below another that was added goes with that.
        let added = changes
            .added
            .iter()
            .filter(|path| path.parent().is_none_or(|above| self.0.contains_key(above)));
        let replaced = changes.files.iter().filter(|path| now.contains_key(**path));
        added
            .chain(replaced)
            .map(|path| copy.join(path))
            .try_for_each(|path| trash.take(&path))?;
        if !changes.files.is_empty() && !copy_files(&changes.files, original, copy, run)? {
            return Ok(None);
        }
        // Removing and copying changed the times of directories, too.
        let touched = changes.files.iter().filter_map(|path| path.parent());
        let directories = changes.directories.iter().map(|path| path.as_path());
        for path in touched.chain(directories).collect::<BTreeSet<_>>() {
            copy_time(&original.join(path), &copy.join(path))?;
        }
        Ok(Some(Kept::read(copy)?))
    }

    fn changes<'a>(&'a self, now: &'a BTreeMap<PathBuf, Facts>) -> Changes<'a> {
        let mut changes = Changes {
            added: now
                .keys()
                .filter(|path| !self.0.contains_key(*path))
                .collect(),
            ..Changes::default()
        };
        for (path, was) in &self.0 {
            if now.get(path) != Some(was) {
                if was.is_directory {
                    &mut changes.directories
                } else {
                    &mut changes.files
                }
                .push(path);
            }
        }
        changes
    }
}

#[derive(Default)]
struct Changes<'a> {
    directories: Vec<&'a PathBuf>,
    files: Vec<&'a PathBuf>,
    added: Vec<&'a PathBuf>,
}

impl Changes<'_> {
    fn are_none(&self) -> bool {
        self.directories.is_empty() && self.files.is_empty() && self.added.is_empty()
    }

    /// Few files are copied one by one. Not those with several links: the copy of one would be another file than the other.
    fn can_be_undone(
        &self,
        was: &BTreeMap<PathBuf, Facts>,
        now: &BTreeMap<PathBuf, Facts>,
    ) -> bool {
        self.files.len() <= MOST_CHANGED
            && self.directories.iter().all(|path| {
                now.get(*path)
                    .is_some_and(|now| was[*path].is_same_directory(now))
            })
            && self.files.iter().all(|path| {
                let is_replaceable = |now: &Facts| !now.is_directory && now.links == 1;
                // A copy of a file with several names would be a separate file under each of them.
                was[*path].links == 1 && now.get(*path).is_none_or(is_replaceable)
            })
    }
}

fn copy_files(files: &[&PathBuf], from: &Path, to: &Path, run: &Path) -> Result<bool> {
    let mut copies = private::helper("cp", run);
    copies
        .current_dir(from)
        .args(["-a", "--reflink=auto", "--parents", "--"]);
    Ok(output(copies.args(files).arg(to))?.status.success())
}

fn copy_time(from: &Path, to: &Path) -> io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    File::open(to)?.set_times(FileTimes::new().set_modified(modified))
}

fn facts(top: &Path) -> io::Result<BTreeMap<PathBuf, Facts>> {
    let metadata = fs::metadata(top)?;
    let mut all = BTreeMap::from([(PathBuf::new(), Facts::new(&metadata))]);
    // Mount points below are seen, but not what is mounted there: it is not copied either.
    let (device, mut left) = (metadata.dev(), vec![PathBuf::new()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(top.join(&directory))? {
            let entry = entry?;
            let (path, metadata) = (directory.join(entry.file_name()), entry.metadata()?);
            if metadata.is_dir() && metadata.dev() == device {
                left.push(path.clone());
            }
            all.insert(path, Facts::new(&metadata));
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

    fn are_same(original: &Path, copy: &Path) -> bool {
        let [original, copy] = [original, copy].map(|top| facts(top).unwrap());
        original.keys().eq(copy.keys())
            && original.values().zip(copy.values()).all(|(a, b)| {
                (a.size, a.modified, a.identity[1]) == (b.size, b.modified, b.identity[1])
            })
    }

    #[test]
    fn a_changed_copy_is_made_as_it_was() {
        let top = tempfile::tempdir().unwrap();
        let [original, copy, trash] =
            ["original", "copy", "trash"].map(|name| top.path().join(name));
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
                Kept::read(&copy).unwrap()
            };
            change(&copy).unwrap();
            let trash = Trash::new(trash.clone());
            let restored = kept.restored(&original, &copy, (top.path(), &trash));
            assert_eq!(restored.unwrap().is_some(), is_restored, "{index}");
            if is_restored {
                assert!(are_same(&original, &copy), "{index}");
                let text = fs::read_to_string(copy.join("other/file")).unwrap();
                assert_eq!(text, "as it was", "{index}");
            }
        }
    }
}
