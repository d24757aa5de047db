//! Ratios of two cases of one run, paired round by round.

use super::{block_interval, median};
use crate::model::{Block, Measurement};

/// a / b, with the interval of the block medians of the paired log-ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    /// `None` with fewer than 10 common blocks.
    pub low_high: Option<(f64, f64)>,
}

/// The median over rounds of ln a - ln b. Rounds in which either has no sample are left out; `None` if that is all.
pub fn paired_ratio(a: &Measurement, b: &Measurement) -> Option<Ratio> {
    let logs = block_log_ratios(a, b);
    let ratio = median(logs.iter().flatten().copied().collect())?.exp();
    let mut medians: Vec<f64> = logs.into_iter().filter_map(median).collect();
    let interval = block_interval(&mut medians);
    Some(Ratio { ratio, low_high: interval.map(|i| (i.low.exp(), i.high.exp())) })
}

/// ln a - ln b of every common round, by block.
pub(super) fn block_log_ratios(a: &Measurement, b: &Measurement) -> Vec<Vec<f64>> {
    let per_iteration = (b.iterations as f64 / a.iterations as f64).ln();
    a.blocks.iter().zip(&b.blocks).map(|(a, b)| log_ratios(a, b, per_iteration)).collect()
}

fn log_ratios(a: &Block, b: &Block, per_iteration: f64) -> Vec<f64> {
    let slot = |slot: &Vec<u64>| median(slot.iter().map(|ns| *ns as f64).collect());
    let pairs = a.slots.iter().zip(&b.slots).filter_map(|(a, b)| Some((slot(a)?, slot(b)?)));
    pairs.filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|(a, b)| a.ln() - b.ln() + per_iteration).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::measurement;
    use super::*;

    #[test]
    fn a_common_drift_cancels() {
        let slots: Vec<[u64; 1]> = (0..12).map(|i| [1000 + 100 * i]).collect();
        let twice: Vec<[u64; 1]> = slots.iter().map(|s| [s[0] * 2]).collect();
        let of = |slots: &[[u64; 1]]| measurement(&slots.iter().map(|s| s.as_slice()).collect::<Vec<_>>());
        let ratio = paired_ratio(&of(&twice), &of(&slots)).unwrap();
        let (low, high) = ratio.low_high.unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-9 && (low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_in_common_is_no_ratio() {
        assert!(paired_ratio(&measurement(&[&[]]), &measurement(&[&[1]])).is_none());
    }
}
