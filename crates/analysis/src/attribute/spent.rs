//! The time of a workload in parts, which add up to the wall time if its parts are known, else to the CPU time.
//!
//! At each moment a workload is on a CPU, waits for one, or all its threads are blocked. That is known of any tree whose switches the
//! tracer saw, and of one thread. Threads that run at once share the wall time: each part of the CPU time has the same share of it.
//! Calls and the tracer are known by their own times; samples of the same execution divide the rest, or the kernel's accounting.

use super::blocked::reason;
use super::seconds::s;
use super::stops;
use super::waits::Reason;
use crate::ticks::ticks_divide;
use model::{
    By, CALL_RETURN, CallCount, INTERRUPT, PAGE_FAULT, Profile, Throttled, USER_MODE, WaitCount,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::share_interval;
use std::collections::BTreeMap;

/// The time and its parts.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Spent {
    /// The sum of the parts' `wall_s`; `None` if the wall time cannot be divided.
    pub wall_s: Option<f64>,
    /// The CPU time of all threads, the sum of the parts' `cpu_s`; `None` if that is not known.
    pub cpu_s: Option<f64>,
    /// The time of all calls, summed over threads: that of a table or log which has no other time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_s: Option<f64>,
    /// Wall time with one thread on a CPU, with two, and so on, the last: with that many or more. Empty if that is not known.
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
    /// Its wall time; null if it has none.
    pub wall_s: Option<f64>,
    /// Its CPU time.
    pub cpu_s: Option<f64>,
    /// Its calls or functions, those with most time first; of waiting for a CPU, the quota that was used up.
    pub what: Vec<String>,
}

/// The activity in a part of the time.
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
    /// User mode and `OtherSystem`: the CPU time is too short for ticks to distinguish them.
    UserOrSystem,
    /// The kernel with its calls: nobody timed these on a CPU.
    AllSystem,
    /// User mode and `AllSystem`, if ticks do not distinguish them.
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
    /// The part of the wall time that the tracer did not see.
    Rest,
}

/// Share of the wall time that makes no part, and no parallel program.
const LEAST: f64 = 0.0005;
const NOTHING: f64 = 1e-9;
// Chosen: a wider interval's middle would read like a measured value.
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
        parts.push(wall_part(profile, PartKind::Rest, wall_s - known_s));
        stops::charge(&mut parts, profile);
        parts.retain(|part| part.wall_s > Some(NOTHING * wall_s));
        (time_spent.wall_s, time_spent.on_cpus_s) = (Some(wall_s), on_cpus_s);
    }
    // Logs of strace have no CPU times; their elapsed times are divided instead.
    if let Some((wall_s, logged)) = logged(profile)
        && time_spent.whole_s().is_none()
    {
        (time_spent.wall_s, parts) = (Some(wall_s), logged);
    }
    if time_spent.whole_s().is_none() {
        time_spent.calls_s = profile.all_calls().elapsed_ns.map(s);
    }
    parts.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    Spent {
        parts,
        ..time_spent
    }
}

impl Part {
    pub fn seconds(&self) -> f64 {
        self.wall_s.or(self.cpu_s).unwrap_or(0.0)
    }
}

impl Spent {
    /// The sum of all parts in seconds: wall time, or CPU time if that is not known.
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

    /// The 95% interval in seconds, where samples show the part so roughly that its middle would mislead.
    pub fn sampled_s(&self, part: &Part) -> Option<[f64; 2]> {
        let sampled = self.parts.iter().filter(|part| is_sampled(part.kind));
        let sampled_s: f64 = sampled.map(Part::seconds).sum();
        let (samples, seconds) = (self.samples?, part.seconds());
        let part_samples = (samples as f64 * seconds / sampled_s).round() as u64;
        let [low_s, high_s] = share_interval(part_samples, samples).map(|share| share * sampled_s);
        if is_sampled(part.kind) && high_s - low_s > HARDLY_KNOWN * seconds {
            Some([low_s, high_s])
        } else {
            None
        }
    }

    /// Wall time with more than one thread on a CPU; `None` if there was hardly any.
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
            kind,
            wall_s: None,
            cpu_s: Some(seconds),
            what: what(profile, kind),
        })
        .collect()
}

