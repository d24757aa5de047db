//! The kernel's accounting of the tree: from the programs for tasks that ended, from /proc for those that still run.
//! Pure.
//!
//! User and system time come from the kernel's own fields, which count clock ticks on most kernels. The programs know
//! to the nanosecond how long each task was on a CPU: per process name, that time is split in the ratio of the ticks,
//! as the kernel does in getrusage for each process. A name without a tick gets no split, because none would be
//! justified.

use super::decode::process_name;
use crate::kernel::bpf::Raw;
use crate::kernel::tree::TaskAccounts;
use crate::kernel::usage::Used;
use crate::model::Usage;
use crate::trace::Collected;
use std::collections::{BTreeMap, BTreeSet};

/// Fills in `usage` and the times of the groups. `alive` is the accounting of the tasks that still run, `before` of
/// those that ran before tracing began.
pub fn fill(raw: &Raw, alive: &TaskAccounts, before: &TaskAccounts, into: &mut Collected) {
    let by_name = by_name(raw, alive, before);
    for group in &mut into.groups {
        let times = by_name.get(&group.name).and_then(split);
        (group.user_ns, group.system_ns) = (times.map(|(user, _)| user), times.map(|(_, system)| system));
    }
    into.usage = totals(raw, alive, before, &by_name);
    let missing = raw.globals.live.saturating_sub_unsigned(alive.len() as u64);
    if missing > 0 {
        into.warnings
            .push(format!("{missing} orphaned tasks are still running: their CPU time and faults are not included"));
    }
}

fn by_name(raw: &Raw, alive: &TaskAccounts, before: &TaskAccounts) -> BTreeMap<String, Used> {
    let mut by_name: BTreeMap<String, Used> = BTreeMap::new();
    for (number, used) in &raw.usage {
        by_name.entry(process_name(&raw.groups, *number)).or_default().add(used, 1.0);
    }
    for (task, account) in alive {
        let earlier = before.get(task).map(|account| account.used).unwrap_or_default();
        by_name.entry(account.process_name.clone()).or_default().add(&account.used.since(&earlier), 1.0);
    }
    by_name
}

fn totals(raw: &Raw, alive: &TaskAccounts, before: &TaskAccounts, by_name: &BTreeMap<String, Used>) -> Usage {
    let mut sum = Used::default();
    by_name.values().for_each(|used| sum.add(used, 1.0));
    let times = split(&sum);
    let peak = alive.values().map(|account| account.peak_rss_kib).max().unwrap_or(0);
    let peak = peak.max(raw.peak_pages * page_kib());
    let first: BTreeSet<u32> = before.values().map(|account| account.process).collect();
    // `before` does not hold the root of a held tree.
    let processes = first.len().max(1) as u64;
    Usage {
        user_ns: times.map(|(user, _)| user),
        system_ns: times.map(|(_, system)| system),
        peak_rss_kib: (peak > 0).then_some(peak),
        processes: Some(raw.globals.processes + processes),
        threads: Some(raw.globals.threads + (before.len() - first.len()) as u64),
        ..sum.into()
    }
}

/// Time on CPUs, split into user and system time in the ratio of the ticks.
fn split(used: &Used) -> Option<(u64, u64)> {
    let ticks = used.user_ns.checked_add(used.system_ns).filter(|ticks| *ticks > 0)?;
    let system = u128::from(used.ran_ns) * u128::from(used.system_ns) / u128::from(ticks);
    let system = u64::try_from(system).ok()?;
    Some((used.ran_ns - system, system))
}

fn page_kib() -> u64 {
    let bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096);
    u64::try_from(bytes).unwrap_or(4096) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bpf::{Globals, Group};
    use crate::kernel::tree::TaskAccount;
    use crate::model::ProcessGroup;

    #[test]
    fn time_is_split_in_the_ratio_of_the_ticks() {
        let sums = Used { user_ns: 4_000_000, system_ns: 12_000_000, ran_ns: 10_000_001, ..Used::default() };
        assert_eq!(split(&sums), Some((2_500_001, 7_500_000)));
        assert_eq!(split(&Used { ran_ns: 5, ..Used::default() }), None);
    }

    #[test]
    fn ended_and_running_tasks_are_added() {
        let globals = Globals { live: 3, processes: 2, threads: 1, ..Globals::default() };
        let used =
            Used { user_ns: 8, system_ns: 8, minor_faults: 10, voluntary_switches: 5, ran_ns: 100, ..Used::default() };
        let raw = Raw {
            groups: BTreeMap::from([(4097, Group { name: "sh".to_string(), id: 0 })]),
            usage: vec![(4097, used)],
            peak_pages: 10,
            globals,
            ..Raw::default()
        };
        let account = |ran_ns, minor_faults| {
            let used = Used { ran_ns, minor_faults, ..Used::default() };
            TaskAccount { process: 9, process_name: "sh".into(), used, peak_rss_kib: 0 }
        };
        let (before, running) = (account(20, 1), account(50, 7));
        let sh = ProcessGroup { name: "sh".into(), ..ProcessGroup::default() };
        let mut into = Collected { groups: vec![sh], ..Collected::default() };
        fill(&raw, &TaskAccounts::from([(9, running)]), &TaskAccounts::from([(9, before)]), &mut into);
        assert_eq!((into.groups[0].user_ns, into.groups[0].system_ns), (Some(65), Some(65)));
        assert_eq!((into.usage.minor_faults, into.usage.voluntary_switches), (Some(16), Some(5)));
        assert_eq!((into.usage.processes, into.usage.threads), (Some(3), Some(1)));
        assert_eq!(into.usage.peak_rss_kib, Some(10 * page_kib()));
        assert!(into.warnings[0].starts_with("2 orphaned tasks"));
    }
}
