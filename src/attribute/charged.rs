//! The CPU time that the kernel charged the workload with, by mode. Pure; `breakdown` and `path` call it.
//!
//! Linux measures the CPU time of a thread exactly and divides it into user and system time by what ticks found, 100 to 1000 a
//! second (kernel/sched/cputime.c, cputime_adjust). A process that no tick hit counts as user time. So a short program's split is
//! a matter of luck, and a tree of short ones leans towards user time.

use super::seconds::s;
use crate::model::Profile;

/// A usual tick (CONFIG_HZ=250); profiles do not say which the kernel has.
const TICK_S: f64 = 0.004;

/// With fewer ticks the split is unknown.
pub const FEWEST_TICKS: f64 = 50.0;

/// With fewer ticks a process, those that no tick hit make it lean towards user time.
const FEWEST_A_PROCESS: f64 = 4.0;

/// The share of the CPU time that measurements may exceed it by.
const CONTRADICTION: f64 = 0.01;

/// CPU time of the whole tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charged {
    /// User and system time together, in seconds, at least what is known to be system time.
    pub cpu_s: f64,
    /// What is known to be system time: that of the calls, and the tracer's.
    pub known_system_s: f64,
    /// The split; `None` where it is unknown.
    pub user_s: Option<f64>,
}

impl Charged {
    /// `None` if user or system time is not in the profile.
    pub fn from_profile(profile: &Profile) -> Option<Charged> {
        let (user, system) = (s(profile.usage.user_ns?), s(profile.usage.system_ns?));
        let known_system_s = profile.all_calls().on_cpu_ns.map_or(0.0, s) + tracing_s(profile);
        let cpu_s = (user + system).max(known_system_s);
        let user = user.min(cpu_s - known_system_s);
        let processes = profile.usage.processes.unwrap_or(1).max(1) as f64;
        let told = cpu_s >= TICK_S * FEWEST_TICKS.max(FEWEST_A_PROCESS * processes);
        Some(Charged { cpu_s, known_system_s, user_s: told.then_some(user) })
    }
}

/// Where calls and the stated overhead of tracing exceed the CPU time, the overhead is too high, and what else ran is not known.
pub fn contradiction(profile: &Profile) -> Option<String> {
    let (usage, tracing) = (&profile.usage, tracing_s(profile));
    let cpu = s(usage.user_ns?.saturating_add(usage.system_ns?));
    let beyond = profile.all_calls().on_cpu_ns.map_or(0.0, s) + tracing - cpu;
    (tracing > 0.0 && beyond > CONTRADICTION * cpu).then(|| {
        format!(
            "tracing is overstated by at least {beyond:.3} s: with it the calls exceed the CPU time, so user mode and page faults are \
             not known"
        )
    })
}

/// Seconds of the workload's own system time that the tracer took.
pub fn tracing_s(profile: &Profile) -> f64 {
    if profile.tracer.adds_system_time != Some(true) {
        return 0.0;
    }
    let facts = &profile.tracer;
    let by_calls = || Some(facts.added_per_call_ns? * profile.all_calls().calls as f64);
    facts.added_total_ns.map(|ns| ns as f64).or_else(by_calls).unwrap_or(0.0).max(0.0) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CallCount, ProcessGroup, TracerFacts, Usage};

    fn charged(user_ns: u64, system_ns: u64, calls_ns: u64, processes: u64) -> Charged {
        let usage = Usage {
            user_ns: Some(user_ns),
            system_ns: Some(system_ns),
            processes: Some(processes),
            ..Usage::default()
        };
        let read = CallCount { call: "read".into(), calls: 1, on_cpu_ns: Some(calls_ns), ..CallCount::default() };
        let groups = vec![ProcessGroup { calls: vec![read], ..ProcessGroup::default() }];
        Charged::from_profile(&Profile { usage, groups, ..Profile::default() }).unwrap()
    }

    #[test]
    fn a_few_ticks_split_nothing() {
        let short = charged(1_810_000, 0, 1_000_000, 1);
        assert_eq!(short.user_s, None);
        assert!((short.cpu_s - 0.00181).abs() < 1e-9, "{short:?}");
        assert_eq!(charged(1_000_000_000, 1_000_000_000, 0, 400).user_s, None, "5 ms a process");
    }

    #[test]
    fn overhead_that_leaves_less_than_nothing_is_a_contradiction() {
        let told = |added_total_ns| {
            let usage = Usage { user_ns: Some(0), system_ns: Some(2_000_000_000), ..Usage::default() };
            let tracer = TracerFacts { adds_system_time: Some(true), added_total_ns, ..TracerFacts::default() };
            contradiction(&Profile { usage, tracer, ..Profile::default() })
        };
        assert_eq!([told(None), told(Some(1_900_000_000))], [None, None]);
        assert!(told(Some(2_500_000_000)).is_some_and(|text| text.contains("by at least 0.500 s")));
    }

    #[test]
    fn calls_are_system_time_whatever_ticks_found() {
        let short_of = charged(1_000_000_000, 1_000_000_000, 1_500_000_000, 1);
        assert_eq!(short_of.user_s, Some(0.5));
        let beyond = charged(1_000_000_000, 1_000_000_000, 3_000_000_000, 1);
        assert_eq!((beyond.cpu_s, beyond.user_s), (3.0, Some(0.0)));
    }
}
