//! Requests that a service answered: number, duration, and the division of their time.

use super::blocked::because;
use super::ledger::State;
use super::seconds::s;
use model::{Profile, Requests, ThreadTime};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Requests from clients.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answered {
    pub requests: u64,
    /// Those whose client waited for a delayed acknowledgement in addition.
    #[serde(skip)]
    pub delayed: u64,
    pub per_s: Option<f64>,
    /// Duration from a receive to the next send on the same connection.
    pub mean_s: f64,
    pub median_s: Option<f64>,
    pub p99_s: Option<f64>,
    /// System calls of all threads, for each request.
    pub calls: f64,
    pub switches: Option<f64>,
    /// Seconds per request; empty if no thread both received and answered one.
    pub parts: Vec<(State, f64)>,
}

/// `None` if no request was seen.
pub fn answered(profile: &Profile) -> Option<Answered> {
    let mut sum = Requests::default();
    profile
        .requests
        .iter()
        .for_each(|requests| sum.add(requests));
    let times = profile.latencies.get(model::REQUEST)?;
    let usage = &profile.usage;
    let switches = usage.voluntary_switches.zip(usage.involuntary_switches);
    let switches = switches.map(|(voluntary, involuntary)| voluntary.saturating_add(involuntary));
    let all = 1.0 / sum.requests.max(1) as f64;
    // The time of a request is divided only if the same thread received and answered it.
    let one = 1.0 / sum.by_one_thread.max(1) as f64;
    Some(Answered {
        requests: sum.requests,
        delayed: sum.delayed,
        per_s: usage
            .wall_ns
            .filter(|ns| *ns > 0)
            .map(|ns| sum.requests as f64 / s(ns)),
        mean_s: all * s(sum.elapsed_ns),
        median_s: times.quantile_ns(0.5).map(|ns| ns / 1e9),
        p99_s: times.quantile_ns(0.99).map(|ns| ns / 1e9),
        calls: all * profile.all_calls().calls as f64,
        switches: switches.map(|switches| all * switches as f64),
        parts: request_parts(profile, &sum.time)
            .into_iter()
            .map(|(state, seconds)| (state, one * seconds))
            .collect(),
    })
    .filter(|answered| answered.requests > 0)
}

/// The waits of threads that had work are those within requests, but for the ones for clients.
fn request_parts(profile: &Profile, time: &ThreadTime) -> Vec<(State, f64)> {
    let mut waits: BTreeMap<State, f64> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| wait.asked) {
        let because = because(wait);
        *waits.entry(State::Blocked { because }).or_default() += s(wait.blocked_ns);
    }
    if time.all_ns() == 0 {
        return Vec::new();
    }
    let known_s: f64 = waits.values().sum();
    let scale = (s(time.blocked_ns) / known_s).min(1.0);
    let mut parts: Vec<(State, f64)> = waits
        .into_iter()
        .map(|(state, seconds)| (state, seconds * scale))
        .collect();
    parts.extend([
        (State::OnCpu, s(time.ran_ns)),
        (State::Runnable, s(time.runnable_ns)),
    ]);
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts
}
