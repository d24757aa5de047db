//! Where the wall time of a traced workload went: parts that add up to it, as far as the tracer knows. Pure; the pages of
//! profiles draw them as one bar.

use crate::model::{By, CALL_RETURN, CallCount, Concurrency, Outside, Profile, USER_MODE};
use crate::prose::some;
use crate::report::figure::{Chart, Figure, Share, ShareKind, Shares};

/// The parts of a whole of some nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// What the whole is: `wall time`.
    pub whole: &'static str,
    pub whole_ns: f64,
    parts: Vec<(ShareKind, String, f64)>,
}

/// CPU time by mode is made by ticks in many kernels: with less than 50 of the longest ones it says nothing.
const LEAST_BY_TICKS_NS: u64 = 500_000_000;

/// Woken or preempted, and not on a CPU yet. Narrow tables and fields have the word in parentheses.
pub const RUNNABLE: &str = "waiting for a CPU (runnable)";

/// Calls that have a part of blocked time of their own.
const MOST_CALLS: usize = 5;

/// Parts smaller than this are not worth a line.
const LEAST: f64 = 1e-6;

/// The parts of the wall time where the threads' states are known, or where one thread did everything; else those of the CPU
/// time. `None` if not even that is known.
pub fn parts(profile: &Profile) -> Option<Parts> {
    let all = profile.all_calls();
    let concurrency = profile.usage.concurrency.as_ref().map(|states| of_states(profile, &all, states));
    let mut parts = concurrency.or_else(|| of_one_thread(profile, &all)).or_else(|| of_cpu_time(profile, &all))?;
    let known: f64 = parts.parts.iter().map(|(.., ns)| ns).sum();
    parts.whole_ns = parts.whole_ns.max(known);
    let rest = parts.whole_ns - known;
    parts.parts.push((ShareKind::Unknown, "not known".to_string(), rest));
    let whole = parts.whole_ns;
    parts.parts.retain(|(kind, _, ns)| *ns > if *kind == ShareKind::Unknown { 0.001 } else { LEAST } * whole);
    Some(parts).filter(|parts| parts.whole_ns > 0.0 && !parts.parts.is_empty())
}

fn of_states(profile: &Profile, all: &CallCount, states: &Concurrency) -> Parts {
    let wall_on_cpu: f64 = states.on_cpu_ns.iter().map(|ns| *ns as f64).sum();
    let cpu: f64 = (1..).zip(&states.on_cpu_ns).map(|(threads, ns)| f64::from(threads) * *ns as f64).sum();
    let mut parts = on_cpu(profile, all, cpu);
    // Threads that run at the same time share the wall time.
    let shrunk = if cpu > 0.0 { wall_on_cpu / cpu } else { 0.0 };
    parts.iter_mut().for_each(|(.., ns)| *ns *= shrunk);
    parts.push((ShareKind::Waiting, RUNNABLE.to_string(), states.waiting_ns as f64));
    parts.extend(blocked(profile, states.blocked_ns as f64, |count| count.stalled_ns));
    let known = wall_on_cpu + states.waiting_ns as f64 + states.blocked_ns as f64;
    Parts { whole: "wall time", whole_ns: profile.usage.wall_ns.map_or(known, |wall| wall as f64), parts }
}

/// Of one thread the parts are exact without knowing its states.
fn of_one_thread(profile: &Profile, all: &CallCount) -> Option<Parts> {
    let usage = &profile.usage;
    let alone = usage.processes == Some(1) && usage.threads == Some(0);
    let (wall, blocked_ns) = (usage.wall_ns.filter(|_| alone)? as f64, all.blocked_ns? as f64);
    let runnable = all.runnable_ns.unwrap_or(0) as f64;
    let on_cpu = on_cpu(profile, all, wall - blocked_ns - runnable);
    all.on_cpu_ns?;
    let mut parts: Vec<_> = on_cpu;
    parts.push((ShareKind::Waiting, format!("{RUNNABLE} in calls"), runnable));
    parts.extend(blocked(profile, blocked_ns, |count| count.blocked_ns));
    Some(Parts { whole: "wall time", whole_ns: wall, parts })
}

fn of_cpu_time(profile: &Profile, all: &CallCount) -> Option<Parts> {
    let cpu = profile.usage.user_ns?.saturating_add(profile.usage.system_ns?);
    let parts = on_cpu(profile, all, cpu as f64);
    (cpu >= LEAST_BY_TICKS_NS).then_some(Parts { whole: "CPU time", whole_ns: cpu as f64, parts })
}

