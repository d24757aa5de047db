//! Where the time of a workload went: parts that add up to the wall time where it is known what that was, else to the CPU time.
//!
//! At each moment a workload is on a CPU, waits for one, or all its threads are blocked. That is known of any tree whose switches the
//! tracer saw, and of one thread. Threads that run at once share the wall time: each part of the CPU time has the same share of it.
//! Calls and the tracer are known by their own times; samples of the same execution divide the rest, or the kernel's accounting.

use super::seconds::s;
use super::stops;
use super::waits::Reason;
use crate::ticks::ticks_divide;
use model::{By, CALL_RETURN, CallCount, INTERRUPT, PAGE_FAULT, Profile, Throttled, USER_MODE};
use schemars::JsonSchema;
use serde::Serialize;
use stats::share_interval;
use std::collections::BTreeMap;

/// The time and its parts.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Spent {
    /// What the `wall_s` of the parts add up to; `None` where it is not known what the wall time was.
    pub wall_s: Option<f64>,
    /// The CPU time of all threads, what the `cpu_s` of the parts add up to; `None` where that is not known.
    pub cpu_s: Option<f64>,
    /// Wall time with one thread on a CPU, with two, and so on, the last: with that many or more. Empty where that is not known.
    pub on_cpus_s: Vec<f64>,
    /// Samples that the time outside calls was divided by.
    pub samples: Option<u64>,
    /// The greatest first.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    #[serde(flatten)]
    pub kind: PartKind,
    /// Its wall time; null where it has none of its own.
    pub wall_s: Option<f64>,
    /// Its CPU time.
    pub cpu_s: Option<f64>,
    /// Its calls or functions, those with most time first; of waiting for a CPU, the quota that was used up.
    pub what: Vec<String>,
}

/// What the workload did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartKind {
    UserMode,
    /// Between entry and return of system calls.
    Calls,
    /// Outside calls.
    PageFaults,
    Interrupts,
    /// The kernel outside calls, otherwise.
    Kernel,
    Tracer,
    /// Stops by ptrace, with the kernel's own time: that is less than what stops vary by, and not known.
    Stops,
    /// Page faults, interrupts and the like, which nobody sampled.
    OtherSystem,
    /// User mode and `OtherSystem`: the CPU time is too short for ticks to tell them apart.
    UserOrSystem,
    /// The kernel with its calls: nobody timed these on a CPU.
    AllSystem,
    /// User mode and `AllSystem`, where ticks do not tell them apart.
    All,
    /// Between calls, whether it ran or not: logs do not show that.
    OutsideCalls,
    /// No thread was on a CPU, and at least one could have run.
    WaitingForCpu,
    /// All threads were blocked, and a call for this reason was the first to go on.
    Blocked {
        reason: Reason,
    },
    /// All threads were blocked, and none in a call that is known.
    BlockedOutside,
    /// Of the wall time, what the tracer did not see.
    Rest,
}

/// Share of the wall time that makes no part, and no parallel program.
const LEAST: f64 = 0.0005;
const NOTHING: f64 = 1e-9;
/// Width of an interval that is shown in place of its middle.
const HARDLY_KNOWN: f64 = 0.5;

