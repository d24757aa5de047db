//! Wall time with other unit costs: what a change of CPU time, of waits and of processors makes of it. Pure; `change` and `bounds`
//! call it.
//!
//! A change of CPU time is a change of wall time only where nothing else runs. With k threads on CPUs it is between a k-th of the
//! change, if all of them share it, and the whole, if the thread on the longest path has it. Waits for a device or another machine
//! change by their own unit cost; without one, wall time is not predicted. Waits for other threads of the workload change by what
//! waking up costs. Pauses stay as they are. User mode does too, but no machine runs at the same speed twice.

use super::blocked::{Blocked, blocked, has_one_thread};
use super::breakdown::cpus_used;
use super::charged::{Charged, tracing_s};
use super::comparison::Comparison;
use super::lines::{Group, LineKind};
use super::path::on_cpu_s;
use super::spread::{Seconds, Z, s, sum};
use super::waits::{self, EndedBy, Reason};
use crate::model::{By, CallCount, Profile};
use schemars::JsonSchema;
use serde::Serialize;

/// Wall time here and there.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Wall {
    pub here_s: f64,
    /// `None` where waits without a unit cost decide it.
    pub there_s: Option<Seconds>,
    /// What changes it.
    pub parts: Vec<WallPart>,
    /// Waits for a device or another machine that no unit cost prices on both sides, the longest first.
    pub unpriced_waits: Vec<Blocked>,
}

/// One cause of a change of wall time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WallPart {
    #[serde(flatten)]
    pub kind: WallKind,
    #[serde(rename = "change_s")]
    pub change: Seconds,
}

/// Why wall time changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WallKind {
    /// The change of CPU time: divided by `mean` threads, by at least one and at most by `most`.
    CpuTime { mean: f64, most: f64 },
    /// Waits for a device with a unit cost.
    Waits,
    /// Waits for threads of the workload itself.
    WakeUps,
    /// Pauses that the program asked for.
    Pauses,
    /// What ran side by side here has to take turns there.
    FewerCpus { here: u64, there: u64 },
    /// Waits without a unit cost, from none to twice as long.
    UnpricedWaits,
    /// Two runs of the same machine differ by this, and code outside calls by what no unit cost shows.
    Speed,
}

/// Waits without a unit cost decide the wall time from this share of it on.
const DECIDES: f64 = 0.05;

/// Calls that wake other threads take longer or shorter by this share, as the scheduler places them.
const WAKING: f64 = 0.3;

/// Pauses last longer or shorter by this share.
const PAUSE: f64 = 0.02;

/// Time on CPUs changes by this share, as half the width of a range, in ways that no unit cost shows: caches, switches, page faults
/// of programs that start. From workloads of one machine.
const UNSEEN: f64 = 0.05;

/// Phases with more threads on CPUs that are shorter than this share of the time on CPUs do not count.
const LEAST_PHASE: f64 = 0.01;

