//! Upper bounds of what two kinds of proposal could save on this machine: those that bypass the kernel's entry or batch any calls
//! (free crossings), and those that batch what an io_uring carries. Pure; `attribute` calls it.
//!
//! A bound takes the bare crossing away from each call and leaves its work as it is. It is what is saved if every call could be
//! batched: which calls depend on each other's results is not in a profile. What crossings do to caches and the TLB is not in
//! the cost of a null call, so it is not in the bound either.

pub mod ring;

use super::breakdown::crossing;
use super::charged::{Charged, tracing_s};
use super::costs::{Costs, UnitCost};
use super::spread::{Seconds, plus, s, sum_by_call};
use super::units::bare_name;
use super::wall::Overlap;
use crate::model::{By, CallCount, Profile};
use schemars::JsonSchema;
use serde::Serialize;

/// What a profile can be compared with that is no other machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatIf {
    FreeCrossings,
    IoUring,
}

/// The bound of one kind of proposal.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Bound {
    /// Every crossing costs nothing.
    FreeCrossings(FreeCrossings),
    /// The calls that a ring carries are requests to it.
    IoUring(Ring),
}

/// All crossings at no cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FreeCrossings {
    /// By call, the greatest saving first.
    #[serde(rename = "calls")]
    pub rows: Vec<BoundRow>,
    /// Nanoseconds of a null call.
    pub crossing_ns: f64,
    #[serde(flatten)]
    pub saving: Saving,
}

/// Calls as requests to a ring.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ring {
    /// The calls that it carries, with their crossings, the most time first.
    #[serde(rename = "calls")]
    pub rows: Vec<BoundRow>,
    /// Calls that it takes too, but hands to a thread of the kernel: not in the bound.
    pub handed_over: Vec<BoundRow>,
    /// Nanoseconds of a null call.
    pub crossing_ns: f64,
    /// By the number of requests for each kernel entry.
    pub batches: Vec<RingBatch>,
}

/// A size of batch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RingBatch {
    pub batch: u64,
    /// What one request costs in it, in nanoseconds.
    pub request_ns: f64,
    #[serde(flatten)]
    pub saving: Saving,
}

/// Calls of one name and their bare crossings.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BoundRow {
    pub name: String,
    pub calls: u64,
    /// Their crossings: at most the measured CPU time.
    #[serde(rename = "crossing_s")]
    pub crossing: Seconds,
}

/// What is saved at most, of CPU time and of wall time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Saving {
    /// CPU time; less than nothing where a ring costs more than it saves.
    #[serde(rename = "saved_s")]
    pub saved: Seconds,
    /// CPU time of the workload; `None` where it is not known what it is without the tracer.
    pub cpu: Option<Whole>,
    /// Wall time, likewise.
    pub wall: Option<Whole>,
}

/// A time of the workload without the tracer's, and with the saving.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Whole {
    pub here_s: f64,
    pub there_s: Seconds,
}