/// `cpu_ns` of CPU time: calls, and the rest by what the kernel's accounting says of modes, where that is more than ticks.
fn on_cpu(profile: &Profile, all: &CallCount, cpu_ns: f64) -> Vec<(ShareKind, String, f64)> {
    if profile.samples().is_some() {
        return by_samples(profile, all, cpu_ns);
    }
    let Some(calls) = all.on_cpu_ns.map(|ns| (ns as f64).min(cpu_ns.max(0.0))) else {
        return vec![(ShareKind::User, "on a CPU".to_string(), cpu_ns)];
    };
    if let Some(outside) = &profile.usage.outside {
        return by_mode(profile, outside, cpu_ns);
    }
    let rest = (cpu_ns - calls).max(0.0);
    let in_calls = (ShareKind::Calls, "on a CPU in system calls".to_string(), calls);
    let modes = profile.usage.user_ns.zip(profile.usage.system_ns);
    match modes.filter(|(user, system)| user.saturating_add(*system) >= LEAST_BY_TICKS_NS) {
        Some((user, system)) => {
            let other = (system as f64 - calls).max(0.0);
            let share = other / (other + user as f64).max(1.0);
            let kernel = "on a CPU in the kernel outside of calls (page faults, interrupts, the tracer)";
            vec![
                (ShareKind::User, "on a CPU in user mode".to_string(), rest * (1.0 - share)),
                in_calls,
                (ShareKind::Kernel, kernel.to_string(), rest * share),
            ]
        }
        None => {
            vec![(ShareKind::User, "on a CPU outside of calls (user mode, page faults)".to_string(), rest), in_calls]
        }
    }
}

/// `cpu_ns` of CPU time, of which samples tell what was outside of calls.
fn by_mode(profile: &Profile, outside: &Outside, cpu_ns: f64) -> Vec<(ShareKind, String, f64)> {
    let rest = outside.interrupts_ns + outside.kernel_ns;
    let parts = [
        (ShareKind::User, "on a CPU in user mode", outside.user_ns),
        (ShareKind::Calls, "on a CPU in system calls", profile.all_calls().on_cpu_ns.unwrap_or(0)),
        (ShareKind::Kernel, "on a CPU in page faults", outside.page_faults_ns),
        (ShareKind::Kernel, "on a CPU in interrupts and elsewhere in the kernel", rest),
        (ShareKind::Kernel, "on a CPU in the tracer", profile.tracer.added_total_ns.unwrap_or(0)),
    ];
    let all: u64 = parts.iter().map(|(.., ns)| ns).sum();
    let scale = cpu_ns / all.max(1) as f64;
    parts.map(|(kind, label, ns)| (kind, label.to_string(), ns as f64 * scale)).to_vec()
}

/// `cpu_ns` of CPU time divided as the samples are.
fn by_samples(profile: &Profile, all: &CallCount, cpu_ns: f64) -> Vec<(ShareKind, String, f64)> {
    let each = cpu_ns / all.samples.unwrap_or(0).max(1) as f64;
    let mut parts = [
        (ShareKind::User, "on a CPU in user mode".to_string(), 0.0),
        (ShareKind::Calls, "on a CPU in system calls".to_string(), 0.0),
        (ShareKind::Kernel, "on a CPU in the kernel outside of calls (page faults, interrupts)".to_string(), 0.0),
    ];
    for count in profile.groups.iter().flat_map(|group| &group.calls) {
        let part = match count.call.as_str() {
            USER_MODE => 0,
            name if name.starts_with('[') && name != CALL_RETURN => 2,
            _ => 1,
        };
        parts[part].2 += each * count.samples.unwrap_or(0) as f64;
    }
    parts.to_vec()
}

/// `whole` nanoseconds of blocked time, by the calls that wait the longest.
fn blocked(profile: &Profile, whole: f64, time: fn(&CallCount) -> Option<u64>) -> Vec<(ShareKind, String, f64)> {
    let mut calls: Vec<(String, f64)> = profile
        .totals(By::Call)
        .into_iter()
        .filter_map(|total| Some((total.count.call.clone(), time(&total.count)? as f64)))
        .filter(|(_, ns)| *ns > 0.005 * whole)
        .collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1));
    calls.truncate(MOST_CALLS);
    let named: f64 = calls.iter().map(|(_, ns)| ns).sum();
    let rest = (whole - named).max(0.0);
    let others = if calls.is_empty() {
        "blocked in calls, or outside of calls"
    } else {
        "blocked in other calls, or outside of calls"
    };
    let parts = calls.into_iter().map(|(call, ns)| (ShareKind::Blocked, format!("blocked in {call}"), ns));
    parts.chain([(ShareKind::Blocked, others.to_string(), rest)]).collect()
}

impl Parts {
    /// The parts as one bar.
    pub fn figure(&self) -> Figure {
        let share = |(kind, label, ns): &(ShareKind, String, f64)| {
            let share = ns / self.whole_ns;
            let words = format!("{} s, {:.1}%", seconds(*ns), 100.0 * share);
            Share { kind: *kind, label: label.clone(), words, share }
        };
        let parts: Vec<Share> = self.parts.iter().map(share).collect();
        let words: Vec<String> = parts.iter().map(|part| format!("{} {}", part.label, part.words)).collect();
        Figure {
            title: format!("Where {} s of {} went", seconds(self.whole_ns), self.whole),
            description: format!("One bar of {}: {}.", self.whole, some(&words, words.len())),
            chart: Chart::Shares(Shares { parts }),
        }
    }
}

