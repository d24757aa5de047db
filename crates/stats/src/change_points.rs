//! The points at which a series of results changed for good: E-divisive with a permutation test (D. S. Matteson and N. A. James, A
//! Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, 2014). Unlike the paper, each part is tested
//! by permuting that part alone, which finds the same changes in less time.
//!
//! Chosen over PELT (R. Killick and others, 2012) because it assumes no distribution, needs no penalty to be chosen, and estimates how
//! likely each change is due to chance; a series of benchmarks has few points with heavy tails. D. Daly and others (The Use of
//! Change Point Detection to Identify Software Performance Regressions in a Continuous Integration System, 2020) use it too.
//!
//! The statistic takes quadratic time, and testing a change takes a thousand of them: it is for series of tens of points. Assumes
//! that results between two changes are exchangeable. A slow trend appears as one or more steps.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// With fewer points no arrangement is rare enough to be a change.
const FEWEST_RUNS: usize = 10;

/// A state must last this many points: one or two outliers are not a change.
const SHORTEST: usize = 3;
const PERMUTATIONS: u32 = 999;
// Twice as many would double the false changes; fewer would find real ones later.
/// Permutations that may look as changed as the series does: 1% of them, the series itself included.
const ALLOWED: u32 = 9;
/// The permutations of a series are always the same, so reading the same files twice gives the same result.
const SEED: u64 = 1;

/// Ascending indices at which a new state begins; none of fewer than `FEWEST_RUNS` points, or if one is not finite.
pub fn change_points(series: &[f64]) -> Vec<usize> {
    if series.len() < FEWEST_RUNS || series.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut changes = Vec::new();
    let mut parts = vec![(0, series.len())];
    while let Some((start, end)) = parts.pop() {
        if let Some(at) = change(&series[start..end], &mut random) {
            changes.push(start + at);
            parts.extend([(start, start + at), (start + at, end)]);
        }
    }
    changes.sort_unstable();
    changes
}

fn change(part: &[f64], random: &mut ChaCha8Rng) -> Option<usize> {
    let (at, divergence) = best_split(part)?;
    if divergence <= 0.0 {
        return None;
    }
    let mut shuffled = part.to_vec();
    let mut as_changed = 0;
    for _ in 0..PERMUTATIONS {
        shuffled.shuffle(random);
        // Sums in another order differ in their last digits and must still count as equal.
        as_changed += u32::from(
            best_split(&shuffled).is_some_and(|(_, other)| other >= divergence * (1.0 - 1e-9)),
        );
        if as_changed > ALLOWED {
            return None;
        }
    }
    Some(at)
}

/// The split with the largest distance between the points before it and those behind it, up to any later end, and that
/// distance: the scaled energy distance of the paper's equations 5 and 7, with exponent 1. The last of equal ones.
fn best_split(part: &[f64]) -> Option<(usize, f64)> {
    let length = part.len();
    let last = length.checked_sub(SHORTEST)?;
    let from_start = from_start(part);
    // Divisions would take most of the time.
    let part_of: Vec<f64> = (0..=length).map(|count| 1.0 / count as f64).collect();
    // At `end`: the sum of the distances over all pairs in `at..end`.
    let mut within = vec![0.0; length + 1];
    let mut best: Option<(usize, f64)> = None;
    for at in (SHORTEST..length).rev() {
        add_point(part, at, &mut within);
        let ends = if at <= last {
            at + SHORTEST
        } else {
            length + 1
        };
        let before = from_start[at];
        for end in (ends..=length).rev() {
            let (n, m, after) = (at as f64, (end - at) as f64, within[end]);
            let across = from_start[end] - before - after;
            // (2 across / nm - before / pairs of n - after / pairs of m) nm / (n + m)
            let apart = across - before * m * part_of[at - 1] - after * n * part_of[end - at - 1];
            let distance = 2.0 * apart * part_of[end];
            if best.is_none_or(|(_, most)| distance > most) {
                best = Some((at, distance));
            }
        }
    }
    best
}

/// At `end`: the sum of the distances over all pairs before it.
fn from_start(points: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; points.len() + 1];
    for end in 1..=points.len() {
        let last = points[end - 1];
        sums[end] = sums[end - 1]
            + points[..end - 1]
                .iter()
                .map(|point| (point - last).abs())
                .sum::<f64>();
    }
    sums
}

fn add_point(points: &[f64], first: usize, sums: &mut [f64]) {
    let mut from_first = 0.0;
    for (point, sum) in points[first + 1..].iter().zip(&mut sums[first + 2..]) {
        from_first += (points[first] - point).abs();
        *sum += from_first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Points around each level, scattered by up to `scatter` to either side.
    fn states(levels: &[(usize, f64)], scatter: f64, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let all = levels
            .iter()
            .flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        all.map(|level| level + scatter * (2.0 * random.random::<f64>() - 1.0))
            .collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        assert_eq!(change_points(&states(&[(8, 4.6), (8, 4.7)], 0.01, 1)), [8]);
        assert_eq!(
            change_points(&states(&[(10, 4.6), (9, 4.9), (11, 4.7)], 0.02, 2)),
            [10, 19]
        );
        assert_eq!(change_points(&states(&[(6, 1.0), (6, 2.0)], 0.0, 3)), [6]);
    }

    #[test]
    fn what_did_not_change_is_no_change() {
        let wrong = (0..100)
            .filter(|seed| !change_points(&states(&[(20, 4.6)], 0.05, *seed)).is_empty())
            .count();
        assert!(wrong <= 4, "{wrong} of 100");
        assert!(change_points(&[1.0; 30]).is_empty());
    }

    #[test]
    fn outliers_few_points_and_no_numbers_are_no_change() {
        let mut outlier = states(&[(16, 4.6)], 0.01, 4);
        outlier[7] = 9.0;
        let few = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0];
        for series in [&outlier[..], &few, &[f64::NAN; 12], &[]] {
            assert!(change_points(series).is_empty(), "{series:?}");
        }
    }
}
