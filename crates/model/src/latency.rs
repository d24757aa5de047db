//! Times of single calls of one case, as the probe counted them.

use super::{Histogram, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// 2^40 - 1 ns, 18 minutes. Longer calls are counted as this.
pub const LONGEST_NS: u64 = (1 << 40) - 1;

/// Calls of one case, each timed by itself. Histograms have 512 buckets per power of two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SingleCalls {
    /// The cost of timing a call, in nanoseconds: the median of the same two clock readings around nothing. It is part of every time.
    #[serde(rename = "timer_ns")]
    #[schemars(with = "f64", range(min = 0))]
    pub timer: Nanos,
    /// One step of the clock, in nanoseconds.
    #[serde(rename = "tick_ns")]
    #[schemars(with = "f64", range(min = 0))]
    pub tick: Nanos,
    /// Wall time of all calls together with what lies between them.
    pub spent_ns: u64,
    /// Times of all calls.
    #[serde(deserialize_with = "histogram")]
    pub all: Histogram,
    /// Times of calls that lost the CPU; null if they are not distinguished.
    #[serde(deserialize_with = "histogram_if_known")]
    pub preempted: Option<Histogram>,
    /// Times of calls that kept the CPU and took an interrupt; null if they are not distinguished.
    #[serde(deserialize_with = "histogram_if_known")]
    pub interrupted: Option<Histogram>,
    /// Slow calls that gave up the CPU by themselves.
    pub waits: u64,
    /// Slow calls for which interrupts were not read, because reading them would have taken too long.
    pub unseen: u64,
}

fn histogram<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
    Ok(Histogram::deserialize(deserializer)?.for_single_calls())
}

fn histogram_if_known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Histogram>, D::Error> {
    Ok(Option::<Histogram>::deserialize(deserializer)?.map(Histogram::for_single_calls))
}

/// Times of single calls, or in one line why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimesOrError {
    Times(SingleCalls),
    Error(String),
}