impl Whole {
    /// The share that is saved at most: from 0 to 1.
    pub fn most_saved(&self) -> f64 {
        if self.here_s > 0.0 { (1.0 - self.there_s.low / self.here_s).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The bounds of `what_ifs`; without a null call, or a measured ring, there is none.
pub fn bounds(profile: &Profile, costs: &Costs, what_ifs: &[WhatIf]) -> Vec<Bound> {
    let Some(null) = costs.null_call().map(|price| price.cost) else { return Vec::new() };
    let calls: Vec<CallCount> = profile.totals(By::Call).into_iter().map(|total| total.count).collect();
    let workload = Workload::new(profile);
    let of = |what_if: &WhatIf| match what_if {
        WhatIf::FreeCrossings => Some(Bound::FreeCrossings(free_crossings(&workload, &calls, null))),
        WhatIf::IoUring => io_uring(&workload, &calls, null, &ring::requests(costs)).map(Bound::IoUring),
    };
    what_ifs.iter().filter_map(of).collect()
}

fn free_crossings(workload: &Workload, calls: &[CallCount], null: UnitCost) -> FreeCrossings {
    let rows = rows(calls, null, |_| true);
    let saving = workload.saving(all_crossings(&rows));
    FreeCrossings { rows, crossing_ns: null.ns, saving }
}

fn io_uring(workload: &Workload, calls: &[CallCount], null: UnitCost, requests: &[ring::Request]) -> Option<Ring> {
    let rows_of = |names: &[&str]| rows(calls, null, |name| names.contains(&bare_name(name)));
    let rows = rows_of(ring::CARRIED);
    let carried = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.calls));
    let batch = |request: &ring::Request| RingBatch {
        batch: request.batch,
        request_ns: request.cost.ns,
        saving: workload.saving(saved(all_crossings(&rows), carried, request)),
    };
    let batches: Vec<RingBatch> = requests.iter().map(batch).collect();
    let handed_over = rows_of(ring::HANDED_OVER);
    (!batches.is_empty()).then_some(Ring { rows, handed_over, crossing_ns: null.ns, batches })
}

/// These crossings without what as many requests cost.
pub fn saved(crossings: Seconds, calls: u64, request: &ring::Request) -> Seconds {
    let Seconds { value, low, high } = request.cost.times(calls, 0.0);
    plus(crossings, Seconds { value: -value, low: -high, high: -low })
}

/// The crossings of the calls that `keep`, the greatest first.
fn rows(calls: &[CallCount], null: UnitCost, keep: impl Fn(&str) -> bool) -> Vec<BoundRow> {
    let own = calls.iter().filter(|count| count.calls > 0 && keep(&count.call));
    let row =
        |count: &CallCount| BoundRow { name: count.call.clone(), calls: count.calls, crossing: crossing(count, null) };
    let mut rows: Vec<BoundRow> = own.map(row).collect();
    rows.sort_by(|a, b| b.crossing.value.total_cmp(&a.crossing.value));
    rows
}

/// One null call prices all crossings, so they share its error.
fn all_crossings(rows: &[BoundRow]) -> Seconds {
    sum_by_call(rows.iter().map(|row| ("", row.crossing)))
}

/// The times of a workload without what the tracer added, as far as that is known.
pub struct Workload {
    cpu_s: Option<f64>,
    wall: Option<(f64, Overlap)>,
}

impl Workload {
    pub fn new(profile: &Profile) -> Workload {
        let known = is_known_without_tracer(profile);
        let cpu_s = Charged::from_profile(profile).map(|charged| charged.cpu_s - tracing_s(profile));
        let cpu_s = cpu_s.filter(|cpu_s| known && *cpu_s > 0.0);
        let wall_s = profile.usage.wall_ns.map(s).filter(|wall_s| known && *wall_s > 0.0);
        let wall = wall_s.map(|traced_s| {
            let overlap = Overlap::from_profile(profile, traced_s);
            let wall_s = (traced_s - tracing_s(profile) / overlap.mean).max(cpu_s.unwrap_or(0.0) / overlap.most);
            (wall_s, overlap)
        });
        Workload { cpu_s, wall }
    }

    /// What `saved` is a share of `cpu_s`; `None` where that is not known.
    pub fn cpu_share(&self, saved: Seconds) -> Option<f64> {
        self.cpu_s.map(|cpu_s| saved.value / cpu_s)
    }

    fn saving(&self, saved: Seconds) -> Saving {
        let cpu = self.cpu_s.map(|here_s| Whole { here_s, there_s: saved.subtracted_from(here_s).at_least(0.0) });
        let wall = self.wall.as_ref().map(|(here_s, overlap)| Whole {
            here_s: *here_s,
            there_s: overlap.divided(saved).subtracted_from(*here_s).at_least(0.0),
        });
        Saving { saved, cpu, wall }
    }
}

/// A tracer that stops the calls changes all times, and one whose overhead could not be measured changes them by an unknown part. A
/// share of such times would be too small for a bound.
fn is_known_without_tracer(profile: &Profile) -> bool {
    let tracer = &profile.tracer;
    tracer.kind.is_empty() || (tracer.adds_system_time && tracer.added_per_call_ns.is_some())
}

#[cfg(test)]
mod tests;
