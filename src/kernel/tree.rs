//! A tree of processes as /proc shows it, and the kernel's accounting of its tasks. No `unsafe`.
//!
//! Not here: what has ended; a tracer knows that. Called by `trace::bpf`.

use super::proc_stat::{self, ProcStat};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What one task used so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The process it belongs to.
    pub process: u32,
    pub process_name: String,
    /// Time on processors, exact.
    pub ran_ns: u64,
    /// By ticks of the clock.
    pub user_ns: u64,
    pub system_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Largest resident set of its process.
    pub peak_rss_kib: u64,
}

/// Accounts by task number.
pub type Accounts = BTreeMap<u32, Account>;

/// Whether /proc numbers processes as we do: it shows the PID namespace of whoever mounted it, which after unshare(1) or
/// in a badly made container is another one.
///
/// # Errors
/// What is wrong with it, and what to do.
pub fn check_numbers() -> Result<(), String> {
    const ADVICE: &str = "mount this one's, as 'mount -t proc proc /proc' or 'unshare --pid --fork --mount-proc' do";
    let status = fs::read_to_string("/proc/self/status").map_err(|_| format!("/proc does not show us: {ADVICE}"))?;
    if shows_other_numbers(&status) {
        return Err(format!("/proc shows another PID namespace: {ADVICE}"));
    }
    Ok(())
}

/// Our number in each namespace from that of /proc to our own: more than one where these are not the same. Kernels before
/// 4.1 do not tell.
fn shows_other_numbers(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() > 1)
}

/// `root` and its descendants that run now. Orphans that were left to another process are not among them.
pub fn processes(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = numbers("/proc").into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    descendants(root, &parents)
}

/// Accounts of all tasks of `root` and its descendants.
pub fn accounts(root: u32) -> Accounts {
    let mut accounts = Accounts::new();
    for process in processes(root) {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        for task in numbers(&format!("/proc/{process}/task")) {
            let account = account(process, task);
            accounts.extend(account.map(|a| (task, Account { process_name: name.trim_end().to_string(), ..a })));
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

fn account(process: u32, task: u32) -> Option<Account> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/task/{task}/{file}")).ok();
    let schedstat = read("schedstat").unwrap_or_default();
    parse(process, &read("stat")?, &read("status")?, &schedstat, proc_stat::tick_ns())
}

/// From stat, status and schedstat.
#[doc(hidden)]
pub fn parse(process: u32, stat: &str, status: &str, schedstat: &str, tick_ns: u64) -> Option<Account> {
    let stat = ProcStat::parse(stat)?;
    let line = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    Some(Account {
        process,
        process_name: String::new(),
        ran_ns: schedstat.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0),
        user_ns: stat.user_ns(tick_ns).unwrap_or(0),
        system_ns: stat.system_ns(tick_ns).unwrap_or(0),
        minor_faults: stat.minor_faults().unwrap_or(0),
        major_faults: stat.major_faults().unwrap_or(0),
        voluntary_switches: line("voluntary_ctxt_switches"),
        involuntary_switches: line("nonvoluntary_ctxt_switches"),
        peak_rss_kib: line("VmHWM"),
    })
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
        let expected = Account {
            process: 7,
            process_name: String::new(),
            ran_ns: 123,
            user_ns: 150,
            system_ns: 160,
            minor_faults: 11,
            major_faults: 13,
            voluntary_switches: 5,
            involuntary_switches: 6,
            peak_rss_kib: 44,
        };
        assert_eq!(account, expected);
    }

    #[test]
    fn this_process_is_in_its_own_tree() {
        let this = std::process::id();
        let accounts = accounts(this);
        assert!(accounts.values().all(|account| account.process >= 1) && accounts.contains_key(&this));
    }
}
