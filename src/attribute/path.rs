//! What the wall time consisted of: on a CPU, all threads blocked, or waiting for a CPU. Pure; `attribute` calls it.
//!
//! It is exact for a workload of one thread, and for any tree whose switches the tracer saw. Otherwise there is none: blocked
//! threads of a tree may wait for each other's CPU time, so their sum says nothing about wall time.

use super::blocked::{Blocked, has_one_thread};
use super::charged::Charged;
use super::seconds::s;
use super::waits::Reason;
use crate::model::Profile;
use schemars::JsonSchema;
use serde::Serialize;

/// The wall time and its parts, which add up to it as far as they were seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Path {
    pub wall_s: f64,
    /// Whether never more than one thread was on a CPU, so that CPU time is wall time.
    pub serial: bool,
    pub parts: Vec<PathPart>,
}

/// A part of the wall time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathPart {
    #[serde(flatten)]
    pub kind: PathKind,
    pub seconds: f64,
}

/// What the workload did in a part of the wall time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathKind {
    /// This many of its threads were on a CPU.
    OnCpu { threads: u64, or_more: bool },
    /// All were blocked, and a call for this reason was the first to go on.
    Blocked { reason: Reason, calls: Vec<TimeInCall> },
    /// None was on a CPU, and at least one could have run.
    WaitingForCpu,
    /// What is left: blocked outside calls, waiting for a CPU, or not seen.
    Rest,
}

/// Wall time of one call.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeInCall {
    pub name: String,
    pub seconds: f64,
}

/// Shares of the wall time that make no line.
const LEAST: f64 = 0.0005;

/// The path of `profile`, if it is known. `blocked` are its blocked calls.
pub fn path(profile: &Profile, blocked: &[Blocked]) -> Option<Path> {
    let wall_s = profile.usage.wall_ns.filter(|ns| *ns > 0).map(s)?;
    let on_cpu = on_cpu_s(profile)?;
    let mut parts = on_cpu_parts(&on_cpu);
    parts.extend(stalls(blocked));
    let waiting = profile.usage.concurrency.as_ref().map(|known| s(known.waiting_ns));
    parts.extend(waiting.map(|seconds| PathPart { kind: PathKind::WaitingForCpu, seconds }));
    let rest = wall_s - parts.iter().map(|part| part.seconds).sum::<f64>();
    parts.push(PathPart { kind: PathKind::Rest, seconds: rest.max(0.0) });
    parts.retain(|part| part.seconds > LEAST * wall_s);
    Some(Path { wall_s, serial: is_serial(profile), parts })
}

/// Whether it is known that never more than one thread was on a CPU.
pub fn is_serial(profile: &Profile) -> bool {
    let wall_s = profile.usage.wall_ns.map_or(0.0, s);
    on_cpu_s(profile).is_some_and(|on_cpu| on_cpu.iter().skip(1).sum::<f64>() <= LEAST * wall_s)
}

/// Seconds with one thread on a CPU, with two, and so on; `None` where that is not known.
fn on_cpu_s(profile: &Profile) -> Option<Vec<f64>> {
    if let Some(known) = &profile.usage.concurrency {
        return Some(known.on_cpu_ns.iter().map(|ns| s(*ns)).collect());
    }
    let wall_s = s(profile.usage.wall_ns?);
    has_one_thread(profile).then(|| Some(vec![Charged::from_profile(profile)?.cpu_s.min(wall_s)]))?
}

fn on_cpu_parts(on_cpu_s: &[f64]) -> Vec<PathPart> {
    let part = |(i, seconds): (usize, &f64)| {
        let or_more = i > 0 && i + 1 == on_cpu_s.len();
        PathPart { kind: PathKind::OnCpu { threads: i as u64 + 1, or_more }, seconds: *seconds }
    };
    on_cpu_s.iter().enumerate().map(part).collect()
}

/// The stalls by reason, each with its calls; the longest first.
fn stalls(blocked: &[Blocked]) -> Vec<PathPart> {
    let mut reasons: Vec<Reason> = blocked.iter().map(|own| own.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let part = |reason: Reason| {
        let own = blocked.iter().filter(|own| own.reason == reason);
        let time = |own: &Blocked| Some(TimeInCall { name: own.call.clone(), seconds: own.stalled_s? });
        let mut calls: Vec<TimeInCall> = own.filter_map(time).filter(|call| call.seconds > 0.0).collect();
        calls.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let seconds = calls.iter().map(|call| call.seconds).sum();
        PathPart { kind: PathKind::Blocked { reason, calls }, seconds }
    };
    let mut parts: Vec<PathPart> = reasons.into_iter().map(part).collect();
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    parts
}
