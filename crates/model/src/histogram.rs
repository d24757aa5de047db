//! Histograms of durations in log-linear buckets: each power of two is divided into buckets of equal width.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of durations, a list of pairs of bucket and count. With n buckets per power of two, bucket n k + i begins at 2^k (1 + i/n)
/// nanoseconds and ends where the next one begins: at most 1/n wide. Buckets narrower than a nanosecond hold one duration or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<(u16, u64)>", into = "Vec<(u16, u64)>")]
pub struct Histogram {
    /// Buckets per power of two: a power of two itself.
    per_octave: u16,
    pub counts: BTreeMap<u16, u64>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::with_resolution(Histogram::TRACED)
    }
}

impl From<Vec<(u16, u64)>> for Histogram {
    fn from(pairs: Vec<(u16, u64)>) -> Histogram {
        // A file may name a bucket twice: its counts add up.
        let mut histogram = Histogram::default();
        pairs
            .into_iter()
            .for_each(|(bucket, count)| histogram.add(bucket, count));
        histogram
    }
}

impl From<Histogram> for Vec<(u16, u64)> {
    fn from(histogram: Histogram) -> Vec<(u16, u64)> {
        histogram.counts.into_iter().collect()
    }
}

impl Histogram {
    /// Buckets per octave for traced calls.
    pub const TRACED: u16 = 32;
    /// Buckets per octave for single calls that a probe times.
    pub const SINGLE: u16 = 512;

    pub fn with_resolution(per_octave: u16) -> Histogram {
        Histogram {
            per_octave,
            counts: BTreeMap::new(),
        }
    }

    /// The counts read with the resolution of single calls: files have the buckets alone.
    pub fn for_single_calls(self) -> Histogram {
        Histogram {
            per_octave: Histogram::SINGLE,
            ..self
        }
    }

    pub fn per_octave(&self) -> u16 {
        self.per_octave
    }

    /// The number of buckets for durations below 2^64 ns.
    pub fn buckets(per_octave: u16) -> u16 {
        64 * per_octave
    }

    /// The bucket of a duration, which follows from the leading bit and those below it.
    pub fn bucket(&self, ns: u64) -> u16 {
        let Some(log) = ns.checked_ilog2() else {
            return 0;
        };
        let below = ns ^ (1 << log);
        // 64 bits times the resolution do not fit into 64 bits.
        let part = (u128::from(below) * u128::from(self.per_octave)) >> log;
        log as u16 * self.per_octave + part as u16
    }

    pub fn lower_ns(&self, bucket: u16) -> f64 {
        let (octave, part) = (bucket / self.per_octave, bucket % self.per_octave);
        2f64.powi(i32::from(octave)) * (1.0 + f64::from(part) / f64::from(self.per_octave))
    }

    /// The duration itself if the bucket can hold only one.
    pub fn middle_ns(&self, bucket: u16) -> f64 {
        let (low, high) = (self.lower_ns(bucket), self.lower_ns(bucket + 1));
        if high - low <= 1.0 {
            low.ceil()
        } else {
            (low + high) / 2.0
        }
    }

    pub fn record(&mut self, ns: u64) {
        self.add(self.bucket(ns), 1);
    }

    pub fn add(&mut self, bucket: u16, count: u64) {
        let sum = self.counts.entry(bucket).or_insert(0);
        *sum = sum.saturating_add(count);
    }

    /// `u64::MAX` if there are more.
    pub fn total_count(&self) -> u64 {
        self.counts
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Middles of buckets, ascending.
    pub fn times(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.counts
            .iter()
            .map(|(bucket, count)| (self.middle_ns(*bucket), *count))
    }

    /// 1 for the shortest.
    pub fn at_rank(&self, rank: u64) -> Option<f64> {
        let mut seen = 0u64;
        self.times()
            .find(|(_, count)| {
                seen = seen.saturating_add(*count);
                seen >= rank
            })
            .map(|(ns, _)| ns)
    }

    /// `None` without any.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        self.at_rank(
            (share.clamp(0.0, 1.0) * self.total_count() as f64)
                .ceil()
                .max(1.0) as u64,
        )
    }

    /// The middle of its bucket.
    pub fn longest_ns(&self) -> Option<f64> {
        self.counts
            .keys()
            .next_back()
            .map(|bucket| self.middle_ns(*bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_within_their_bucket() {
        for per_octave in [Histogram::TRACED, Histogram::SINGLE] {
            let histogram = Histogram::with_resolution(per_octave);
            for ns in [64u64, 65, 100, 1000, 1_000_000, 1 << 40, u64::MAX] {
                let bucket = histogram.bucket(ns);
                let (low, high) = (histogram.lower_ns(bucket), histogram.lower_ns(bucket + 1));
                assert!(
                    low <= ns as f64 && (ns as f64) <= high,
                    "{ns}: {low} to {high}"
                );
                assert!(high / low <= 1.0 + 1.0 / f64::from(per_octave) + 1e-9);
                assert!(bucket < Histogram::buckets(per_octave));
            }
            assert_eq!((histogram.bucket(0), histogram.bucket(1)), (0, 0));
        }
    }

    #[test]
    fn short_durations_are_exact() {
        let single = Histogram::with_resolution(Histogram::SINGLE);
        assert!((1..1024).all(|ns| single.middle_ns(single.bucket(ns)) == ns as f64));
        assert_eq!(single.middle_ns(single.bucket(4099)), 4100.0);
    }

    #[test]
    fn quantiles_are_of_the_bucket_that_holds_them() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        (0..98).for_each(|_| histogram.record(100));
        (0..2).for_each(|_| histogram.record(100_000));
        let p = |share| histogram.quantile_ns(share).unwrap();
        assert!((p(0.5) - 100.0).abs() < 3.0 && (p(0.98) - p(0.5)).abs() < 1e-9);
        assert!((p(0.99) / 100_000.0 - 1.0).abs() < 0.016);
    }
}
