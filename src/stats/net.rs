//! Ratios of two costs of one run, each without the cost of its own empty loop.

use super::{Ranged, block_interval, block_medians, median};
use crate::model::Measurement;
use std::ops::Range;

/// A case, and the loop without a body that was measured in the same way.
#[derive(Clone, Copy, Debug)]
pub struct WithLoop<'a> {
    pub case: &'a Measurement,
    pub empty: &'a Measurement,
}

/// a / b, both net of their empty loops: the ratio of the differences of medians over the blocks in `range`, with the interval of
/// the ratios of single blocks, which have all four in common. `None` where a net cost is indistinguishable from zero.
///
/// Not the median over rounds, as for other ratios: the slots of single calls are too short for a net cost of their own.
pub fn net_ratio(a: WithLoop, b: WithLoop, range: &Range<usize>) -> Option<Ranged> {
    let value = ratio(a.net(range)?, b.net(range)?)?;
    let (of_a, of_b) = (a.nets(), b.nets());
    let blocks = of_a.iter().zip(&of_b).enumerate().filter(|(i, _)| range.contains(i)).map(|(_, pair)| pair);
    let known = blocks.filter(|(a, b)| a.is_finite() && b.is_finite());
    // A block whose divisor is not above zero is at the end of the order, and none that an interval could end at.
    let mut ratios: Vec<f64> = known.map(|(a, b)| if *b > 0.0 { a / b } else { f64::INFINITY }).collect();
    let interval = block_interval(&mut ratios).map(|interval| interval.holding(value));
    match interval {
        Some(interval) if interval.low <= 0.0 || !interval.high.is_finite() => None,
        _ => Some(Ranged { value, low_high: interval.map(|i| (i.low, i.high)) }),
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (a > 0.0 && b > 0.0).then(|| a / b).filter(|ratio| ratio.is_finite())
}

impl WithLoop<'_> {
    /// The difference of the medians over the blocks in `range`, or over all if it holds no sample.
    fn net(&self, range: &Range<usize>) -> Option<f64> {
        Some(median_within(self.case, range)? - median_within(self.empty, range)?)
    }

    /// The same of each block; NaN where one has no sample.
    fn nets(&self) -> Vec<f64> {
        let (case, empty) = (block_medians(self.case), block_medians(self.empty));
        case.iter().zip(&empty).map(|(case, empty)| case - empty).collect()
    }
}

fn median_within(m: &Measurement, range: &Range<usize>) -> Option<f64> {
    let samples = |range: &Range<usize>| {
        let blocks = m.blocks.iter().enumerate().filter(|(i, _)| range.contains(i));
        blocks.flat_map(|(_, block)| block.slots.iter().flatten().map(|ns| *ns as f64 / m.iterations as f64)).collect()
    };
    median(samples(range)).or_else(|| median(samples(&(0..usize::MAX))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::measurement;
    use super::*;

    const ALL: Range<usize> = 0..usize::MAX;

    fn of(ns: impl Fn(u64) -> u64) -> Measurement {
        let blocks: Vec<[u64; 3]> = (0..12).map(|i| [ns(i); 3]).collect();
        measurement(&blocks.iter().map(|block| block.as_slice()).collect::<Vec<_>>())
    }

    #[test]
    fn loops_are_subtracted_before_the_ratio() {
        let (cold, warm) = (of(|_| 1030), of(|_| 102));
        let (cold_loop, warm_loop) = (of(|_| 30), of(|_| 2));
        let a = WithLoop { case: &cold, empty: &cold_loop };
        let b = WithLoop { case: &warm, empty: &warm_loop };
        assert_eq!(net_ratio(a, b, &ALL), Some(Ranged { value: 10.0, low_high: Some((10.0, 10.0)) }));
        assert_eq!(net_ratio(a, b, &(0..5)), Some(Ranged { value: 10.0, low_high: None }), "too few blocks");
    }

    #[test]
    fn a_drift_that_all_share_cancels() {
        let drifting = |ns: u64| of(move |i| ns * (10 + i));
        let (cold, warm, empty) = (drifting(900), drifting(110), drifting(10));
        let with_loop = |case| WithLoop { case, empty: &empty };
        let found = net_ratio(with_loop(&cold), with_loop(&warm), &ALL).unwrap();
        let (low, high) = found.low_high.unwrap();
        assert!((found.value - 8.9).abs() < 1e-9 && (low - 8.9).abs() < 1e-9 && (high - 8.9).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_more_than_its_loop_has_no_ratio() {
        let (cold, empty, scattered) = (of(|_| 100), of(|_| 30), of(|i| 28 + i % 6));
        let (a, none) = (WithLoop { case: &cold, empty: &empty }, WithLoop { case: &empty, empty: &empty });
        let doubtful = WithLoop { case: &scattered, empty: &empty };
        assert_eq!((net_ratio(a, none, &ALL), net_ratio(none, a, &ALL)), (None, None));
        assert_eq!((net_ratio(a, doubtful, &ALL), net_ratio(doubtful, a, &ALL)), (None, None));
    }
}
