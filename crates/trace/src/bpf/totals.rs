//! The kernel's accounting of tasks that ended and that still run, which the programs read. Pure.
//!
//! User and system time come from the kernel's own fields, which count clock ticks on most kernels. The programs know
//! to the nanosecond how long each task was on a CPU: per group of processes, that time is split in the ratio of the
//! ticks, as the kernel does in getrusage for each process. A group without a tick gets no split.

use crate::bpf::decode;
use crate::open_calls::time;
use model::{Concurrency, Profile, Usage};
use std::collections::BTreeMap;
use sys::bpf::Raw;
use sys::usage::Used;

/// The groups are in the order of `decode::numbers`. `peak_rss_kib` is that of processes that still run.
pub fn fill(raw: &Raw, peak_rss_kib: u64, into: &mut Profile) {
    let used = by_group(raw);
    // Groups are in the order of their numbers, and so is the set.
    for (group, number) in into.groups.iter_mut().zip(decode::numbers(raw)) {
        let times = used.get(&number).and_then(split);
        (group.user_ns, group.system_ns) =
            (times.map(|(user, _)| user), times.map(|(_, system)| system));
    }
    into.usage = totals(raw, peak_rss_kib, &used);
    decode::check(used.values().map(|used| used.ran_ns).sum(), into);
}

fn by_group(raw: &Raw) -> BTreeMap<u32, Used> {
    let mut sums: BTreeMap<u32, Used> = BTreeMap::new();
    for (number, used) in used(raw) {
        sums.entry(number).or_default().add(&used, 1.0);
    }
    sums
}

/// The usage of tasks that ended, and of those that still run, by number of group.
pub fn used(raw: &Raw) -> impl Iterator<Item = (u32, Used)> {
    let live = raw.live.iter().map(|task| (task.key.group, task.used));
    raw.usage.iter().copied().chain(live)
}

fn totals(raw: &Raw, peak_rss_kib: u64, used: &BTreeMap<u32, Used>) -> Usage {
    let mut sum = Used::default();
    used.values().for_each(|used| sum.add(used, 1.0));
    let times = split(&sum);
    let peak = peak_rss_kib.max(raw.peak_pages * page_kib());
    let concurrency = concurrency(raw);
    Usage {
        user_ns: times.map(|(user, _)| user),
        system_ns: times.map(|(_, system)| system),
        peak_rss_kib: (peak > 0).then_some(peak),
        processes: Some(raw.globals.processes),
        threads: Some(raw.globals.threads),
        peak_concurrency: concurrency.as_ref().map(|_| raw.globals.peak),
        concurrency,
        thread_time: Some(time(&sum)).filter(|time| time.all_ns() > 0),
        ..sum.into()
    }
}

/// How many tasks were on CPUs: the programs' sums until the last change, and the state since then.
fn concurrency(raw: &Raw) -> Option<Concurrency> {
    let globals = &raw.globals;
    let last = globals.on_cpu.iter().rposition(|ns| *ns > 0)?;
    let mut on_cpu_ns = globals.on_cpu[..=last].to_vec();
    let (mut waiting_ns, mut blocked_ns) = (globals.waiting, globals.blocked);
    if globals.live > 0 && globals.changed > 0 {
        // The programs add a state's time when it ends: the present state has lasted since the last change.
        let since = raw.now_ns.saturating_sub(globals.changed);
        // Two counters in one word, so that the programs change both at once: threads on a CPU, and threads waiting for one.
        match (globals.running as u32 as usize, globals.running >> 32) {
            (0, 0) => blocked_ns += since,
            (0, _) => waiting_ns += since,
            (running, _) if running <= on_cpu_ns.len() => on_cpu_ns[running - 1] += since,
            _ => {}
        }
    }
    Some(Concurrency {
        on_cpu_ns,
        waiting_ns,
        blocked_ns,
    })
}

fn split(used: &Used) -> Option<(u64, u64)> {
    // In 128 bits: nanoseconds of some days times nanoseconds of some days.
    let ticks = used.user_ns.checked_add(used.system_ns)?;
    let system = u128::from(used.ran_ns) * u128::from(used.system_ns);
    let system = u64::try_from(system.checked_div(ticks.into())?).ok()?;
    Some((used.ran_ns - system, system))
}

fn page_kib() -> u64 {
    let bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
        .ok()
        .flatten()
        .unwrap_or(4096);
    u64::try_from(bytes).unwrap_or(4096) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_split_in_the_ratio_of_the_ticks() {
        let sums = Used {
            user_ns: 4_000_000,
            system_ns: 12_000_000,
            ran_ns: 10_000_001,
            ..Used::default()
        };
        assert_eq!(split(&sums), Some((2_500_001, 7_500_000)));
        assert_eq!(
            split(&Used {
                ran_ns: 5,
                ..Used::default()
            }),
            None
        );
    }

    #[test]
    fn the_state_since_the_last_change_counts() {
        fn expected(on_cpu_ns: Vec<u64>, waiting_ns: u64, blocked_ns: u64) -> Option<Concurrency> {
            Some(Concurrency {
                on_cpu_ns,
                waiting_ns,
                blocked_ns,
            })
        }

        let mut raw = Raw {
            now_ns: 1_000,
            ..Raw::default()
        };
        raw.globals.on_cpu[1] = 30;
        (raw.globals.blocked, raw.globals.changed, raw.globals.live) = (5, 900, 1);
        assert_eq!(concurrency(&raw), expected(vec![0, 30], 0, 105));
        raw.globals.running = 1 | 2 << 32;
        assert_eq!(concurrency(&raw), expected(vec![100, 30], 0, 5));
        raw.globals.live = 0;
        assert_eq!(concurrency(&raw), expected(vec![0, 30], 0, 5));
    }
}
