//! Calls by path. A relative path is joined to the name in /proc of the directory that it is relative to.

use super::tally::Outcome;
use model::syscall_names::bare_name;
use model::{CallCount, ObjectCount, ObjectKind, Profile};
use std::collections::{BTreeMap, HashMap};
use std::fs::read_link;

/// The largest number of paths, as in the eBPF programs' map; calls on further paths are dropped.
const MOST_PATHS: usize = 65_536;

#[derive(Default)]
pub struct Objects {
    paths: Vec<Path>,
    numbers: HashMap<Path, usize>,
    counts: HashMap<(usize, usize, usize), CallCount>,
    directories: HashMap<(i32, i32), Option<String>>,
    dropped: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Path {
    text: String,
    directory: Option<String>,
}

impl Objects {
    /// The number of the path that a call of a stopped thread has as its argument `position`; `None` if there is no room for another.
    pub fn path(
        &mut self,
        thread: (i32, i32),
        name: &str,
        text: &[u8],
        arguments: (&[u64; 6], u8),
    ) -> Option<usize> {
        let text = String::from_utf8_lossy(text).into_owned();
        let directory = if text.starts_with('/') {
            None
        } else {
            self.directory(thread, directory_argument(name, arguments.0, arguments.1))
        };
        let path = Path { text, directory };
        if let Some(number) = self.numbers.get(&path) {
            return Some(*number);
        }
        if self.paths.len() == MOST_PATHS {
            // Counted, not replaced: whichever path came first stays, so that counts of known paths are complete.
            self.dropped += 1;
            return None;
        }
        self.paths.push(path.clone());
        self.numbers.insert(path, self.paths.len() - 1);
        Some(self.paths.len() - 1)
    }

    fn directory(&mut self, thread: (i32, i32), descriptor: i32) -> Option<String> {
        let (process, tid) = thread;
        let known = self.directories.entry((process, descriptor));
        known
            .or_insert_with(|| {
                let link = match descriptor {
                    libc::AT_FDCWD => format!("/proc/{tid}/cwd"),
                    _ => format!("/proc/{tid}/fd/{descriptor}"),
                };
                Some(read_link(link).ok()?.to_string_lossy().into_owned())
            })
            .clone()
    }

    /// A call may have changed which ones descriptors lead to, or the working directory.
    pub fn forget_directories(&mut self) {
        self.directories.clear();
    }

    /// Counts a call by the numbers of process name, call and path.
    pub fn add(&mut self, (process, call, path): (usize, usize, usize), outcome: Outcome) {
        let sum = self.counts.entry((process, call, path)).or_default();
        sum.calls += 1;
        outcome.count(&mut sum.errors);
    }

    /// `process` and `call` return names by number.
    pub fn fill<'a>(
        &self,
        process: impl Fn(usize) -> &'a str,
        call: impl Fn(usize) -> &'a str,
        into: &mut Profile,
    ) {
        let mut sums: BTreeMap<(usize, &str, &str), CallCount> = BTreeMap::new();
        for ((node, number, path), count) in &self.counts {
            let sum = sums.entry((*path, process(*node), call(*number)));
            sum.or_default().add(count);
        }
        let rows = sums
            .into_iter()
            .map(|((path, process, call), count)| ObjectCount {
                kind: ObjectKind::Path,
                name: self.paths[path].joined(),
                process: process.to_string(),
                directory: self.paths[path].directory.clone(),
                count: CallCount {
                    call: call.to_string(),
                    ..count
                },
            });
        into.objects = ObjectCount::sorted(rows);
        into.objects_dropped = Some(self.dropped);
    }
}

impl Path {
    fn joined(&self) -> String {
        match &self.directory {
            Some(directory) if self.text == "." => directory.clone(),
            Some(directory) => format!("{}/{}", directory.trim_end_matches('/'), self.text),
            None => self.text.clone(),
        }
    }
}

/// The descriptor of the directory that the path may be relative to: the argument before it, if it is not a watch.
fn directory_argument(name: &str, arguments: &[u64; 6], position: u8) -> i32 {
    match position.checked_sub(1) {
        Some(before) if bare_name(name) != "inotify_add_watch" => {
            arguments[usize::from(before)] as i32
        }
        _ => libc::AT_FDCWD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_joined_to_its_directory() {
        let mut objects = Objects::default();
        let pid = std::process::id().cast_signed();
        let arguments = [libc::AT_FDCWD as u64, 0, 0, 0, 0, 0];
        for (name, text, position) in [
            ("openat", "a", 1),
            ("stat", "a", 0),
            ("inotify_add_watch", "/b", 1),
        ] {
            let path = objects.path((pid, pid), name, text.as_bytes(), (&arguments, position));
            objects.add((0, 0, path.unwrap()), Outcome::Failed(libc::ENOENT));
        }
        let mut profile = Profile::default();
        objects.fill(|_| "p", |_| "stat", &mut profile);
        let here = std::env::current_dir().unwrap().display().to_string();
        let rows: Vec<_> = profile
            .objects
            .iter()
            .map(|row| {
                (
                    row.name.clone(),
                    row.directory.clone(),
                    row.count.failures(),
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                (format!("{here}/a"), Some(here), 2),
                ("/b".to_string(), None, 1)
            ]
        );
    }
}
