//! Times of single calls: a histogram per case, as the probe counted them.

use super::Nanos;

/// The largest time that histograms hold: 2^40 - 1 ns, 18 minutes. Longer calls are counted as this.
pub const LONGEST_NS: u64 = (1 << 40) - 1;

/// Calls of one case, each timed by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SingleCalls {
    /// What timing a call costs: the median of the same two clock readings around nothing. It is part of every time.
    pub timer: Nanos,
    /// One step of the clock.
    pub tick: Nanos,
    /// Wall time of all calls together with what lies between them.
    pub spent_ns: u64,
    pub all: CallTimes,
    /// Those of `all` that lost the CPU; `None` if they are not distinguished.
    pub preempted: Option<CallTimes>,
    /// Those of `all` that kept the CPU and took an interrupt; `None` if they are not distinguished.
    pub interrupted: Option<CallTimes>,
    /// Slow calls that gave up the CPU by themselves.
    pub waits: u64,
    /// Slow calls for which interrupts were not read, because reading them would have taken too long.
    pub unseen: u64,
}

/// Counts by time, ascending. Times are in buckets of three significant digits: those of an HdrHistogram of nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTimes(pub Vec<TimeBucket>);

/// Calls of about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBucket {
    /// The largest time that belongs here.
    pub ns: u64,
    pub count: u64,
}

/// Times of up to so many bits have buckets of a nanosecond; longer ones have half as many buckets for each bit more.
const FINE_BITS: u32 = 11;

impl CallTimes {
    /// The number of calls, at most `u64::MAX`.
    pub fn calls(&self) -> u64 {
        self.0.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// The bucket with this index, counted from 0: its largest time. `None` if that has more than 64 bits.
    pub fn bucket_at(index: u64) -> Option<u64> {
        const HALF: u64 = 1 << (FINE_BITS - 1);
        let shift = (index / HALF).saturating_sub(1);
        let end = (index - shift * HALF + 1).checked_mul(1u64.checked_shl(u32::try_from(shift).ok()?)?)?;
        Some(end - 1)
    }

    /// The bucket that holds `ns`, without its count: its largest time.
    pub fn bucket_end(ns: u64) -> u64 {
        let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(FINE_BITS);
        ns | ((1 << shift) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_keep_three_digits() {
        for (ns, end) in [(0, 0), (1, 1), (2047, 2047), (2048, 2049), (4097, 4099), (1_000_000, 1_000_447)] {
            assert_eq!(CallTimes::bucket_end(ns), end, "{ns}");
        }
        let mut ends = (0..31 * 1024).map(|index| CallTimes::bucket_at(index).unwrap());
        assert!((0..31 * 1024).zip(&mut ends).all(|(_, end)| CallTimes::bucket_end(end) == end));
        assert_eq!([2047, 2048, 31 * 1024 - 1].map(CallTimes::bucket_at), [2047, 2049, LONGEST_NS].map(Some));
        assert_eq!([60 * 1024, 126 * 1024, 200 * 1024, u64::MAX].map(CallTimes::bucket_at), [None; 4]);
        assert_eq!(CallTimes::bucket_end(LONGEST_NS), LONGEST_NS);
        assert_eq!(CallTimes::bucket_end(u64::MAX), u64::MAX);
    }
}