pub fn spent(profile: &Profile) -> Spent {
    let accounted_s = accounted_s(profile);
    let mut parts = on_cpu(profile, accounted_s);
    let cpu_s = accounted_s.map(|_| parts.iter().filter_map(|part| part.cpu_s).sum());
    let outside = profile.usage.outside.as_ref();
    let mut time_spent = Spent {
        cpu_s,
        samples: profile.samples().or(outside
            .map(|outside| outside.samples)
            .filter(|samples| *samples > 0)),
        ..Spent::default()
    };
    if let Some((on_cpus_s, off_cpu)) = wall(profile, cpu_s) {
        let on_cpu_s: f64 = on_cpus_s.iter().sum();
        let ran_s = cpu_s.filter(|cpu_s| *cpu_s > 0.0);
        let scale = ran_s.map_or(0.0, |ran_s| on_cpu_s / ran_s);
        for part in &mut parts {
            part.wall_s = part.cpu_s.map(|cpu_s| cpu_s * scale);
        }
        parts.extend(off_cpu);
        let known_s: f64 = parts.iter().filter_map(|part| part.wall_s).sum();
        let wall_s = profile.usage.wall_ns.map_or(0.0, s).max(known_s);
        parts.push(Part {
            wall_s: Some(wall_s - known_s),
            ..part(PartKind::Rest)
        });
        stops::charge(&mut parts, profile);
        parts.retain(|part| part.wall_s > Some(NOTHING * wall_s));
        (time_spent.wall_s, time_spent.on_cpus_s) = (Some(wall_s), on_cpus_s);
    }
    if let Some((wall_s, logged)) = logged(profile)
        && time_spent.whole_s().is_none()
    {
        (time_spent.wall_s, parts) = (Some(wall_s), logged);
    }
    parts.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    Spent {
        parts,
        ..time_spent
    }
}

fn part(kind: PartKind) -> Part {
    Part {
        kind,
        wall_s: None,
        cpu_s: None,
        what: Vec::new(),
    }
}

impl Part {
    pub fn seconds(&self) -> f64 {
        self.wall_s.or(self.cpu_s).unwrap_or(0.0)
    }
}

impl Spent {
    pub fn whole_s(&self) -> Option<f64> {
        self.wall_s.or(self.cpu_s)
    }

    /// Seconds without tracing. Where stops hide the kernel's time, it is taken as `bare_s`, the least that the calls take.
    pub fn untraced_s(&self, bare_s: f64) -> Option<f64> {
        let mut untraced_s = self.whole_s()?;
        for part in &self.parts {
            untraced_s -= match part.kind {
                PartKind::Tracer => part.seconds(),
                PartKind::Stops => (part.seconds() - bare_s).max(0.0),
                _ => 0.0,
            };
        }
        Some(untraced_s)
    }

    pub fn seconds_of(&self, kind: PartKind) -> f64 {
        let mut parts = self.parts.iter();
        parts
            .find(|part| part.kind == kind)
            .map_or(0.0, Part::seconds)
    }

    /// The ends of a part's 95% interval, in seconds, where samples show the part so roughly that its middle would mislead.
    pub fn sampled_s(&self, part: &Part) -> Option<[f64; 2]> {
        let sampled = self.parts.iter().filter(|part| is_sampled(part.kind));
        let sampled_s: f64 = sampled.map(Part::seconds).sum();
        let (samples, seconds) = (self.samples?, part.seconds());
        let own = (samples as f64 * seconds / sampled_s).round() as u64;
        let [low_s, high_s] = share_interval(own, samples).map(|share| share * sampled_s);
        if is_sampled(part.kind) && high_s - low_s > HARDLY_KNOWN * seconds {
            Some([low_s, high_s])
        } else {
            None
        }
    }

    pub fn parallel_s(&self) -> Option<f64> {
        let parallel_s = self.on_cpus_s.iter().skip(1).sum();
        self.wall_s
            .filter(|wall_s| parallel_s > LEAST * wall_s)
            .map(|_| parallel_s)
    }
}

fn is_sampled(kind: PartKind) -> bool {
    use PartKind::{Interrupts, Kernel, PageFaults, UserMode};
    matches!(kind, UserMode | PageFaults | Interrupts | Kernel)
}

/// At least that of the calls.
fn accounted_s(profile: &Profile) -> Option<f64> {
    let usage = &profile.usage;
    let charged = usage
        .user_ns
        .zip(usage.system_ns)
        .map(|(user, system)| s(user.saturating_add(system)));
    let cpu_s: f64 = charged.or_else(|| {
        let states = usage.concurrency.as_ref()?;
        let by_threads = (1..).zip(&states.on_cpu_ns);
        Some(
            by_threads
                .map(|(threads, ns)| f64::from(threads) * s(*ns))
                .sum(),
        )
    })?;
    Some(cpu_s.max(profile.all_calls().on_cpu_ns.map_or(0.0, s)))
}

