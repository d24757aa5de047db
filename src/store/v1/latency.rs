//! Version 1: times of single calls.

use crate::model::{Histogram, Nanos, SingleCalls};
use crate::store::buckets::{Bucket, check_buckets, histogram, pairs};
use crate::store::rules::{Checked, positive, wrong};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of single calls, or why there are none: exactly one of the two.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = outcomes()))]
pub struct Latency {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
    /// Why they could not be timed, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[cfg(test)]
fn outcomes() -> serde_json::Value {
    let one =
        |(name, kind): (&str, &str)| serde_json::json!({"required": [name], "properties": {name: {"type": kind}}});
    [("times", "object"), ("error", "string")].map(one).into_iter().collect()
}

/// Times of single calls. Histograms are pairs of bucket and count: with 512 buckets per power of two, bucket 512 k + i begins at
/// 2^k (1 + i / 512) nanoseconds.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Times {
    /// What timing a call costs, in nanoseconds; it is part of every time.
    #[schemars(range(min = 0))]
    timer_ns: f64,
    /// One step of the clock, in nanoseconds.
    #[schemars(range(min = 0))]
    tick_ns: f64,
    /// Wall time of all calls, with what lies between them.
    spent_ns: u64,
    /// All calls.
    all: Vec<Bucket>,
    /// Those of them that lost the CPU to others; null if they are not distinguished.
    preempted: Option<Vec<Bucket>>,
    /// Those of them that took an interrupt and kept the CPU; null if they are not distinguished.
    interrupted: Option<Vec<Bucket>>,
    /// Slow calls that gave up the CPU by themselves.
    waits: u64,
    /// Slow calls for which interrupts were not read.
    unseen: u64,
}

/// Errors: the first value that makes no sense.
pub fn check(latency: &Latency) -> Checked {
    match (&latency.times, &latency.error) {
        (Some(times), None) => times.check(),
        (None, Some(_)) => Ok(()),
        _ => wrong("latency", "must have exactly one of times and error"),
    }
}

impl From<Result<SingleCalls, String>> for Latency {
    fn from(latency: Result<SingleCalls, String>) -> Latency {
        match latency {
            Ok(calls) => Latency { times: Some(calls.into()), error: None },
            Err(failure) => Latency { times: None, error: Some(failure) },
        }
    }
}

impl Latency {
    /// The times, or why there are none. One of them is there: that was checked.
    pub fn into_model(self) -> Result<SingleCalls, String> {
        self.times.map(Times::into_model).ok_or(self.error.unwrap_or_default())
    }
}

impl From<SingleCalls> for Times {
    fn from(calls: SingleCalls) -> Times {
        Times {
            timer_ns: calls.timer.0,
            tick_ns: calls.tick.0,
            spent_ns: calls.spent_ns,
            all: pairs(&calls.all),
            preempted: calls.preempted.as_ref().map(pairs),
            interrupted: calls.interrupted.as_ref().map(pairs),
            waits: calls.waits,
            unseen: calls.unseen,
        }
    }
}

impl Times {
    fn check(&self) -> Checked {
        positive("latency.times.timer_ns", self.timer_ns)?;
        positive("latency.times.tick_ns", self.tick_ns)?;
        if self.all.is_empty() {
            return wrong("latency.times.all", "holds no call");
        }
        let parts = [
            ("all", Some(&self.all)),
            ("preempted", self.preempted.as_ref()),
            ("interrupted", self.interrupted.as_ref()),
        ];
        let all = histogram(Histogram::SINGLE, &self.all);
        for (name, part) in parts.into_iter().filter_map(|(name, part)| Some((name, part?))) {
            let place = format!("latency.times.{name}");
            check_buckets(&place, part, Histogram::SINGLE)?;
            let part = histogram(Histogram::SINGLE, part);
            if let Some((bucket, _)) = part.counts.iter().find(|(at, count)| all.counts.get(at) < Some(count)) {
                return wrong(&place, &format!("has more calls in bucket {bucket} than there are in all"));
            }
        }
        Ok(())
    }

    fn into_model(self) -> SingleCalls {
        let of = |buckets: Vec<Bucket>| histogram(Histogram::SINGLE, &buckets);
        SingleCalls {
            timer: Nanos(self.timer_ns),
            tick: Nanos(self.tick_ns),
            spent_ns: self.spent_ns,
            all: of(self.all),
            preempted: self.preempted.map(of),
            interrupted: self.interrupted.map(of),
            waits: self.waits,
            unseen: self.unseen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(all: &[(u16, u64)], preempted: &[(u16, u64)]) -> Result<(), String> {
        let buckets = |pairs: &[(u16, u64)]| pairs.iter().map(|(bucket, count)| Bucket(*bucket, *count)).collect();
        let preempted = Some(buckets(preempted));
        let times = Times { all: buckets(all), preempted, ..Times::from(SingleCalls::default()) };
        check(&Latency { times: Some(times), error: None }).map_err(|invalid| invalid.what)
    }

    #[test]
    fn parts_are_parts_of_the_whole_and_buckets_have_an_end() {
        assert_eq!(checked(&[(104, 90), (4099, 2)], &[(4099, 2)]), Ok(()));
        for wrong in [&[(4099, 3)], &[(105, 1)]] {
            assert!(checked(&[(104, 90), (4099, 2)], wrong).unwrap_err().contains("than there are in all"));
        }
        assert!(checked(&[(64 * 512, 1)], &[]).unwrap_err().contains("is beyond"));
        assert_eq!(checked(&[], &[]), Err("holds no call".to_string()));
    }
}
