//! Changes of the kernel's own state during a run: the reference call moves, user-mode work does not.

use super::median;
use std::ops::Range;

/// The reference must move by more than this share while the spin moves by less than half of it.
const MOVED: f64 = 0.03;
/// A state must last this many blocks to be one.
const SHORTEST: usize = 3;

/// Finds the block at which the cost of a reference system call jumped while user-mode work stayed, from the block
/// medians of both. Returns the longer of the two stretches, which estimates should use, and the change as a share.
pub fn state_change(reference: &[f64], spin: &[f64]) -> Option<(Range<usize>, f64)> {
    let length = reference.len().min(spin.len());
    let splits = SHORTEST..(length + 1).saturating_sub(SHORTEST);
    let change = |series: &[f64], at: usize| Some(middle(&series[at..length])? / middle(&series[..at])? - 1.0);
    let candidates = splits.filter_map(|at| Some((at, change(reference, at)?, change(spin, at)?)));
    let moved = candidates.filter(|(_, reference, spin)| reference.abs() > MOVED && spin.abs() < MOVED / 2.0);
    let (at, share, _) = moved.max_by(|a, b| separation(reference, a.0).total_cmp(&separation(reference, b.0)))?;
    let longer = if at * 2 >= length { 0..at } else { at..length };
    Some((longer, share))
}

fn middle(values: &[f64]) -> Option<f64> {
    median(values.iter().copied().filter(|v| v.is_finite()).collect())
}

/// How well a split explains the series: the smaller the absolute deviations within both parts, the better.
fn separation(series: &[f64], at: usize) -> f64 {
    let deviations = |part: &[f64]| {
        let centre = middle(part).unwrap_or(0.0);
        part.iter().filter(|v| v.is_finite()).map(|v| (v - centre).abs()).sum::<f64>()
    };
    -(deviations(&series[..at]) + deviations(&series[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_reference_alone_is_a_change_of_state() {
        let reference: Vec<f64> = (0..12).map(|i| if i < 4 { 100.0 } else { 134.0 }).collect();
        let (longer, share) = state_change(&reference, &[80.0; 12]).unwrap();
        assert_eq!(longer, 4..12);
        assert!((share - 0.34).abs() < 1e-9);
    }

    #[test]
    fn what_moves_both_or_lasts_one_block_is_not() {
        let slow: Vec<f64> = (0..12).map(|i| if i < 6 { 100.0 } else { 120.0 }).collect();
        assert_eq!(state_change(&slow, &slow), None);
        let mut blip = [100.0; 12];
        blip[5] = 200.0;
        assert_eq!(state_change(&blip, &[80.0; 12]), None);
        assert_eq!(state_change(&[], &[]), None);
    }
}
