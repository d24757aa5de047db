use super::tally::Caller;
use model::{ProcessPath, SlowCall};
use std::collections::{BTreeMap, BTreeSet};

/// As long as the log does not name it: without -o, strace names threads only while there are several.
pub const FIRST: u64 = 0;

#[derive(Default)]
pub struct Threads {
    live: BTreeSet<u64>,
    /// The real number of the thread called FIRST, once known.
    first: Option<u64>,
    programs: BTreeMap<u64, Vec<String>>,
    parents: BTreeMap<u64, Caller>,
    threads: BTreeSet<u64>,
    unnamed_ends: usize,
    /// It is not known of one whether it is a process.
    unclear: bool,
}

impl Threads {
    /// The only one there is.
    pub fn only(&self) -> u64 {
        let only = if self.live.len() == 1 {
            self.live.first().copied()
        } else {
            None
        };
        only.or(self.first).unwrap_or(FIRST)
    }

    /// A thread that now has a number may be the one that had none before.
    pub fn may_be_first(&self, thread: u64) -> bool {
        self.first.is_none() && self.programs.contains_key(&FIRST) && !self.live.contains(&thread)
    }

    /// Gives the first thread its real number, also in the records of its programs and children.
    pub fn name_first(&mut self, thread: u64) {
        self.first = Some(thread);
        let programs = self.programs.remove(&FIRST);
        self.programs
            .extend(programs.map(|programs| (thread, programs)));
        self.parents
            .values_mut()
            .filter(|(parent, _)| *parent == FIRST)
            .for_each(|(parent, _)| *parent = thread);
    }

    pub fn runs(&mut self, thread: u64) {
        self.live.insert(thread);
    }

    pub fn ends(&mut self, thread: u64) {
        self.live.remove(&thread);
    }

    /// Counts ends of the unnamed thread, which show that there were several.
    pub fn ends_for_sure(&mut self, thread: u64) {
        self.unnamed_ends += usize::from(thread == FIRST);
        self.ends(thread);
    }

    /// The thread and the number of programs that it has executed, which identify a program over time.
    pub fn caller(&mut self, thread: u64) -> Caller {
        (thread, self.programs.entry(thread).or_default().len())
    }

    /// The name of the program that a thread runs.
    pub fn current(&self, thread: u64) -> String {
        let programs = self.programs.get(&thread).map_or(0, Vec::len);
        self.name((thread, programs))
    }

    /// The process of a thread.
    pub fn process(&self, thread: u64) -> u64 {
        let mut process = thread;
        // As in `path`, parents can form a cycle.
        for _ in 0..64 {
            match self.parents.get(&process) {
                Some((parent, _)) if self.threads.contains(&process) => process = *parent,
                _ => break,
            }
        }
        process
    }

    /// A clone or fork. `is_thread` is `None` if the log does not show which.
    pub fn made(&mut self, child: u64, by: Caller, is_thread: Option<bool>) {
        self.runs(by.0);
        self.runs(child);
        self.parents.insert(child, by);
        self.unclear |= is_thread.is_none();
        if is_thread == Some(true) {
            self.threads.insert(child);
        }
    }

    /// An execve that succeeded; `None` if its path is not known.
    pub fn starts(&mut self, thread: u64, program: Option<String>) {
        self.programs.entry(thread).or_default().extend(program);
    }

    /// Whether its program, or the thread that made it, is known.
    pub fn is_known(&self, thread: u64) -> bool {
        let has_program = self
            .programs
            .get(&thread)
            .is_some_and(|all| !all.is_empty());
        has_program || self.parents.contains_key(&thread)
    }

    /// The numbers of processes and threads that made calls; `None` if the log does not show them.
    pub fn counts(&self) -> Option<(u64, u64)> {
        let all = self.programs.len() as u64;
        let threads = self
            .programs
            .keys()
            .filter(|thread| self.threads.contains(thread))
            .count() as u64;
        // Calls of unnamed threads beside named ones, or several unnamed ends, may be of any number of threads.
        let hidden =
            all > 1 && self.programs.contains_key(&FIRST) || self.unnamed_ends > 1 || self.unclear;
        (!hidden).then_some((all - threads, threads))
    }

    /// Who started whom; empty if the log does not show it. `calls` are those of each caller.
    pub fn tree(&self, calls: impl Iterator<Item = (Caller, u64)>) -> Vec<ProcessPath> {
        let mut paths: BTreeMap<Vec<String>, ProcessPath> = BTreeMap::new();
        if self.counts().is_none() {
            return Vec::new();
        }
        for (thread, programs) in &self.programs {
            let is_child = self.parents.contains_key(thread);
            for program in usize::from(!is_child)..=programs.len() {
                let path = paths.entry(self.path((*thread, program))).or_default();
                path.processes += u64::from(!self.threads.contains(thread));
            }
        }
        for (caller, calls) in calls {
            let path = paths.entry(self.path(caller)).or_default();
            path.calls += calls;
        }
        let named = paths.into_iter().filter(|(names, _)| !names.is_empty());
        named
            .map(|(names, path)| ProcessPath { names, ..path })
            .collect()
    }

    /// The programs that led to the one that the caller's thread ran. Children and threads run the program of their parent until they
    /// execute another.
    fn path(&self, caller: Caller) -> Vec<String> {
        let (mut thread, mut program) = caller;
        let mut names = Vec::new();
        // In a log merged from several, parents can form a cycle.
        for _ in 0..64 {
            let programs = self.programs.get(&thread).map_or(&[][..], Vec::as_slice);
            names.extend(programs.iter().take(program).rev().cloned());
            let Some(parent) = self.parents.get(&thread) else {
                break;
            };
            (thread, program) = *parent;
        }
        // The first process before its execve.
        if names.is_empty() {
            let programs = self.programs.get(&thread);
            names.extend(programs.and_then(|programs| programs.first()).cloned());
        }
        names.reverse();
        names
    }

    pub fn named(&self, caller: Caller, call: SlowCall) -> SlowCall {
        let (thread, program) = caller;

        let thread = match self.first {
            Some(value) if thread == FIRST => value,
            _ => thread,
        };
        SlowCall {
            process: self.name((thread, program)),
            pid: u32::try_from(thread).ok().filter(|pid| *pid > 0),
            ..call
        }
    }

    /// The name of the program that the caller's thread ran at that time; before its first execve, that of its parent.
    pub fn name(&self, caller: Caller) -> String {
        self.path(caller).pop().unwrap_or_default()
    }
}
