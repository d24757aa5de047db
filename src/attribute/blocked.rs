//! How long calls were blocked, by what they waited for, and how much of the wall time that was. Pure; `path` calls it.
//!
//! Threads wait side by side, and most waits are for another thread of the workload, so blocked time is no part of wall time. A
//! tracer of switches knows how much was: it counts the time in which all threads were blocked for the call that ended it
//! (`stalled_ns`), without the time from there until the thread runs. Where that is not known, all blocked time of a workload with
//! one thread is wall time.

use super::seconds::s;
use super::waits::Reason;
use crate::model::{By, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time blocked in one call for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Blocked {
    pub reason: Reason,
    #[serde(rename = "name")]
    pub call: String,
    pub calls: u64,
    /// Summed over threads.
    pub blocked_s: f64,
    /// Wall time of it in which no thread of the workload could run; `None` where that is not known.
    pub stalled_s: Option<f64>,
}

/// The calls that were blocked, the longest first.
pub fn blocked(profile: &Profile) -> Vec<Blocked> {
    let alone = has_one_thread(profile);
    let mut found: BTreeMap<(Reason, String), Blocked> = BTreeMap::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count) {
        let Some(blocked_ns) = count.blocked_ns.filter(|ns| *ns > 0) else { continue };
        let stalled_s = count.stalled_ns.or(alone.then_some(blocked_ns)).map(s);
        let (reason, call) = (Reason::from_call(&count.call, &count.class), count.call.clone());
        let own = found.entry((reason, call.clone()));
        let own = own.or_insert(Blocked { reason, call, calls: 0, blocked_s: 0.0, stalled_s: Some(0.0) });
        own.calls = own.calls.saturating_add(count.calls);
        own.blocked_s += s(blocked_ns);
        own.stalled_s = own.stalled_s.zip(stalled_s).map(|(sum, more)| sum + more);
    }
    let mut found: Vec<Blocked> = found.into_values().collect();
    found.sort_by(|a, b| b.blocked_s.total_cmp(&a.blocked_s));
    found
}

/// Whether it is known that the workload had one thread.
pub fn has_one_thread(profile: &Profile) -> bool {
    (profile.usage.processes, profile.usage.threads) == (Some(1), Some(0))
}
