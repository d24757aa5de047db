//! Differences of two cases of one run, paired round by round.

use super::{block_interval, median};
use crate::model::{Block, Measurement};

/// a - b in nanoseconds per iteration, with the interval of the block medians of the paired difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    pub ns: f64,
    /// `None` with fewer than 10 common blocks.
    pub low_high: Option<(f64, f64)>,
}

/// The median over rounds of a - b. Rounds in which either has no sample are left out; `None` if that is all.
pub fn paired_difference(a: &Measurement, b: &Measurement) -> Option<Difference> {
    let per_iteration = (a.iterations as f64, b.iterations as f64);
    let blocks = a.blocks.iter().zip(&b.blocks);
    let rounds: Vec<Vec<f64>> = blocks.map(|(a, b)| of_block(a, b, per_iteration)).collect();
    let ns = median(rounds.iter().flatten().copied().collect())?;
    let mut medians: Vec<f64> = rounds.into_iter().filter_map(median).collect();
    let interval = block_interval(&mut medians).map(|interval| interval.holding(ns));
    Some(Difference { ns, low_high: interval.map(|i| (i.low, i.high)) })
}

fn of_block(a: &Block, b: &Block, (of_a, of_b): (f64, f64)) -> Vec<f64> {
    let slot = |slot: &Vec<u64>| median(slot.iter().map(|ns| *ns as f64).collect());
    let pairs = a.slots.iter().zip(&b.slots).filter_map(|(a, b)| Some((slot(a)?, slot(b)?)));
    pairs.map(|(a, b)| a / of_a - b / of_b).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::measurement;
    use super::*;

    #[test]
    fn a_common_drift_cancels() {
        let slots: Vec<[u64; 1]> = (0..12).map(|i| [1000 + 100 * i]).collect();
        let more: Vec<[u64; 1]> = slots.iter().map(|s| [s[0] + 50]).collect();
        let of = |slots: &[[u64; 1]]| measurement(&slots.iter().map(|s| s.as_slice()).collect::<Vec<_>>());
        let difference = paired_difference(&of(&more), &of(&slots)).unwrap();
        assert_eq!(difference, Difference { ns: 50.0, low_high: Some((50.0, 50.0)) });
        let few = paired_difference(&of(&more[..5]), &of(&slots[..5])).unwrap();
        assert_eq!(few.low_high, None);
        assert!(paired_difference(&measurement(&[&[]]), &measurement(&[&[1]])).is_none());
    }
}
