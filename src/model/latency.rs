//! Times of single calls of one case, as the probe counted them.

use super::{Histogram, Nanos};

/// The largest time that the probe counts: 2^40 - 1 ns, 18 minutes. Longer calls are counted as this.
pub const LONGEST_NS: u64 = (1 << 40) - 1;

/// Calls of one case, each timed by itself. Histograms have [`Histogram::SINGLE`] buckets per power of two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SingleCalls {
    /// What timing a call costs: the median of the same two clock readings around nothing. It is part of every time.
    pub timer: Nanos,
    /// One step of the clock.
    pub tick: Nanos,
    /// Wall time of all calls together with what lies between them.
    pub spent_ns: u64,
    pub all: Histogram,
    /// Those of `all` that lost the CPU; `None` if they are not distinguished.
    pub preempted: Option<Histogram>,
    /// Those of `all` that kept the CPU and took an interrupt; `None` if they are not distinguished.
    pub interrupted: Option<Histogram>,
    /// Slow calls that gave up the CPU by themselves.
    pub waits: u64,
    /// Slow calls for which interrupts were not read, because reading them would have taken too long.
    pub unseen: u64,
}
