//! A tree of running processes as /proc shows it, and the kernel's accounting of its tasks. No `unsafe`.
//!
//! Not here: processes that have ended, which only a tracer knows. Called by `trace::bpf`.

use super::proc_stat::{self, ProcStat};
use super::usage::Used;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What one task used so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskAccount {
    /// The process that it belongs to.
    pub process: u32,
    pub process_name: String,
    /// User and system time with the resolution of clock ticks.
    pub used: Used,
    /// Largest resident set of its process.
    pub peak_rss_kib: u64,
}

/// Accounts by task ID.
pub type TaskAccounts = BTreeMap<u32, TaskAccount>;

/// Checks that /proc shows this process's PID namespace: it shows that of whoever mounted it, which may be another one
/// after unshare(1) or in a misconfigured container.
///
/// # Errors
/// What is wrong with it, and what to do.
pub fn check_numbers() -> Result<(), String> {
    const ADVICE: &str =
        "mount one for this namespace, as 'mount -t proc proc /proc' or 'unshare --pid --fork --mount-proc' do";
    let status = fs::read_to_string("/proc/self/status").map_err(|_| format!("/proc does not show us: {ADVICE}"))?;
    if shows_other_numbers(&status) {
        return Err(format!("/proc shows another PID namespace: {ADVICE}"));
    }
    Ok(())
}

/// NSpid lists our PID in each namespace from that of /proc to our own: more than one if they differ. Kernels before
/// 4.1 do not have it.
fn shows_other_numbers(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() > 1)
}

/// `root` and its running descendants, without orphans that were reparented to another process.
pub fn processes(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = numbers("/proc").into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    descendants(root, &parents)
}

/// The largest resident set of a process and its descendants so far, in KiB; 0 if it is not known.
pub fn peak_rss_kib(root: u32) -> u64 {
    accounts(root).values().map(|account| account.peak_rss_kib).max().unwrap_or(0)
}

pub fn accounts(root: u32) -> TaskAccounts {
    let mut accounts = TaskAccounts::new();
    for process in processes(root) {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        for task in numbers(&format!("/proc/{process}/task")) {
            let account = account(process, task);
            accounts.extend(account.map(|a| (task, TaskAccount { process_name: name.trim_end().to_string(), ..a })));
        }
    }
    accounts
}

fn descendants(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        found.extend(
            parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if found.len() == before {
            return found.into_iter().collect();
        }
    }
}

fn numbers(directory: &str) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(pid: u32) -> Option<u32> {
    ProcStat::parse(&proc_stat::text(pid))?.parent()
}

fn account(process: u32, task: u32) -> Option<TaskAccount> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/task/{task}/{file}")).ok();
    let schedstat = read("schedstat").unwrap_or_default();
    parse(process, &read("stat")?, &read("status")?, &schedstat, proc_stat::tick_ns())
}

/// The account from the texts of stat, status and schedstat; `None` if `stat` is malformed.
#[doc(hidden)]
pub fn parse(process: u32, stat: &str, status: &str, schedstat: &str, tick_ns: u64) -> Option<TaskAccount> {
    let stat = ProcStat::parse(stat)?;
    let line = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let used = Used {
        ran_ns: schedstat.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0),
        user_ns: stat.user_ns(tick_ns).unwrap_or(0),
        system_ns: stat.system_ns(tick_ns).unwrap_or(0),
        minor_faults: stat.minor_faults().unwrap_or(0),
        major_faults: stat.major_faults().unwrap_or(0),
        voluntary_switches: line("voluntary_ctxt_switches"),
        involuntary_switches: line("nonvoluntary_ctxt_switches"),
    };
    Some(TaskAccount { process, process_name: String::new(), used, peak_rss_kib: line("VmHWM") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_in_any_order() {
        let parents = [(5, 4), (4, 2), (3, 1), (2, 1), (9, 7)];
        assert_eq!(descendants(2, &parents), [2, 4, 5]);
        assert_eq!(descendants(8, &parents), [8]);
    }

    #[test]
    fn a_proc_of_an_outer_namespace_is_known_by_its_two_numbers() {
        assert!(shows_other_numbers("Name:\ta\nNSpid:\t812\t4\n"));
        assert!(!shows_other_numbers("Name:\ta\nNSpid:\t4\n") && !shows_other_numbers("Name:\ta\n"));
    }

    #[test]
    fn names_with_parentheses_do_not_shift_fields() {
        let stat = "7 (a) b) R 1 2 3 4 5 6 11 12 13 14 15 16 17 18";
        let status = "Name:\ta\nVmHWM:\t  44 kB\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
        let account = parse(7, stat, status, "123 4 5\n", 10).unwrap();
        let used = account.used;
        assert_eq!((used.ran_ns, used.user_ns, used.system_ns), (123, 150, 160));
        assert_eq!((used.minor_faults, used.major_faults), (11, 13));
        assert_eq!((used.voluntary_switches, used.involuntary_switches, account.peak_rss_kib), (5, 6, 44));
    }

    #[test]
    fn this_process_is_in_its_own_tree() {
        let this = std::process::id();
        let accounts = accounts(this);
        assert!(accounts.values().all(|account| account.process >= 1) && accounts.contains_key(&this));
    }
}
