//! Changes of the kernel's state during a run: the reference call's cost moves, user-mode work's does not.

use super::speed;
use std::cmp::Ordering;
use std::ops::Range;

/// The reference must move by more than this share while the spin moves by less than half of it.
const MOVED: f64 = 0.03;
/// A state must last longer than the blocks of one launch (4), because the memory layout of a launch shifts costs too.
const SHORTEST: usize = 5;
/// The jump must be this many times the scatter of blocks within both states.
const SCATTER: f64 = 4.0;

/// Finds the block at which the cost of a reference system call jumped while that of user-mode work did not, from the block
/// medians of both. Returns the longer of the two stretches, for estimates, and the change as a share. Of two equally long
/// ones it is the faster: what slows the kernel for a while, a tracer for example, is not part of its cost.
pub fn state_change(reference: &[f64], spin: &[f64]) -> Option<(Range<usize>, f64)> {
    let length = reference.len().min(spin.len());
    let best = |a: &usize, b: &usize| {
        separation(&reference[..length], *a).total_cmp(&separation(&reference[..length], *b))
    };
    let at = (1..length).max_by(best)?;
    let change = |series: &[f64]| Some(middle(&series[at..length])? / middle(&series[..at])? - 1.0);
    let (share, of_spin) = (change(reference)?, change(spin)?);
    let lasts = at >= SHORTEST && length - at >= SHORTEST;
    let moved = share.abs() > MOVED && of_spin.abs() < MOVED / 2.0;
    if !(lasts && moved && is_significant(&reference[..length], at)) {
        return None;
    }
    let before = match (2 * at).cmp(&length) {
        Ordering::Equal => share > 0.0,
        longer => longer.is_gt(),
    };
    Some((if before { 0..at } else { at..length }, share))
}

/// Whether the step at `at` is large against the median absolute deviation within both parts.
fn is_significant(series: &[f64], at: usize) -> bool {
    let (before, after) = series.split_at(at);
    let (Some(low), Some(high)) = (middle(before), middle(after)) else {
        return false;
    };
    let deviations = before
        .iter()
        .map(|v| (v - low).abs())
        .chain(after.iter().map(|v| (v - high).abs()));
    let scatter = middle(&deviations.collect::<Vec<_>>()).unwrap_or(0.0);
    (high - low).abs() > SCATTER * scatter
}

fn middle(values: &[f64]) -> Option<f64> {
    speed::middle(values.iter().copied())
}

/// How well a split explains the series: minus the absolute deviations within both parts.
fn separation(series: &[f64], at: usize) -> f64 {
    let deviations = |part: &[f64]| {
        let centre = middle(part).unwrap_or(0.0);
        part.iter()
            .filter(|v| v.is_finite())
            .map(|v| (v - centre).abs())
            .sum::<f64>()
    };
    -(deviations(&series[..at]) + deviations(&series[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_reference_alone_is_a_change_of_state() {
        let reference: Vec<f64> = (0..12).map(|i| if i < 5 { 100.0 } else { 134.0 }).collect();
        let (longer, share) = state_change(&reference, &[80.0; 12]).unwrap();
        assert_eq!(longer, 5..12);
        assert!((share - 0.34).abs() < 1e-9);
    }

    #[test]
    fn a_jump_is_large_against_the_scatter_of_both_states() {
        let state = |centre: f64, scatter: f64| {
            (0..8).map(move |i| centre + if i % 2 == 0 { scatter } else { -scatter })
        };
        let jump = |scatter| {
            state(100.0, scatter)
                .chain(state(134.0, scatter))
                .collect::<Vec<f64>>()
        };
        assert!(state_change(&jump(3.0), &[80.0; 16]).is_some());
        assert_eq!(state_change(&jump(12.0), &[80.0; 16]), None);
    }

    #[test]
    fn of_two_equally_long_states_the_faster_one_counts() {
        let rising: Vec<f64> = (0..12).map(|i| if i < 6 { 100.0 } else { 134.0 }).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        let kept = |reference: &[f64]| state_change(reference, &[80.0; 12]).unwrap().0;
        assert_eq!([kept(&rising), kept(&falling)], [0..6, 6..12]);
    }

    #[test]
    fn what_moves_both_or_lasts_one_block_is_not() {
        let slow: Vec<f64> = (0..12).map(|i| if i < 6 { 100.0 } else { 120.0 }).collect();
        assert_eq!(state_change(&slow, &slow), None);
        let mut blip = [100.0; 12];
        blip[5] = 200.0;
        assert_eq!(state_change(&blip, &[80.0; 12]), None);
        let launch: Vec<f64> = (0..12).map(|i| if i < 8 { 100.0 } else { 96.0 }).collect();
        assert_eq!(
            state_change(&launch, &[80.0; 12]),
            None,
            "one launch's layout"
        );
        let noisy: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i * 7 % 12)).collect();
        assert_eq!(state_change(&noisy, &[80.0; 12]), None);
        assert_eq!(state_change(&[], &[]), None);
    }
}
