//! The files at the paths that a command used, as each was when it was first used, with all that is passed on the way to them.

use anyhow::{Context, Result, anyhow, ensure};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use sys::open;

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kind {
    #[default]
    Absent,
    File,
    Directory,
    Link(PathBuf),
    Other,
}

#[derive(Debug, Default)]
pub struct Entry {
    pub kind: Kind,
    pub mode: u32,
    pub owner: (u32, u32),
    /// Seconds since 1970-01-01 UTC.
    pub modified_s: i64,
    pub size: u64,
    pub changed: bool,
    /// Known from a list of its directory only: its contents were not used.
    pub only_listed: bool,
    /// A directory that only occurs within longer paths: the command did not see its times.
    pub only_passed: bool,
    pub kept: Option<PathBuf>,
}

/// Files by path, without symbolic links on the way.
pub struct Entries {
    all: BTreeMap<PathBuf, Entry>,
    known: HashMap<PathBuf, Option<PathBuf>>,
    keep: PathBuf,
    most: u64,
    kept_bytes: u64,
    failure: Option<anyhow::Error>,
}

const MOST_LINKS: u32 = 40;
const SPECIAL: [&str; 3] = ["/proc", "/sys", "/dev"];

impl Entries {
    /// Files that are changed are first copied to `keep`, up to `most` bytes.
    pub fn new(keep: &Path, most: u64) -> Entries {
        let all = BTreeMap::from([(PathBuf::from("/"), entry(Path::new("/")))]);
        Entries {
            all,
            known: HashMap::new(),
            keep: keep.to_path_buf(),
            most,
            kept_bytes: 0,
            failure: None,
        }
    }

    /// A directory precedes the files in it.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.all.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// `path` must be free of links.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.all.get(path)
    }

    /// A guest has files of its own there.
    pub fn is_special(&self, path: &Path) -> bool {
        SPECIAL.iter().any(|special| path.starts_with(special))
    }

    /// The bytes of all files that were used.
    pub fn size(&self) -> u64 {
        self.files().map(|(_, entry)| entry.size).sum()
    }

    fn files(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.iter()
            .filter(|(_, entry)| entry.kind == Kind::File && !entry.only_listed)
    }

    /// # Errors
    /// Why a file that the command changed could not be copied before.
    pub fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Looked up, opened or executed.
    pub fn used(&mut self, path: &Path) {
        self.lead(path);
    }

    /// Notes the working directory. The command sees its times only if it also looks at the directory itself.
    pub fn begins_in(&mut self, directory: &Path) {
        let place = self.lead(directory);
        if let Some(entry) = place.and_then(|place| self.all.get_mut(&place)) {
            entry.only_passed = true;
        }
        self.known.remove(directory);
    }

    /// Notes that the file at a path is about to be changed, and copies it first.
    pub fn changed(&mut self, path: &Path) {
        let Some(place) = self.lead(path) else { return };
        let number = self.all.len();
        let Some(entry) = self.all.get_mut(&place).filter(|entry| !entry.changed) else {
            return;
        };
        entry.changed = true;
        if entry.kind != Kind::File {
            return;
        }
        // Copied before the call runs: the tracer holds the thread at the call's entry.
        self.kept_bytes += entry.size;
        let copy = self.keep.join(format!("{number}-{}", self.kept_bytes));
        let copied = if self.kept_bytes > self.most {
            Err(anyhow!(
                "the command changes files of more than {} MiB, too much for a guest's memory",
                self.most >> 20
            ))
        } else {
            copied(&place, &copy)
        };
        match copied {
            Ok(()) => entry.kept = Some(copy),
            // The command goes on: it must not be killed halfway for want of a copy. `check` reports the first failure.
            Err(error) => drop(self.failure.get_or_insert(error)),
        }
    }

    /// Notes the names in a directory that is about to be listed.
    pub fn listed(&mut self, path: &Path) {
        let Some(place) = self.lead(path) else { return };
        let Ok(names) = fs::read_dir(&place) else {
            return;
        };
        for name in names.flatten() {
            let path = place.join(name.file_name());
            if !self.is_special(&path) {
                self.all.entry(path.clone()).or_insert_with(|| Entry {
                    only_listed: true,
                    ..entry(&path)
                });
            }
        }
    }

    /// The path without links that a path leads to; notes all that is passed. `None` if it leads to a special place.
    fn lead(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let mut left: Vec<OsString> = components(path);
        let (mut place, mut links) = (PathBuf::from("/"), 0);
        while let Some(name) = left.pop() {
            // Links before it are resolved by now, so this is the parent that the kernel would take.
            if name == ".." {
                place.pop();
                continue;
            }
            place.push(&name);
            if self.is_special(&place) {
                self.known.insert(path.to_path_buf(), None);
                return None;
            }
            let kind = self.kind_of(&place, left.is_empty());
            if let Kind::Link(target) = kind
                && links < MOST_LINKS
            {
                links += 1;
                place.pop();
                if target.is_absolute() {
                    place = PathBuf::from("/");
                }
                // The target's names come before those that were left.
                left.extend(components(&target));
            }
        }
        self.known.insert(path.to_path_buf(), Some(place.clone()));
        Some(place)
    }

    fn kind_of(&mut self, place: &Path, is_last: bool) -> Kind {
        let entry = self
            .all
            .entry(place.to_path_buf())
            .or_insert_with(|| Entry {
                only_passed: true,
                ..entry(place)
            });
        entry.only_listed = false;
        entry.only_passed &= !is_last;
        entry.kind.clone()
    }
}