fn on_cpu(profile: &Profile, accounted_s: Option<f64>) -> Vec<Part> {
    let mut parts = if profile.samples().is_some() {
        sampled(profile)
    } else {
        timed(profile, accounted_s)
    };
    parts.retain(|(_, seconds)| *seconds > 0.0);
    parts
        .into_iter()
        .map(|(kind, seconds)| Part {
            cpu_s: Some(seconds),
            what: what(profile, kind),
            ..part(kind)
        })
        .collect()
}

/// The wall time of a log, in which calls have one time for running and waiting. Those of several threads overlap.
fn logged(profile: &Profile) -> Option<(f64, Vec<Part>)> {
    let (all, usage) = (profile.all_calls(), &profile.usage);
    let wall_s = usage
        .wall_ns
        .filter(|ns| *ns > 0 && all.on_cpu_ns.is_none())
        .map(s)?;
    let parts = match all.elapsed_ns.map(s) {
        Some(calls_s) if usage.has_one_thread() => vec![
            (PartKind::Calls, calls_s),
            (PartKind::OutsideCalls, (wall_s - calls_s).max(0.0)),
        ],
        _ => vec![(PartKind::Rest, wall_s)],
    };
    let whole_s = parts.iter().map(|(_, seconds)| seconds).sum();
    Some((
        whole_s,
        parts
            .into_iter()
            .map(|(kind, seconds)| Part {
                wall_s: Some(seconds),
                what: what(profile, kind),
                ..part(kind)
            })
            .collect(),
    ))
}

fn what(profile: &Profile, kind: PartKind) -> Vec<String> {
    let usage = &profile.usage;
    match kind {
        PartKind::Calls => profile
            .totals(By::Call)
            .into_iter()
            .filter(|total| total.count.on_cpu_ns.or(total.count.elapsed_ns) > Some(0))
            .map(|total| total.count.call)
            .filter(|call| !call.starts_with('['))
            .collect(),
        PartKind::UserMode => {
            let outside = usage.outside.iter();
            let names = outside
                .flat_map(|outside| &outside.functions)
                .map(|function| &function.name);
            // Without symbols there are addresses only.
            names.filter(|name| !name.contains("0x")).cloned().collect()
        }
        PartKind::WaitingForCpu => usage.throttled.iter().map(Throttled::words).collect(),
        _ => Vec::new(),
    }
}

fn sampled(profile: &Profile) -> Vec<(PartKind, f64)> {
    let mut parts = [
        PartKind::UserMode,
        PartKind::Calls,
        PartKind::PageFaults,
        PartKind::Interrupts,
        PartKind::Kernel,
    ]
    .map(|kind| (kind, 0.0));
    for count in profile.calls() {
        let at = match count.call.as_str() {
            USER_MODE => 0,
            PAGE_FAULT => 2,
            INTERRUPT => 3,
            name if name.starts_with('[') && name != CALL_RETURN => 4,
            _ => 1,
        };
        parts[at].1 += count.on_cpu_ns.map_or(0.0, s);
    }
    parts.to_vec()
}

