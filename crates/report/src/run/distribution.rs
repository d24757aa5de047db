//! Makes a small histogram from the samples of a case.

use crate::figure::{Distribution, heights};
use crate::run::names::case_name;
use model::{Measurement, Record};
use stats::median;

const BINS: usize = 32;
/// One in this many samples at each end is in the outermost bin, however far away it is.
const OUTER: usize = 100;
/// To both sides of the median at least, so that low variation looks low.
const LEAST: f64 = 0.05;

pub const BINS_RULE: &str = "each histogram has its own axis, at least ±5% of the median; the outer 1% of samples at either end are in the outermost bins; heights are square roots of counts, so that rare samples are visible";

/// `None` without finite samples.
pub fn distribution(record: &Record, m: &Measurement) -> Option<Distribution> {
    let mut samples: Vec<f64> = m
        .samples()
        .map(|ns| ns.0)
        .filter(|ns| ns.is_finite())
        .collect();
    samples.sort_by(f64::total_cmp);
    let (low, high) = ends(&samples)?;
    let places = samples
        .iter()
        .map(|sample| ((sample - low) / (high - low), 1));
    Some(Distribution {
        label: case_name(&record.case),
        low,
        high,
        heights: heights(places, BINS),
        samples: samples.len(),
    })
}

fn ends(sorted: &[f64]) -> Option<(f64, f64)> {
    let middle = median(sorted.to_vec())?;
    let outer = sorted.len() / OUTER;
    let (first, last) = (*sorted.get(outer)?, *sorted.get(sorted.len() - 1 - outer)?);
    let least = if middle > 0.0 { middle * LEAST } else { 0.5 };
    // Costs are not negative.
    Some((
        first.min((middle - least).max(0.0)),
        last.max(middle + least),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::TALLEST;
    use model::Block;
    use model::fixtures::record;

    fn drawn(samples: Vec<u64>) -> Option<Distribution> {
        let blocks = vec![Block {
            launch: 0,
            slots: vec![samples],
        }];
        let m = Measurement {
            iterations: 1,
            blocks,
            ..Measurement::default()
        };
        distribution(&record("io.read", 1), &m)
    }

    #[test]
    fn equal_samples_are_one_column_in_the_middle() {
        let one = drawn(vec![1000; 50]).unwrap();
        assert_eq!((one.low, one.high, one.samples), (950.0, 1050.0, 50));
        assert_eq!(one.heights.iter().filter(|h| **h > 0).count(), 1);
        assert_eq!(one.heights[BINS / 2], TALLEST);
    }

    #[test]
    fn rare_samples_are_seen_and_far_ones_stand_at_the_end() {
        let mut samples = vec![1000; 990];
        samples.extend([1040, 50_000, 60_000]);
        let one = drawn(samples).unwrap();
        assert_eq!((one.high, one.heights[BINS - 1]), (1050.0, 1));
        assert_eq!(one.heights.iter().filter(|h| **h > 0).count(), 3);
    }

    #[test]
    fn nothing_zero_and_the_largest_numbers_do_no_harm() {
        assert_eq!(drawn(vec![]), None);
        assert_eq!(drawn(vec![0; 10]).unwrap().heights.len(), BINS);
        assert_eq!(drawn(vec![0, u64::MAX]).unwrap().heights.len(), BINS);
    }
}
