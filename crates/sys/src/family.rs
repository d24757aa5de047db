//! The memory of everything that belongs to a program that was started: its descendants, processes with its mark in their
//! environment, and those that started these. A container's runtime leaves some of them to init.

use super::proc_stat::{self, ProcStat};
use super::tree::{numbers, with_descendants};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const STARTED: usize = 22;

struct Process {
    parent: u32,
    started: u64,
}

/// Proportional set size in KiB: a page that N processes share counts 1/N. `mark` is a `NAME=VALUE` of the environment; `None` if
/// `root` has ended, or one of its processes may not be read.
pub fn memory_kib(root: u32, mark: &str) -> Option<u64> {
    let all: BTreeMap<u32, Process> = numbers("/proc")
        .into_iter()
        .filter_map(|pid| Some((pid, process(pid)?)))
        .collect();
    let marked = all.keys().copied().filter(|pid| has_mark(*pid, mark));
    family(root, &all, marked)
        .into_iter()
        .map(proportional_kib)
        .sum()
}

fn process(pid: u32) -> Option<Process> {
    let text = proc_stat::text(pid);
    let stat = ProcStat::parse(&text)?;
    Some(Process {
        parent: stat.parent()?,
        started: stat.number(STARTED)?,
    })
}

fn has_mark(pid: u32, mark: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|all| {
        all.split(|byte| *byte == 0)
            .any(|one| one == mark.as_bytes())
    })
}

/// A process that was there before `root` does not belong to its family, whoever its children are.
fn family(
    root: u32,
    all: &BTreeMap<u32, Process>,
    marked: impl Iterator<Item = u32>,
) -> BTreeSet<u32> {
    let Some(since) = all.get(&root).map(|root| root.started) else {
        return BTreeSet::from([root]);
    };
    let is_since = |pid: &u32| all.get(pid).is_some_and(|one| one.started >= since);
    let mut family: BTreeSet<u32> = marked.filter(is_since).chain([root]).collect();
    for pid in family.clone() {
        let ancestors = std::iter::successors(Some(pid), |pid| Some(all.get(pid)?.parent));
        family.extend(ancestors.take_while(is_since));
    }
    let parents: Vec<(u32, u32)> = all.iter().map(|(pid, one)| (*pid, one.parent)).collect();
    with_descendants(family, &parents)
}

/// 0 of a process that has ended but was not waited for.
fn proportional_kib(pid: u32) -> Option<u64> {
    let text = proc_stat::read(format!("/proc/{pid}/smaps_rollup")).ok();
    let Some(text) = text else {
        let stat = proc_stat::text(pid);
        let has_ended = ProcStat::parse(&stat).is_none_or(|stat| stat.state() == Some("Z"));
        return has_ended.then_some(0);
    };
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_what_was_left_to_init_and_its_starter() {
        // A runtime (11) that ended left a monitor (20) to init, which started the marked program (21).
        let all = [
            (1, 0, 0),
            (10, 1, 50),
            (11, 10, 90),
            (20, 1, 95),
            (21, 20, 99),
            (22, 21, 99),
        ];
        let all = all
            .map(|(pid, parent, started)| (pid, Process { parent, started }))
            .into();
        let family = |marked: &[u32]| family(11, &all, marked.iter().copied());
        assert_eq!(family(&[21]), BTreeSet::from([11, 20, 21, 22]));
        assert_eq!(family(&[]), BTreeSet::from([11]));
        assert_eq!(family(&[10]), BTreeSet::from([11]), "marked before");
    }

    #[test]
    fn memory_of_this_process_is_known_and_of_none_is_not() {
        assert!(memory_kib(std::process::id(), "NO=MARK").is_some_and(|kib| kib > 100));
        assert_eq!(proportional_kib(u32::MAX), Some(0));
    }
}
