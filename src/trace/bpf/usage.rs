//! The kernel's accounting of the tree: of tasks that ended from the programs, of those that run from /proc. Pure.
//!
//! User and system time come from the kernel's own fields, which count ticks of the clock on most kernels. The programs
//! know how long each task stood on a processor to the nanosecond: per process name, that time is divided as the ticks
//! are, as the kernel does for getrusage of each process. A name without a tick has no division, and none is made up.

use super::decode::process_name;
use crate::kernel::bpf::{Raw, Used};
use crate::kernel::tree::{Account, Accounts};
use crate::model::Usage;
use crate::trace::Collected;
use std::collections::{BTreeMap, BTreeSet};

/// Fills `usage` and the times of the groups.
pub fn fill(raw: &Raw, alive: &Accounts, before: &Accounts, into: &mut Collected) {
    let by_name = by_name(raw, alive, before);
    for group in &mut into.groups {
        let split = by_name.get(&group.name).and_then(Used::split);
        (group.user_ns, group.system_ns) = (split.map(|(user, _)| user), split.map(|(_, system)| system));
    }
    into.usage = totals(raw, alive, before, &by_name);
    let live = raw.globals.live.cast_signed();
    let missing = live.saturating_sub_unsigned(alive.len() as u64);
    if missing > 0 {
        into.warnings
            .push(format!("{missing} tasks still ran as orphans: their CPU time and faults are not in the sums"));
    }
}

fn by_name(raw: &Raw, alive: &Accounts, before: &Accounts) -> BTreeMap<String, Used> {
    let mut by_name: BTreeMap<String, Used> = BTreeMap::new();
    for (number, used) in &raw.usage {
        by_name.entry(process_name(&raw.names, *number)).or_default().add(used);
    }
    for (task, account) in alive {
        let used = Used::since(account, before.get(task));
        by_name.entry(account.process_name.clone()).or_default().add(&used);
    }
    by_name
}

fn totals(raw: &Raw, alive: &Accounts, before: &Accounts, by_name: &BTreeMap<String, Used>) -> Usage {
    let mut sum = Used::default();
    by_name.values().for_each(|used| sum.add(used));
    let split = sum.split();
    let peak = alive.values().map(|account| account.peak_rss_kib).max().unwrap_or(0);
    let peak = peak.max(raw.peak_pages * page_kib());
    let first: BTreeSet<u32> = before.values().map(|account| account.process).collect();
    // The root of a held tree is not among those that were there before.
    let processes = first.len().max(1) as u64;
    Usage {
        user_ns: split.map(|(user, _)| user),
        system_ns: split.map(|(_, system)| system),
        peak_rss_kib: (peak > 0).then_some(peak),
        minor_faults: Some(sum.minor),
        major_faults: Some(sum.major),
        voluntary_switches: Some(sum.voluntary),
        involuntary_switches: Some(sum.involuntary),
        processes: Some(raw.globals.processes + processes),
        threads: Some(raw.globals.threads + (before.len() - first.len()) as u64),
        ..Usage::default()
    }
}

impl Used {
    /// What a running task used since `before`.
    fn since(now: &Account, before: Option<&Account>) -> Used {
        let none = Account::default();
        let then = before.unwrap_or(&none);
        Used {
            user_ns: now.user_ns.saturating_sub(then.user_ns),
            system_ns: now.system_ns.saturating_sub(then.system_ns),
            minor: now.minor_faults.saturating_sub(then.minor_faults),
            major: now.major_faults.saturating_sub(then.major_faults),
            voluntary: now.voluntary_switches.saturating_sub(then.voluntary_switches),
            involuntary: now.involuntary_switches.saturating_sub(then.involuntary_switches),
            ran_ns: now.ran_ns.saturating_sub(then.ran_ns),
        }
    }

    fn add(&mut self, other: &Used) {
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.minor += other.minor;
        self.major += other.major;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.ran_ns += other.ran_ns;
    }

    /// Time on processors, divided as the ticks are: user and system.
    fn split(&self) -> Option<(u64, u64)> {
        let ticks = self.user_ns.checked_add(self.system_ns).filter(|ticks| *ticks > 0)?;
        let system = u128::from(self.ran_ns) * u128::from(self.system_ns) / u128::from(ticks);
        let system = u64::try_from(system).ok()?;
        Some((self.ran_ns - system, system))
    }
}

fn page_kib() -> u64 {
    let bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096);
    u64::try_from(bytes).unwrap_or(4096) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bpf::Globals;
    use crate::model::ProcessGroup;

    #[test]
    fn time_is_divided_as_the_ticks_are() {
        let sums = Used { user_ns: 4_000_000, system_ns: 12_000_000, ran_ns: 10_000_001, ..Used::default() };
        assert_eq!(sums.split(), Some((2_500_001, 7_500_000)));
        assert_eq!(Used { ran_ns: 5, ..Used::default() }.split(), None);
    }

    #[test]
    fn ended_and_running_tasks_are_added() {
        let globals = Globals { live: 3, processes: 2, threads: 1, ..Globals::default() };
        let used = Used { user_ns: 8, system_ns: 8, minor: 10, major: 1, voluntary: 5, involuntary: 2, ran_ns: 100 };
        let raw = Raw {
            names: BTreeMap::from([(4097, "sh".to_string())]),
            usage: vec![(4097, used)],
            peak_pages: 10,
            globals,
            ..Raw::default()
        };
        let running =
            Account { process: 9, process_name: "sh".into(), ran_ns: 50, minor_faults: 7, ..Account::default() };
        let before = Account { ran_ns: 20, minor_faults: 1, ..running.clone() };
        let sh = ProcessGroup { name: "sh".into(), ..ProcessGroup::default() };
        let mut into = Collected { groups: vec![sh], ..Collected::default() };
        fill(&raw, &Accounts::from([(9, running)]), &Accounts::from([(9, before)]), &mut into);
        assert_eq!((into.groups[0].user_ns, into.groups[0].system_ns), (Some(65), Some(65)));
        assert_eq!((into.usage.minor_faults, into.usage.voluntary_switches), (Some(16), Some(5)));
        assert_eq!((into.usage.processes, into.usage.threads), (Some(3), Some(1)));
        assert_eq!(into.usage.peak_rss_kib, Some(10 * page_kib()));
        assert!(into.warnings[0].starts_with("2 tasks still ran"));
    }
}
