//! Single calls of a record without the cost of timing, and how many slow calls were not the operation's own.

use model::{Histogram, Nanos, OrError, SingleCalls, TimesOrError};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{beyond, percentile, without};

// Chosen: with less, percentiles would mostly describe the clock.
/// Below that, the clock is a large part of what was timed.
pub const LEAST_TIMES_TIMER: f64 = 5.0;

/// Percentiles of single calls, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowLatency {
    #[serde(flatten, with = "OrError::<Latency, NoLatency>")]
    pub result: Result<Latency, NoLatency>,
}

/// Percentiles of single calls. The cost of timing is subtracted from all of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// The cost of timing a call, which was subtracted.
    #[serde(rename = "timer_ns")]
    pub timer: Nanos,
    /// One step of the clock.
    #[serde(rename = "tick_ns")]
    pub tick: Nanos,
    /// Wall time of all calls, with what lies between them.
    pub spent_ns: u64,
    #[serde(flatten)]
    pub all: Percentiles,
    /// Percentiles of calls that were neither preempted nor interrupted, as far as the kernel knows: delays by a hypervisor are
    /// still in there. `None` if they are not distinguished.
    pub rest: Option<Percentiles>,
    /// Calls slower than four times the median and a microsecond.
    pub slow: u64,
    /// Calls that lost the CPU to others; `None` if they are not distinguished.
    pub preempted: Option<u64>,
    /// Calls that took an interrupt and kept the CPU; `None` if they are not distinguished.
    pub interrupted: Option<u64>,
    /// Slow calls that gave up the CPU by themselves.
    pub waits: u64,
    /// Slow calls for which interrupts were not read.
    pub unseen: u64,
    /// For figures: (1 / (1 - share of calls), time without the timer).
    #[serde(skip)]
    pub curve: Vec<(f64, f64)>,
    #[serde(skip)]
    pub rest_curve: Vec<(f64, f64)>,
}

/// Times that shares of the calls did not exceed; `None` with fewer than ten calls beyond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Percentiles {
    /// Calls that were timed.
    pub calls: u64,
    /// Half of the calls.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanos>,
    /// 90% of the calls.
    #[serde(rename = "p90_ns")]
    pub p90: Option<Nanos>,
    /// 99% of the calls.
    #[serde(rename = "p99_ns")]
    pub p99: Option<Nanos>,
    /// 99.9% of the calls.
    #[serde(rename = "p99_9_ns")]
    pub p99_9: Option<Nanos>,
    /// The longest call.
    #[serde(rename = "max_ns")]
    pub max: Option<Nanos>,
}

/// Why a record has no percentiles.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoLatency {
    /// The median, without the timer, is under five times the timer's cost.
    TooShort { median_ns: Nanos, timer_ns: Nanos },
    /// The calls were not timed.
    Failed { message: String },
}

impl RowLatency {
    /// An error if the calls were not timed, or are too short for the clock.
    pub fn new(calls: &TimesOrError) -> RowLatency {
        let result = match calls {
            TimesOrError::Times(calls) => checked(calls),
            TimesOrError::Error(message) => Err(NoLatency::Failed {
                message: message.clone(),
            }),
        };
        RowLatency { result }
    }

    /// The same for work whose tail is the machine's own: the tail is far above the timer, so the work may be short.
    pub fn for_yardstick(calls: &TimesOrError) -> RowLatency {
        match calls {
            TimesOrError::Times(calls) if calls.all.total_count() > 0 => RowLatency {
                result: Ok(latency(calls)),
            },
            _ => RowLatency::new(calls),
        }
    }
}

fn checked(calls: &SingleCalls) -> Result<Latency, NoLatency> {
    let median = calls.all.quantile_ns(0.5).ok_or(NoLatency::Failed {
        message: "no call was timed".into(),
    })?;
    let (median_ns, timer_ns) = (Nanos(median) - calls.timer, calls.timer);
    if median_ns.0 < LEAST_TIMES_TIMER * timer_ns.0 {
        Err(NoLatency::TooShort {
            median_ns,
            timer_ns,
        })
    } else {
        Ok(latency(calls))
    }
}

fn latency(calls: &SingleCalls) -> Latency {
    fn calls_in(part: &Option<Histogram>) -> Option<u64> {
        part.as_ref().map(Histogram::total_count)
    }

    let parts: Vec<&Histogram> = [&calls.preempted, &calls.interrupted]
        .into_iter()
        .flatten()
        .collect();
    let rest = if parts.is_empty() {
        None
    } else {
        Some(without(&calls.all, &parts))
    };
    Latency {
        timer: calls.timer,
        tick: calls.tick,
        spent_ns: calls.spent_ns,
        all: percentiles(&calls.all, calls.timer),
        rest: rest.as_ref().map(|times| percentiles(times, calls.timer)),
        // As the probe defines slow calls (probe/single.c): it reads interrupts after these only.
        slow: beyond(
            &calls.all,
            4.0 * calls.all.quantile_ns(0.5).unwrap_or_default() + 1000.0,
        ),
        preempted: calls_in(&calls.preempted),
        interrupted: calls_in(&calls.interrupted),
        waits: calls.waits,
        unseen: calls.unseen,
        curve: curve(&calls.all, calls.timer),
        rest_curve: rest
            .map(|times| curve(&times, calls.timer))
            .unwrap_or_default(),
    }
}

fn percentiles(times: &Histogram, timer: Nanos) -> Percentiles {
    let net = |ns| Nanos(ns) - timer;
    let at = |share| percentile(times, share).map(net);
    Percentiles {
        calls: times.total_count(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p99_9: at(0.999),
        max: times.longest_ns().map(net),
    }
}

fn curve(times: &Histogram, timer: Nanos) -> Vec<(f64, f64)> {
    let net = stats::tail_curve(times)
        .into_iter()
        .map(|(beyond, ns)| (beyond, ns - timer.0));
    net.filter(|(_, ns)| *ns > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::times;

    fn calls(median_ns: u64) -> SingleCalls {
        SingleCalls {
            timer: Nanos(20.0),
            all: times(&[(median_ns, 99_000), (5000, 990), (90_048, 10)]),
            preempted: Some(times(&[(90_048, 9)])),
            interrupted: Some(times(&[(5000, 980)])),
            ..SingleCalls::default()
        }
    }

    #[test]
    fn the_timer_is_subtracted_and_disturbed_calls_are_told_apart() {
        let latency = RowLatency::new(&TimesOrError::Times(calls(320)))
            .result
            .unwrap();
        let ns = |value: Option<Nanos>| value.map(|ns| ns.0);
        assert_eq!(
            (
                ns(latency.all.p50),
                ns(latency.all.p99),
                ns(latency.all.p99_9)
            ),
            (Some(300.0), Some(300.0), Some(4984.0))
        );
        assert_eq!(
            (latency.slow, latency.preempted, latency.interrupted),
            (1000, Some(9), Some(980))
        );
        let percentiles = latency.rest.unwrap();
        assert_eq!(
            (
                percentiles.calls,
                ns(percentiles.p99_9),
                ns(percentiles.max)
            ),
            (99_011, Some(300.0), Some(90_028.0))
        );
        assert_eq!(latency.curve.last(), Some(&(100_000.0, 90_028.0)));
    }
}
