//! Who keeps a blocked call waiting: the process that holds a lock on a file, and those that have the other end of a pipe open. /proc
//! shows an ordinary user only their own processes.

use crate::watched::arguments;
use model::{DescriptorKind, ProcessName, WaitCount};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use sys::proc_stat;
use sys::tree::numbers;

/// Calls that wait for locks of files.
const LOCKS: [&str; 3] = ["flock", "fcntl", "fcntl64"];
/// The most processes that are named.
const MOST: usize = 3;
/// The most searches through all descriptors of the machine.
const MOST_SEARCHES: usize = 16;

/// The processes that each search found, by what it was for.
#[derive(Default)]
pub struct Search(HashMap<String, Vec<ProcessName>>);

#[derive(Default)]
pub struct Holders {
    pub processes: Vec<ProcessName>,
    /// The process that took the lock and has ended, if nobody is known to hold it.
    pub taken_by: Option<u32>,
}

impl Search {
    /// `tid` is a thread of `process` that waits.
    pub fn holders(&mut self, process: u32, tid: u32, waits: &WaitCount) -> Holders {
        if LOCKS.contains(&&*waits.call) {
            let locks = proc_stat::read("/proc/locks").unwrap_or_default();
            awaited_lock(&locks, process).map_or_else(Holders::default, |lock| self.lock(lock))
        } else if waits.descriptor == Some(DescriptorKind::Pipe) {
            Holders {
                processes: self.other_end(tid, &waits.call).unwrap_or_default(),
                taken_by: None,
            }
        } else {
            Holders::default()
        }
    }

    /// A lock by flock belongs to an open file, which the process that took it may have passed on to others.
    fn lock(&mut self, lock: Lock) -> Holders {
        let taker = lock
            .process
            .filter(|pid| Path::new(&format!("/proc/{pid}")).exists());
        let processes = match taker {
            Some(pid) if has_lock(pid, lock) != Some(false) => vec![named(pid)],
            _ => self.processes(format!("{lock:?}"), |pid| has_lock(pid, lock) == Some(true)),
        };
        Holders {
            taken_by: if processes.is_empty() && taker.is_none() {
                lock.process
            } else {
                None
            },
            processes,
        }
    }

    fn other_end(&mut self, tid: u32, call: &str) -> Option<Vec<ProcessName>> {
        // The lowest bits of an open file's flags: 0 to read, 1 to write, 2 for both.
        let same_end = if call.starts_with("read") { '0' } else { '1' };
        let descriptor = arguments(tid)?[0];
        let pipe = fs::read_link(format!("/proc/{tid}/fd/{descriptor}")).ok()?;
        let what = format!("{same_end} {}", pipe.display());
        Some(self.processes(what, |pid| {
            let files = fs::read_dir(format!("/proc/{pid}/fd"));
            files.into_iter().flatten().flatten().any(|file| {
                let number = file.file_name();
                fs::read_link(file.path()).is_ok_and(|link| link == pipe)
                    && fdinfo(pid, &number.to_string_lossy())
                        .lines()
                        .any(|line| line.starts_with("flags:") && !line.ends_with(same_end))
            })
        }))
    }

    fn processes(&mut self, what: String, is_one: impl Fn(u32) -> bool) -> Vec<ProcessName> {
        if self.0.len() >= MOST_SEARCHES && !self.0.contains_key(&what) {
            return Vec::new();
        }
        let known = self.0.entry(what).or_insert_with(|| {
            let all = numbers("/proc").into_iter();
            all.filter(|pid| is_one(*pid))
                .take(MOST)
                .map(named)
                .collect()
        });
        known.clone()
    }
}

fn named(pid: u32) -> ProcessName {
    let name = proc_stat::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    ProcessName {
        pid,
        name: name.trim_end().to_string(),
    }
}

fn fdinfo(pid: u32, descriptor: &str) -> String {
    proc_stat::read(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default()
}

/// `None` if its descriptors cannot be read.
fn has_lock(pid: u32, lock: Lock) -> Option<bool> {
    let mut files = fs::read_dir(format!("/proc/{pid}/fdinfo")).ok()?.flatten();
    Some(files.any(|file| {
        let text = proc_stat::read(file.path()).unwrap_or_default();
        let mut locks = text.lines().filter_map(|line| line.strip_prefix("lock:"));
        locks.any(|line| parsed(line).is_some_and(|(_, other)| other == lock))
    }))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Lock<'a> {
    kind: &'a str,
    /// The process that took it, if it is one of this PID namespace.
    process: Option<u32>,
    file: &'a str,
}

/// `1: FLOCK  ADVISORY  WRITE 380 fe:00:12 0 EOF`, a line of /proc/locks or of fdinfo: the lock's number in that file, and the lock.
/// The process is 0 if it is of another PID namespace, and -1 for a lock by F_OFD_SETLK.
fn parsed(line: &str) -> Option<(&str, Lock<'_>)> {
    let mut words = line.split_whitespace().filter(|word| *word != "->");
    let number = words.next()?;
    let kind = words.next()?;
    let process: i64 = words.nth(2)?.parse().ok()?;
    let lock = Lock {
        kind,
        process: u32::try_from(process).ok().filter(|pid| *pid > 0),
        file: words.next()?,
    };
    Some((number, lock))
}

/// The lock that a process waits for, by the lines of those that wait: `1: -> FLOCK ADVISORY WRITE 401 ...`.
fn awaited_lock(locks: &str, process: u32) -> Option<Lock<'_>> {
    let waiting = |line: &&str| line.contains("->");
    let mut waits = locks.lines().filter(waiting).filter_map(parsed);
    let (number, _) = waits.find(|(_, lock)| lock.process == Some(process))?;
    let mut held = locks.lines().filter(|line| !waiting(line));
    held.find_map(|line| parsed(line).filter(|(other, _)| *other == number))
        .map(|(_, lock)| lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_that_a_process_waits_for_is_in_the_kernels_list() {
        let locks = "1: POSIX  ADVISORY  WRITE 77 fe:00:11 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 380 fe:00:12 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 401 fe:00:12 0 EOF\n\
                     3: OFDLCK ADVISORY  WRITE -1 fe:00:13 0 EOF\n\
                     3: -> POSIX  ADVISORY  WRITE 402 fe:00:13 0 EOF\n";
        let lock = |kind, process, file| {
            Some(Lock {
                kind,
                process,
                file,
            })
        };
        let expected = [
            (401, lock("FLOCK", Some(380), "fe:00:12")),
            (402, lock("OFDLCK", None, "fe:00:13")),
            (77, None),
        ];
        for (process, lock) in expected {
            assert_eq!(awaited_lock(locks, process), lock);
        }
    }
}