/// The wall time of a log, in which calls have one time for running and waiting.
fn logged(profile: &Profile) -> Option<(f64, Vec<Part>)> {
    let (all, usage) = (profile.all_calls(), &profile.usage);
    let wall_s = usage
        .wall_ns
        .filter(|ns| *ns > 0 && all.on_cpu_ns.is_none())
        .map(s)?;
    // Calls of several threads overlap.
    let calls_s = match usage.has_one_thread() {
        true => all.elapsed_ns.map(s),
        false => usage.in_calls_ns.map(s),
    };
    let parts = match calls_s {
        Some(calls_s) => vec![
            (PartKind::Calls, calls_s),
            (PartKind::OutsideCalls, (wall_s - calls_s).max(0.0)),
        ],
        None => vec![(PartKind::Rest, wall_s)],
    };
    let whole_s = parts.iter().map(|(_, seconds)| seconds).sum();
    Some((
        whole_s,
        parts
            .into_iter()
            .map(|(kind, seconds)| wall_part(profile, kind, seconds))
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
            // Meanwhile a child is in another call.
            .filter(|total| {
                usage.in_calls_ns.is_none()
                    || usage.has_one_thread()
                    || !is_for_children(&total.count)
            })
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
        PartKind::WaitingForCpu => {
            let throttled = usage.throttled.iter().map(Throttled::waits);
            throttled.chain(woken(profile)).collect()
        }
        // When a tracer of the scheduler's events sees nothing: beside other programs this takes milliseconds, as it waits for a CPU too.
        PartKind::Rest if usage.concurrency.is_some() && !profile.is_service() => {
            vec!["before the command ran and after it ended".to_string()]
        }
        _ => Vec::new(),
    }
}

/// Whose waits end most of the waits for a CPU: `after fdatasync`.
fn woken(profile: &Profile) -> Option<String> {
    let runnable_ns = profile.all_calls().runnable_ns?;
    let calls = profile
        .totals(By::Call)
        .into_iter()
        .map(|total| total.count);
    let most = calls.max_by_key(|count| count.woken_ns)?;
    if most.woken_ns? > runnable_ns / 2 {
        Some(format!("after {}", most.call))
    } else {
        None
    }
}

fn is_for_children(count: &CallCount) -> bool {
    Reason::from_call(&count.call, &count.class) == Reason::Children
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
        // The tracer cannot have added more than the CPU time beside the calls.
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
    if let Some(states) = usage.concurrency.as_ref()
        && cpu_s.is_some()
    {
        off_cpu.push(wall_part(
            profile,
            PartKind::WaitingForCpu,
            s(states.waiting_ns),
        ));
        off_cpu.push(wall_part(
            profile,
            PartKind::BlockedOutside,
            s(states.blocked_ns) - blocked_s,
        ));
        return Some((states.on_cpu_ns.iter().map(|ns| s(*ns)).collect(), off_cpu));
    }
    let waiting_ns = usage.waiting_ns.or(profile.all_calls().runnable_ns);
    let waiting_s = waiting_ns.map_or(0.0, s).min((wall_s - blocked_s).max(0.0));
    // Without the scheduler's states, time off the CPU is wall time for a single thread only.
    if !alone {
        return None;
    }
    off_cpu.push(wall_part(profile, PartKind::WaitingForCpu, waiting_s));
    let on_cpu_s = cpu_s?.min((wall_s - blocked_s - waiting_s).max(0.0));
    Some((vec![on_cpu_s], off_cpu))
}

fn wall_part(profile: &Profile, kind: PartKind, wall_s: f64) -> Part {
    Part {
        kind,
        wall_s: Some(wall_s.max(0.0)),
        cpu_s: None,
        what: what(profile, kind),
    }
}

/// Wall time in which no thread of the workload could run: all blocked time of one thread.
pub fn stalled_ns(count: &CallCount, alone: bool) -> Option<u64> {
    if alone {
        count.stalled_ns.or(count.blocked_ns)
    } else {
        count.stalled_ns
    }
}

/// The wait of the last thread to block, if all were blocked when tracing ended, and the time since then that is not in the totals: there
/// a call has the time in which nothing could run only once it goes on.
fn blocked_to_the_end(profile: &Profile) -> Option<(&WaitCount, u64)> {
    let open = profile.waits.iter().filter(|wait| wait.open);
    let running = profile.threads.iter().filter(|thread| !thread.ended);
    let all_are_blocked = open.clone().count() >= running.count();
    let last = open
        .min_by_key(|wait| wait.blocked_ns)
        .filter(|_| all_are_blocked)?;
    Some((last, last.blocked_ns.saturating_sub(last.stalled_ns?)))
}

fn blocked(profile: &Profile, alone: bool) -> Vec<Part> {
    let mut by_reason: BTreeMap<Reason, BTreeMap<String, f64>> = BTreeMap::new();
    for total in profile.totals(By::Class) {
        let count = total.count;
        let Some(ns) = stalled_ns(&count, alone).filter(|ns| *ns > 0) else {
            continue;
        };
        let calls = by_reason
            .entry(Reason::from_call(&count.call, &count.class))
            .or_default();
        *calls.entry(count.call).or_default() += s(ns);
    }
    if let Some((wait, ns)) = blocked_to_the_end(profile) {
        let known_s: f64 = by_reason.values().flat_map(BTreeMap::values).sum();
        let states = profile.usage.concurrency.as_ref();
        let most_s = states.map_or(f64::INFINITY, |states| s(states.blocked_ns) - known_s);
        let calls = by_reason.entry(reason(wait)).or_default();
        *calls.entry(wait.call.clone()).or_default() += s(ns).min(most_s.max(0.0));
    }
    by_reason
        .into_iter()
        .map(|(reason, calls)| {
            let mut calls: Vec<(String, f64)> = calls.into_iter().collect();
            calls.sort_by(|a, b| b.1.total_cmp(&a.1));
            Part {
                kind: PartKind::Blocked { reason },
                wall_s: Some(calls.iter().map(|(_, seconds)| seconds).sum()),
                cpu_s: None,
                what: calls.into_iter().map(|(call, _)| call).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
