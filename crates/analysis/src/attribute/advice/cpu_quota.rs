//! A quota of CPU time that runs out.

use super::output::{Advice, Time};
use crate::attribute::seconds::{Seconds, s};
use crate::attribute::spent::{PartKind, Spent};
use model::Profile;

/// Share of the wall time.
const LEAST: f64 = 0.05;

/// A higher quota saves at most the throttled time, as wall time only as far as no thread was on a CPU.
pub fn find(profile: &Profile, time: &Spent) -> Option<Advice> {
    let limits = profile.usage.throttled.as_ref()?;
    let waiting_s = time.seconds_of(PartKind::WaitingForCpu);
    let saved_s = s(limits.throttled_ns).min(waiting_s);
    let advice = Advice {
        rule: "cpu-quota",
        phrase: "A CPU quota is used up: {of}",
        change: "raise the quota",
        subject: Some(limits.words()),
        time: Time::Elapsed,
        // A part of the whole wall time, waits for a CPU included.
        spins: true,
        saved: Some(Seconds::scaled(saved_s, [0.0, 1.0, 1.0])),
        ..Advice::default()
    };
    Some(advice).filter(|_| saved_s >= LEAST * time.wall_s.unwrap_or(f64::INFINITY))
}