fn components(path: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect();
    names.reverse();
    names
}

fn entry(path: &Path) -> Entry {
    let Ok(facts) = fs::symlink_metadata(path) else {
        return Entry::default();
    };
    Entry {
        kind: kind(path, &facts),
        mode: facts.permissions().mode() & 0o7777,
        owner: (facts.uid(), facts.gid()),
        modified_s: facts.mtime(),
        size: facts.len(),
        ..Entry::default()
    }
}

fn kind(path: &Path, facts: &Metadata) -> Kind {
    let kind = facts.file_type();
    match () {
        () if kind.is_file() => Kind::File,
        () if kind.is_dir() => Kind::Directory,
        () if kind.is_symlink() => fs::read_link(path).map_or(Kind::Absent, Kind::Link),
        () => Kind::Other,
    }
}

fn copied(from: &Path, to: &Path) -> Result<()> {
    open::contents(from)
        .and_then(|bytes| fs::write(to, bytes))
        .with_context(|| {
            format!(
                "cannot copy {} before the command changes it",
                from.display()
            )
        })
}

/// The error names the three largest.
pub fn check_size(entries: &Entries, most: u64) -> Result<()> {
    let size = entries.size();
    let mut files: Vec<_> = entries.files().collect();
    files.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.size));
    let largest: Vec<String> = files
        .iter()
        .take(3)
        .map(|(path, entry)| format!("{} {} MiB", path.display(), entry.size >> 20))
        .collect();
    ensure!(
        size <= most,
        "the command uses files of {} MiB, and {} MiB fit into a guest's memory (largest: {})",
        size >> 20,
        most >> 20,
        largest.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_a_path_passes_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        let keep = here.join("keep");
        fs::create_dir_all(here.join("real/deep")).unwrap();
        fs::create_dir(&keep).unwrap();
        fs::write(here.join("real/deep/file"), "1234567").unwrap();
        fs::write(here.join("real/other"), "").unwrap();
        std::os::unix::fs::symlink("real/deep", here.join("way")).unwrap();
        std::os::unix::fs::symlink("loop", here.join("loop")).unwrap();
        let mut entries = Entries::new(&keep, 10);
        entries.used(&here.join("way/./../deep/file"));
        entries.used(&here.join("loop/x"));
        entries.listed(&here.join("real"));
        let [way, file, other] = ["way", "real/deep/file", "real/other"]
            .map(|path| entries.get(&here.join(path)).unwrap());
        assert_eq!(way.kind, Kind::Link("real/deep".into()));
        let deep = entries.get(&here.join("real/deep")).unwrap();
        assert!(deep.only_passed && way.only_passed && !file.only_passed);
        assert!(file.kind == Kind::File && other.only_listed);
        assert_eq!(entries.size(), 7);
        // Changed twice: the copy is of the first content.
        entries.changed(&here.join("way/file"));
        fs::write(here.join("real/deep/file"), "after").unwrap();
        entries.changed(&here.join("way/file"));
        let file = entries.get(&here.join("real/deep/file")).unwrap();
        assert_eq!(fs::read(file.kept.as_ref().unwrap()).unwrap(), b"1234567");
        assert!(entries.check().is_ok() && check_size(&entries, 7).is_ok());
        let error = check_size(&entries, 6).unwrap_err().to_string();
        assert!(error.contains("real/deep/file"), "{error}");
        assert!(entries.lead(Path::new("/proc/self/maps")).is_none());
    }

    #[test]
    fn changes_of_too_much_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "12345").unwrap();
        let mut entries = Entries::new(directory.path(), 4);
        entries.changed(&file);
        assert!(entries.check().unwrap_err().to_string().contains("MiB"));
    }
}