/// Predicts the wall time of `profile` from the lines of the comparison; `None` where it is not known here.
pub fn wall(profile: &Profile, costs: &Comparison, groups: &[Group]) -> Option<Wall> {
    let here_s = profile.usage.wall_ns.map(s)?;
    let overlap = Overlap::from_profile(profile, here_s);
    let waits = |group: &&Group| group.kind == LineKind::Waits;
    let (waiting, computing): (Vec<&Group>, Vec<&Group>) = groups.iter().partition(waits);
    let cpu = Group::merged(LineKind::Total, computing).change(costs);
    let unpriced_waits = unpriced_waits(profile, costs);
    let unpriced_s: f64 = unpriced_waits.iter().map(|own| own.stalled_s.unwrap_or(own.blocked_s)).sum();
    let unpriced_s = unpriced_s.min(overlap.idle_most_s);
    let kind = WallKind::CpuTime { mean: overlap.mean, most: overlap.most };
    let mut parts = vec![WallPart { kind, change: overlap.divided(cpu) }];
    parts.extend(waiting.iter().map(|group| WallPart { kind: WallKind::Waits, change: group.change(costs) }));
    parts.push(WallPart { kind: WallKind::WakeUps, change: wake_ups(profile, &overlap) });
    parts.push(WallPart { kind: WallKind::Pauses, change: pauses(profile) });
    parts.extend(fewer_cpus(profile, costs, &overlap));
    parts.push(WallPart { kind: WallKind::UnpricedWaits, change: around_zero(unpriced_s) });
    parts.push(WallPart {
        kind: WallKind::Speed,
        change: around_zero((Z * costs.scatter()).hypot(UNSEEN) * overlap.busy_s),
    });
    parts.retain(|part| part.change != Seconds::default());
    let change = sum(parts.iter().map(|part| part.change));
    let there_s = Seconds::exactly(here_s).plus(change).at_least(0.0);
    let decided = unpriced_s > DECIDES * here_s;
    Some(Wall { here_s, there_s: (!decided).then_some(there_s), parts, unpriced_waits })
}

/// How many threads were on CPUs at a time.
pub(super) struct Overlap {
    pub mean: f64,
    pub most: f64,
    /// Seconds with one thread on a CPU, with two, and so on, if that is known.
    on_cpu_s: Option<Vec<f64>>,
    cpu_s: f64,
    /// Wall time with a thread on a CPU, as far as it is known.
    busy_s: f64,
    /// At most this much of the wall time no thread was on a CPU.
    idle_most_s: f64,
    /// Share of the CPU time outside of calls.
    in_user_mode: f64,
}

impl Overlap {
    pub fn from_profile(profile: &Profile, wall_s: f64) -> Overlap {
        let cpu_s = Charged::from_profile(profile).map_or(0.0, |charged| charged.cpu_s);
        let cpus = cpus_used(profile).unwrap_or(1) as f64;
        let calls_s = profile.all_calls().on_cpu_ns.map_or(0.0, s);
        let in_user_mode = if cpu_s > 0.0 { (1.0 - calls_s / cpu_s).clamp(0.0, 1.0) } else { 0.0 };
        let on_cpu_s = on_cpu_s(profile).filter(|phases| phases.iter().sum::<f64>() > 0.0);
        let (mean, most, busy_s, idle_most_s) = match &on_cpu_s {
            None => {
                let mean = if wall_s > 0.0 { (cpu_s / wall_s).max(1.0) } else { 1.0 };
                (mean, cpus, cpu_s.min(wall_s), wall_s - cpu_s / cpus)
            }
            Some(phases) => {
                let busy_s: f64 = phases.iter().sum();
                let phases = || (1..).zip(phases).map(|(threads, seconds)| (f64::from(threads), *seconds));
                let mean = phases().map(|(threads, seconds)| threads * seconds).sum::<f64>() / busy_s;
                let long = phases().filter(|(_, seconds)| *seconds >= LEAST_PHASE * busy_s);
                (mean, long.map(|(threads, _)| threads).fold(1.0, f64::max), busy_s, wall_s - busy_s)
            }
        };
        // The tracer's own time is none of the program's.
        let busy_s = (busy_s - tracing_s(profile) / mean).max(0.0);
        let (most, idle_most_s) = (most.max(mean), idle_most_s.max(0.0));
        Overlap { mean, most, on_cpu_s, cpu_s, busy_s, idle_most_s, in_user_mode }
    }

    /// What a change of CPU time makes of wall time.
    pub fn divided(&self, change: Seconds) -> Seconds {
        let ends = [change.low, change.high, change.low / self.most, change.high / self.most];
        let value = change.value / self.mean;
        Seconds { value, low: ends.into_iter().fold(value, f64::min), high: ends.into_iter().fold(value, f64::max) }
    }
}