fn seconds(ns: f64) -> String {
    let s = ns / 1e9;
    if s < 1.0 { format!("{s:.4}") } else { format!("{s:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ProcessGroup, Usage};

    fn call(name: &str, on_cpu: u64, blocked: u64, stalled: Option<u64>) -> CallCount {
        CallCount {
            call: name.into(),
            calls: 1,
            on_cpu_ns: Some(on_cpu),
            blocked_ns: Some(blocked),
            stalled_ns: stalled,
            ..CallCount::default()
        }
    }

    fn profile(calls: Vec<CallCount>, usage: Usage) -> Profile {
        Profile { groups: vec![ProcessGroup { calls, ..ProcessGroup::default() }], usage, ..Profile::default() }
    }

    fn found(parts: &Parts) -> Vec<(&str, f64)> {
        parts.parts.iter().map(|(_, label, ns)| (label.as_str(), *ns)).collect()
    }

    #[test]
    fn the_parts_of_one_thread_add_up_to_its_wall_time() {
        let usage = Usage { wall_ns: Some(1000), processes: Some(1), threads: Some(0), ..Usage::default() };
        let of = parts(&profile(vec![call("read", 100, 600, None), call("fsync", 50, 50, None)], usage)).unwrap();
        assert_eq!(
            found(&of),
            [
                ("on a CPU outside of calls (user mode, page faults)", 200.0),
                ("on a CPU in system calls", 150.0),
                ("blocked in read", 600.0),
                ("blocked in fsync", 50.0),
            ]
        );
    }

    #[test]
    fn samples_divide_the_time_on_a_cpu() {
        let samples = |name, samples| CallCount { samples: Some(samples), ..call(name, 100 * samples, 0, None) };
        let calls =
            vec![samples(USER_MODE, 2), samples("read", 4), samples(CALL_RETURN, 1), samples("[page fault]", 1)];
        let usage = Usage { wall_ns: Some(800), processes: Some(1), threads: Some(0), ..Usage::default() };
        let mut sampled = profile(calls, usage);
        sampled.tracer.sampled_hz = Some(499);
        let shares: Vec<f64> = found(&parts(&sampled).unwrap()).iter().map(|(_, ns)| *ns).collect();
        assert_eq!(shares, [200.0, 500.0, 100.0]);
    }

    #[test]
    fn samples_beside_counts_divide_the_time_outside_of_calls() {
        let outside =
            Outside { user_ns: 100, page_faults_ns: 500, interrupts_ns: 20, kernel_ns: 30, ..Outside::default() };
        let usage = Usage {
            wall_ns: Some(1000),
            processes: Some(1),
            threads: Some(0),
            outside: Some(outside),
            ..Usage::default()
        };
        let mut of = profile(vec![call("read", 150, 100, None)], usage);
        of.tracer.added_total_ns = Some(100);
        let expected = [
            ("user mode", 100.0),
            ("system calls", 150.0),
            ("page faults", 500.0),
            ("interrupts and elsewhere in the kernel", 50.0),
            ("the tracer", 100.0),
        ];
        let of = parts(&of).unwrap();
        let on_cpu: Vec<_> =
            found(&of).into_iter().filter_map(|(label, ns)| Some((label.strip_prefix("on a CPU in ")?, ns))).collect();
        assert_eq!(on_cpu, expected);
    }

    #[test]
    fn threads_that_run_together_share_the_wall_time() {
        // 400 ns with one thread on a CPU, 200 with two: 800 of CPU time in 600 of wall time.
        let states = Concurrency { on_cpu_ns: vec![400, 200], waiting_ns: 100, blocked_ns: 300 };
        let usage = Usage { wall_ns: Some(1010), concurrency: Some(states), ..Usage::default() };
        let of = parts(&profile(vec![call("read", 200, 9000, Some(250))], usage)).unwrap();
        assert_eq!(
            found(&of),
            [
                ("on a CPU outside of calls (user mode, page faults)", 450.0),
                ("on a CPU in system calls", 150.0),
                ("waiting for a CPU (runnable)", 100.0),
                ("blocked in read", 250.0),
                ("blocked in other calls, or outside of calls", 50.0),
                ("not known", 10.0),
            ]
        );
    }

    #[test]
    fn several_threads_of_unknown_states_have_parts_of_cpu_time_only() {
        let usage = Usage { wall_ns: Some(9), processes: Some(4), threads: Some(0), ..Usage::default() };
        assert_eq!(parts(&profile(vec![call("read", 1, 1, None)], usage.clone())), None);
        let modes = Usage { user_ns: Some(600_000_000), system_ns: Some(400_000_000), ..usage };
        let of = parts(&profile(vec![call("read", 100_000_000, 1, None)], modes)).unwrap();
        assert_eq!((of.whole, of.whole_ns.round()), ("CPU time", 1e9));
        assert_eq!(found(&of).iter().map(|(_, ns)| ns.round()).collect::<Vec<_>>(), [6e8, 1e8, 3e8]);
    }
}