fn timed(profile: &Profile, accounted_s: Option<f64>) -> Vec<(PartKind, f64)> {
    let all = profile.all_calls();
    let on_cpu = all.on_cpu_ns.map(s);
    let calls_s = on_cpu.unwrap_or(0.0);
    let beside_s = accounted_s.map_or(f64::INFINITY, |cpu_s| cpu_s - calls_s);
    let outside = profile.usage.outside.as_ref();
    let tracer_s = if outside.is_some() {
        tracing_s(profile)
    } else {
        tracing_s(profile).min(beside_s)
    };
    let mut parts = vec![(PartKind::Calls, calls_s), (PartKind::Tracer, tracer_s)];
    if let Some(outside) = outside {
        let outside = [
            (PartKind::UserMode, outside.user_ns),
            (PartKind::PageFaults, outside.page_faults_ns),
            (PartKind::Interrupts, outside.interrupts_ns),
            (PartKind::Kernel, outside.kernel_ns),
        ]
        .map(|(kind, ns)| (kind, s(ns)));
        if all.untimed > 0 && accounted_s.is_some() {
            // Samples found the rest in calls.
            let outside_s: f64 = outside.iter().map(|(_, seconds)| seconds).sum();
            parts[0].1 += (beside_s - tracer_s - outside_s).max(0.0);
        }
        parts.extend(outside);
    } else if let Some(cpu_s) = accounted_s {
        let rest_s = beside_s - tracer_s;
        let is_priced = !profile.tracer.priced_by.is_empty();
        let (system, both) = if on_cpu.is_some() && (all.untimed == 0 || is_priced) {
            (PartKind::OtherSystem, PartKind::UserOrSystem)
        } else {
            (PartKind::AllSystem, PartKind::All)
        };
        match profile.usage.user_ns.map(|ns| s(ns).min(rest_s)) {
            Some(user_s) if ticks_divide(cpu_s, profile.usage.processes.unwrap_or(1)) => {
                parts.extend([(PartKind::UserMode, user_s), (system, rest_s - user_s)]);
            }
            _ => parts.push((both, rest_s)),
        }
    }
    parts
}

fn tracing_s(profile: &Profile) -> f64 {
    let facts = &profile.tracer;
    if facts.adds_system_time != Some(true) {
        return 0.0;
    }
    facts
        .added_total_ns
        .map(|ns| ns as f64)
        .or_else(|| Some(facts.added_per_call_ns? * profile.all_calls().calls as f64))
        .map_or(0.0, |ns| ns.max(0.0) / 1e9)
}

/// Seconds by the number of threads on a CPU, and the parts in which there was none.
fn wall(profile: &Profile, cpu_s: Option<f64>) -> Option<(Vec<f64>, Vec<Part>)> {
    let usage = &profile.usage;
    let wall_s = usage.wall_ns.filter(|ns| *ns > 0).map(s)?;
    let alone = profile.usage.has_one_thread();
    let mut off_cpu = blocked(profile, alone);
    let blocked_s: f64 = off_cpu.iter().filter_map(|part| part.wall_s).sum();
    let mut add = |kind, wall_s: f64| {
        off_cpu.push(Part {
            wall_s: Some(wall_s.max(0.0)),
            what: what(profile, kind),
            ..part(kind)
        })
    };
    if let Some(states) = usage.concurrency.as_ref()
        && cpu_s.is_some()
    {
        add(PartKind::WaitingForCpu, s(states.waiting_ns));
        add(PartKind::BlockedOutside, s(states.blocked_ns) - blocked_s);
        return Some((states.on_cpu_ns.iter().map(|ns| s(*ns)).collect(), off_cpu));
    }
    let waiting_ns = usage.waiting_ns.or(profile.all_calls().runnable_ns);
    let waiting_s = waiting_ns.map_or(0.0, s).min((wall_s - blocked_s).max(0.0));
    if !alone {
        return None;
    }
    add(PartKind::WaitingForCpu, waiting_s);
    let on_cpu_s = cpu_s?.min((wall_s - blocked_s - waiting_s).max(0.0));
    Some((vec![on_cpu_s], off_cpu))
}

/// Wall time in which no thread of the workload could run: all blocked time of one thread.
pub fn stalled_ns(count: &CallCount, alone: bool) -> Option<u64> {
    if alone {
        count.stalled_ns.or(count.blocked_ns)
    } else {
        count.stalled_ns
    }
}

