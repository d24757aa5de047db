//! Differences and ratios of two cases of one run, paired round by round, so that what disturbed both cancels.

use super::{block_interval, median};
use crate::model::{Block, Measurement};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A value with its interval of at least 95%.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranged {
    pub value: f64,
    /// The ends of the interval; `None` with too few time blocks, and for published results.
    #[serde(rename = "interval", serialize_with = "ends")]
    #[schemars(with = "Option<Ends>")]
    pub low_high: Option<(f64, f64)>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Ends {
    low: f64,
    high: f64,
}

pub(super) fn ends<S: Serializer>(low_high: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    low_high.map(|(low, high)| Ends { low, high }).serialize(serializer)
}

/// The median over rounds of a - b in nanoseconds per iteration, with the interval of its block medians. Rounds in which either
/// has no sample are left out; `None` without any round.
pub fn paired_difference(a: &Measurement, b: &Measurement) -> Option<Ranged> {
    let (of_a, of_b) = (a.iterations as f64, b.iterations as f64);
    over_rounds(rounds(a, b, |a, b| Some(a / of_a - b / of_b)))
}

/// a / b: the median over rounds of ln a - ln b, otherwise the same.
pub fn paired_ratio(a: &Measurement, b: &Measurement) -> Option<Ranged> {
    let Ranged { value, low_high } = over_rounds(log_ratios(a, b))?;
    Some(Ranged { value: value.exp(), low_high: low_high.map(|(low, high)| (low.exp(), high.exp())) })
}

/// The median of all rounds, which are given by time block, and the interval of the blocks' medians, which holds it.
fn over_rounds(rounds: Vec<Vec<f64>>) -> Option<Ranged> {
    let value = median(rounds.concat())?;
    let mut medians: Vec<f64> = rounds.into_iter().filter_map(median).collect();
    let interval = block_interval(&mut medians).map(|interval| interval.holding(value));
    Some(Ranged { value, low_high: interval.map(|i| (i.low, i.high)) })
}

/// ln a - ln b of each round, by time block, for as many blocks as both have; a block without common rounds is empty.
pub fn log_ratios(a: &Measurement, b: &Measurement) -> Vec<Vec<f64>> {
    let per_iteration = (b.iterations as f64 / a.iterations as f64).ln();
    rounds(a, b, |a, b| Some(a.ln() - b.ln() + per_iteration).filter(|log| a > 0.0 && b > 0.0 && log.is_finite()))
}

/// What `of` makes of the batch medians of each round that both have, by time block.
fn rounds(a: &Measurement, b: &Measurement, of: impl Fn(f64, f64) -> Option<f64>) -> Vec<Vec<f64>> {
    let slot = |slot: &Vec<u64>| median(slot.iter().map(|ns| *ns as f64).collect());
    let block = |(a, b): (&Block, &Block)| {
        let slots = a.slots.iter().zip(&b.slots);
        slots.filter_map(|(a, b)| of(slot(a)?, slot(b)?)).collect()
    };
    a.blocks.iter().zip(&b.blocks).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::measurement;
    use super::*;

    fn of(slots: &[[u64; 1]]) -> Measurement {
        measurement(&slots.iter().map(|s| s.as_slice()).collect::<Vec<_>>())
    }

    #[test]
    fn a_common_drift_cancels() {
        let slots: Vec<[u64; 1]> = (0..12).map(|i| [1000 + 100 * i]).collect();
        let twice: Vec<[u64; 1]> = slots.iter().map(|s| [s[0] * 2]).collect();
        let more: Vec<[u64; 1]> = slots.iter().map(|s| [s[0] + 50]).collect();
        let ratio = paired_ratio(&of(&twice), &of(&slots)).unwrap();
        let (low, high) = ratio.low_high.unwrap();
        assert!((ratio.value - 2.0).abs() < 1e-9 && (low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9);
        let difference = paired_difference(&of(&more), &of(&slots)).unwrap();
        assert_eq!(difference, Ranged { value: 50.0, low_high: Some((50.0, 50.0)) });
        assert_eq!(paired_difference(&of(&more[..5]), &of(&slots[..5])).unwrap().low_high, None);
    }

    /// One block has most of the rounds, and a ratio of its own.
    #[test]
    fn an_interval_holds_its_value() {
        let rounds = |i: u64| if i == 0 { 100 } else { 1 };
        let of = |ns: fn(u64) -> u64| {
            let block = |i| Block { launch: 0, slots: vec![vec![ns(i)]; rounds(i)] };
            Measurement { iterations: 1, blocks: (0..12).map(block).collect(), ..Measurement::default() }
        };
        let (a, b) = (of(|i| if i == 0 { 200 } else { 100 }), of(|_| 100));
        for found in [paired_ratio(&a, &b).unwrap(), paired_difference(&a, &b).unwrap()] {
            let (low, high) = found.low_high.unwrap();
            assert!(low <= found.value && found.value <= high && low < high, "{found:?}");
        }
    }

    #[test]
    fn nothing_in_common_is_no_value() {
        let (none, one) = (measurement(&[&[]]), measurement(&[&[1]]));
        assert_eq!((paired_ratio(&none, &one), paired_difference(&none, &one)), (None, None));
    }
}
