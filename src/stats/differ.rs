//! Whether two cases of one run differ at all, also when many pairs are tested at once.
//!
//! Not how much they differ: that is `paired_ratio`. The matrix of `report::cmpthese` calls it.

use super::interval::{FEWEST_BLOCKS, heads_at_most};
use super::median;
use super::paired::log_ratios;
use crate::model::Measurement;

/// The probability that the blocks lean to one side as much as they do if the two cases cost the same: the sign test
/// over the block medians of the paired log-ratio. `None` with fewer than 10 common blocks.
///
/// Assumes that blocks are independent, and nothing about their distribution. It is the dual of `paired_ratio`'s interval:
/// at confidence 1 - p, that interval just excludes 1.
pub fn paired_p_value(a: &Measurement, b: &Measurement) -> Option<f64> {
    let medians: Vec<f64> = log_ratios(a, b).into_iter().filter_map(median).collect();
    (medians.len() >= FEWEST_BLOCKS).then(|| sign_test(&medians))
}

/// The two-sided sign test of a median of 0. A value of exactly 0 counts against either side, because an interval that ends
/// at 0 includes it.
fn sign_test(values: &[f64]) -> f64 {
    let above = values.iter().filter(|v| **v > 0.0).count();
    let below = values.iter().filter(|v| **v < 0.0).count();
    two_sided(values.len(), values.len() - above.max(below))
}

/// The smallest probability that `blocks` blocks can show: all on one side.
pub fn least_p_value(blocks: usize) -> f64 {
    two_sided(blocks, 0)
}

/// Twice the probability of at most `minority` heads in `count` tosses of a fair coin, at most 1.
fn two_sided(count: usize, minority: usize) -> f64 {
    heads_at_most(count).nth(minority).map_or(1.0, |tail| (2.0 * tail).min(1.0))
}

/// Which of these tests hold when all are done together: Holm's step-down method (S. Holm, A Simple Sequentially
/// Rejective Multiple Test Procedure, 1979). The chance of even one wrong yes is at most `level`, however the tests depend
/// on each other.
pub fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut holds = vec![false; p_values.len()];
    for (rank, i) in order.into_iter().enumerate() {
        if p_values[i] > level / (p_values.len() - rank) as f64 {
            break;
        }
        holds[i] = true;
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::super::tests::measurement;
    use super::super::{block_interval, paired_ratio};
    use super::*;

    #[test]
    fn the_sign_test_is_the_binomials() {
        for (count, minority, p) in [(10, 0, 0.001953), (10, 1, 0.021484), (12, 3, 0.145996), (20, 5, 0.041389)] {
            assert!((two_sided(count, minority) - p).abs() < 1e-6, "{count} {minority}");
        }
        assert_eq!((two_sided(12, 6), two_sided(11, 6), two_sided(0, 0)), (1.0, 1.0, 1.0));
        assert!(two_sided(4000, 1990) > 0.7, "where 0.5^n is 0");
        assert!((sign_test(&[1.0, 2.0, 0.0, -1.0, 3.0]) - two_sided(5, 2)).abs() < 1e-12);
    }

    #[test]
    fn the_interval_leaves_1_out_where_p_is_under_its_level() {
        for lower in 0..=6usize {
            let mut values: Vec<f64> = (0..20).map(|i| if i < lower { -1.0 } else { 1.0 } * (1.0 + i as f64)).collect();
            let p = sign_test(&values);
            let interval = block_interval(&mut values).unwrap();
            assert_eq!(interval.low > 0.0, p <= 1.0 - interval.level + 1e-12, "{lower} below: p {p}");
        }
    }

    #[test]
    fn pairs_need_ten_common_blocks() {
        let blocks: Vec<Vec<u64>> = (0..12).map(|i| vec![100 + i]).collect();
        let of = |blocks: &[Vec<u64>]| measurement(&blocks.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let (long, short) = (of(&blocks), of(&blocks[..9]));
        assert_eq!(paired_p_value(&long, &short), None);
        assert_eq!(paired_p_value(&long, &long), Some(1.0));
        let slower: Vec<Vec<u64>> = blocks.iter().map(|b| vec![b[0] + 1]).collect();
        assert_eq!(paired_p_value(&of(&slower), &long), Some(least_p_value(12)));
        assert!(paired_ratio(&of(&slower), &long).unwrap().low_high.unwrap().0 > 1.0);
    }

    #[test]
    fn holm_steps_down_and_stops() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(holm(&[0.04], 0.05), [true]);
        assert_eq!(holm(&[0.04, 0.04], 0.05), [false, false]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
    }
}