fn blocked(profile: &Profile, alone: bool) -> Vec<Part> {
    let mut found: BTreeMap<Reason, BTreeMap<String, f64>> = BTreeMap::new();
    for total in profile.totals(By::Class) {
        let count = total.count;
        let Some(ns) = stalled_ns(&count, alone).filter(|ns| *ns > 0) else {
            continue;
        };
        let calls = found
            .entry(Reason::from_call(&count.call, &count.class))
            .or_default();
        *calls.entry(count.call).or_default() += s(ns);
    }
    found
        .into_iter()
        .map(|(reason, calls)| {
            let mut calls: Vec<(String, f64)> = calls.into_iter().collect();
            calls.sort_by(|a, b| b.1.total_cmp(&a.1));
            let wall_s = Some(calls.iter().map(|(_, seconds)| seconds).sum());
            Part {
                wall_s,
                what: calls.into_iter().map(|(call, _)| call).collect(),
                ..part(PartKind::Blocked { reason })
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use PartKind::*;
    use model::fixtures::{called, profile};
    use model::{Concurrency, Usage};

    fn call(name: &str, on_cpu_ns: u64, blocked_ns: u64, stalled_ns: Option<u64>) -> CallCount {
        CallCount {
            on_cpu_ns: Some(on_cpu_ns),
            blocked_ns: Some(blocked_ns),
            stalled_ns,
            ..called(name, 1)
        }
    }

    fn of(usage: Usage, calls: Vec<CallCount>) -> Profile {
        Profile {
            usage,
            ..profile(calls)
        }
    }

    fn one_thread(wall_ns: u64, user_ns: u64, system_ns: u64) -> Usage {
        Usage {
            wall_ns: Some(wall_ns),
            user_ns: Some(user_ns),
            system_ns: Some(system_ns),
            processes: Some(1),
            threads: Some(0),
            ..Usage::default()
        }
    }

    fn parts(profile: &Profile) -> Vec<(PartKind, f64)> {
        let time_spent = spent(profile);
        let sum: f64 = time_spent.parts.iter().map(Part::seconds).sum();
        let whole_s = time_spent.whole_s().unwrap_or(sum);
        assert!((sum / whole_s - 1.0).abs() < 0.01, "{time_spent:?}");
        time_spent
            .parts
            .iter()
            .map(|part| (part.kind, (part.seconds() * 1e9).round()))
            .collect()
    }

    const DISK: PartKind = Blocked {
        reason: Reason::Disk,
    };

    #[test]
    fn few_samples_give_a_range_and_many_a_value() {
        fn part(kind: PartKind, seconds: f64) -> Part {
            Part {
                kind,
                wall_s: Some(seconds),
                cpu_s: None,
                what: Vec::new(),
            }
        }

        let range = |samples: u64, kind: PartKind| {
            let time = Spent {
                samples: Some(samples),
                parts: vec![part(kind, 0.5), part(PartKind::PageFaults, 0.5)],
                ..Spent::default()
            };
            time.sampled_s(&time.parts[0])
        };
        let [low_s, high_s] = range(10, PartKind::UserMode).unwrap();
        assert!(0.2 < low_s && low_s < 0.5 && 0.5 < high_s && high_s < 0.8);
        assert_eq!(range(10_000, PartKind::UserMode), None);
        assert_eq!(range(10, PartKind::WaitingForCpu), None, "it is measured");
    }

    #[test]
    fn one_thread_is_known_by_the_accounting_and_its_calls() {
        fn calls() -> Vec<CallCount> {
            vec![call("read", 100, 600, None), call("fsync", 40, 50, None)]
        }

        let short = of(one_thread(1000, 200, 100), calls());
        let expected = [
            (
                Blocked {
                    reason: Reason::Other,
                },
                600.0,
            ),
            (UserOrSystem, 160.0),
            (Calls, 140.0),
            (DISK, 50.0),
            (Rest, 50.0),
        ];
        assert_eq!(parts(&short), expected);
        // No more is on a CPU than is left of the wall time.
        let full = parts(&of(one_thread(700, 200, 100), calls()));
        assert_eq!(full.iter().map(|(_, ns)| ns).sum::<f64>(), 700.0);
        let time_spent = spent(&short);
        assert!(time_spent.parts[2].what == ["read", "fsync"] && time_spent.parallel_s().is_none());
        assert_eq!(parts(&of(Usage::default(), calls())), [(Calls, 140.0)]);
    }

    #[test]
    fn ticks_divide_what_is_long_enough() {
        fn several(processes: u64) -> Usage {
            Usage {
                processes: Some(processes),
                ..one_thread(0, 1_200_000_000, 800_000_000)
            }
        }

        let of = |processes, ns| of(several(processes), vec![call("read", ns, 0, None)]);
        let expected = [(UserMode, 1.2e9), (Calls, 5e8), (OtherSystem, 3e8)];
        assert_eq!(parts(&of(2, 500_000_000)), expected);
        let expected = [(UserOrSystem, 1.5e9), (Calls, 5e8)];
        assert_eq!(parts(&of(400, 500_000_000)), expected);
        // Calls are system time whatever ticks found, and the tracer had no more than there was.
        let mut beyond = of(2, 1_900_000_000);
        beyond.tracer.adds_system_time = Some(true);
        beyond.tracer.added_total_ns = Some(600_000_000);
        assert_eq!(parts(&beyond), [(Calls, 1.9e9), (Tracer, 1e8)]);
    }

    /// 1,000 calls in 20 ms of wall time, 5 of them in user mode and 8 in the kernel.
    #[test]
    fn stops_are_taken_from_what_is_not_known_and_from_the_kernel() {
        fn stopped(added_ns: f64) -> Profile {
            let calls = vec![called("read", 1000)];
            let mut profile = of(one_thread(20_000_000, 5_000_000, 8_000_000), calls);
            profile.usage.processes = Some(1);
            profile.tracer.adds_system_time = Some(false);
            profile.tracer.added_per_call_ns = Some(added_ns);
            profile
        }

        fn long(mut profile: Profile) -> Profile {
            let usage = &mut profile.usage;
            for ns in [&mut usage.wall_ns, &mut usage.user_ns, &mut usage.system_ns] {
                *ns = ns.map(|ns| 100 * ns);
            }
            profile
        }

        let expected = [(All, 13e6), (Rest, 5e6), (Tracer, 2e6)];
        assert_eq!(parts(&stopped(2000.0)), expected);
        let mut actual = parts(&long(stopped(200_000.0)));
        actual.sort_by_key(|(kind, _)| format!("{kind:?}"));
        let expected = [
            (AllSystem, 8e8),
            (Rest, 5e8),
            (Tracer, 2e8),
            (UserMode, 5e8),
        ];
        assert_eq!(actual, expected);
        // Nothing is left that could be told from the stops.
        let hidden = long(stopped(500_000.0));
        assert_eq!(parts(&hidden), [(Stops, 1.5e9), (UserMode, 5e8)]);
        let actual = spent(&hidden);
        assert_eq!(
            (actual.parts[0].cpu_s, actual.untraced_s(0.0)),
            (Some(0.8), Some(0.5))
        );
    }

    #[test]
    fn threads_that_run_at_once_share_the_wall_time() {
        // 400 ns with one thread on a CPU, 200 with two: 800 of CPU time in 600 of wall time.
        let states = Concurrency {
            on_cpu_ns: vec![400, 200],
            waiting_ns: 100,
            blocked_ns: 300,
        };
        let usage = Usage {
            wall_ns: Some(1010),
            concurrency: Some(states),
            ..Usage::default()
        };
        let profile = of(usage, vec![call("fsync", 200, 9000, Some(250))]);
        let expected = [
            (UserOrSystem, 450.0),
            (DISK, 250.0),
            (Calls, 150.0),
            (WaitingForCpu, 100.0),
            (BlockedOutside, 50.0),
            (Rest, 10.0),
        ];
        assert_eq!(parts(&profile), expected);
        let time_spent = spent(&profile);
        let [cpu_s, parallel_s] = [time_spent.cpu_s, time_spent.parallel_s()].map(Option::unwrap);
        assert!((cpu_s - 8e-7).abs() < 1e-12 && (parallel_s - 2e-7).abs() < 1e-12);
    }
}