/// Waits for what no unit cost prices on both sides and no thread of the workload ends.
fn unpriced_waits(profile: &Profile, costs: &Comparison) -> Vec<Blocked> {
    let alone = has_one_thread(profile);
    blocked(profile, |count| {
        let outside = Reason::from_call(&count.call, &count.class).ended_by(alone) == EndedBy::Outside;
        let prices = costs.prices(count);
        outside && !prices.is_some_and(|(price, _)| waits::waits(&price.basis.operation))
    })
}

/// The error of waking other threads. How long a wake-up takes depends on which processors the scheduler chooses, more than on any
/// unit cost: none is needed on one processor, and an idle one takes many times as long. So all of the time in which no thread ran
/// may vanish or double, and a part of the calls' own time with it. Where it is not known how long no thread ran, it is at most the
/// time that the processors leave.
fn wake_ups(profile: &Profile, overlap: &Overlap) -> Seconds {
    let own = blocked(profile, |count| waits_for_threads(profile, count));
    if own.is_empty() {
        return Seconds::default();
    }
    let waiting = profile.usage.concurrency.as_ref().map_or(0.0, |known| s(known.waiting_ns));
    let stalled: Option<f64> = own.iter().map(|wait| wait.stalled_s).sum();
    let idle = stalled.map_or(overlap.idle_most_s, |stalled| stalled + waiting);
    around_zero(idle.hypot(WAKING * waking_s(profile, overlap)))
}

fn waits_for_threads(profile: &Profile, count: &CallCount) -> bool {
    let alone = has_one_thread(profile);
    let reason = Reason::from_call(&count.call, &count.class);
    reason.ended_by(alone) == EndedBy::Thread && reason != Reason::Other
}

/// Wall time on CPUs of calls that threads pass turns or data to each other with.
fn waking_s(profile: &Profile, overlap: &Overlap) -> f64 {
    let classes = profile.totals(By::Class).into_iter().map(|total| total.count);
    let passes = classes.filter(|count| waits_for_threads(profile, count) && count.blocked_ns > Some(0));
    passes.filter_map(|count| count.on_cpu_ns).map(s).sum::<f64>() / overlap.mean
}

/// The error of pauses: what the clock's slack and waking up add to each.
fn pauses(profile: &Profile) -> Seconds {
    let of_clock = |count: &CallCount| Reason::from_call(&count.call, &count.class).ended_by(false) == EndedBy::Clock;
    let waits: f64 = blocked(profile, of_clock).iter().map(|wait| wait.stalled_s.unwrap_or(wait.blocked_s)).sum();
    around_zero(PAUSE * waits)
}

fn around_zero(error: f64) -> Seconds {
    Seconds { value: 0.0, low: -error, high: error }
}

/// What takes longer where the workload has fewer processors than it used here.
fn fewer_cpus(profile: &Profile, costs: &Comparison, overlap: &Overlap) -> Option<WallPart> {
    let (here, there) = (cpus_used(profile)?, costs.there.machine.cpus?);
    (there < here && there > 0).then_some(())?;
    let share = |threads: f64| (threads / there as f64 - 1.0).max(0.0);
    let (value, low, high) = match &overlap.on_cpu_s {
        Some(phases) => {
            let value: f64 = (1..).zip(phases).map(|(threads, seconds)| share(f64::from(threads)) * seconds).sum();
            (value, value * overlap.in_user_mode.min(0.5), value)
        }
        None => {
            // The CPU time has to fit in; how much of it overlapped is not known.
            let least = (overlap.cpu_s / there as f64 - overlap.busy_s).max(0.0);
            let most = overlap.cpu_s * (1.0 / there as f64 - 1.0 / here as f64);
            (least, least, most.max(least))
        }
    };
    // What threads pass to each other stays in one processor's caches; calls that waited for each other's locks and cache lines in
    // the kernel no longer do, so of what overlapped only user mode is sure to take turns.
    let change = Seconds { value, low: low - waking_s(profile, overlap) / 2.0, high };
    Some(WallPart { kind: WallKind::FewerCpus { here, there }, change })
}
