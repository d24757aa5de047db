//! Where a series of figures changed for good: E-divisive with a permutation test (D. S. Matteson and N. A. James, A
//! Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, 2014). Called by `compare::history`.
//!
//! This one, and not PELT (R. Killick and others, 2012), because it assumes no distribution, needs no penalty that somebody
//! must choose, and says how likely each change is chance; a series of benchmarks has few points with heavy tails.
//! D. Daly and others (The Use of Change Point Detection to Identify Software Performance Regressions in a Continuous
//! Integration System, 2020) use it for the same purpose. One thing differs from the paper: each part is tested by
//! permuting that part alone, which finds the same and costs less.
//!
//! Assumes that figures between two changes are exchangeable. A slow trend comes out as one or more steps.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// With fewer points no arrangement is rare enough to be called a change.
pub const FEWEST_RUNS: usize = 10;

/// A state must hold for so many points: one outlier, or two, are no change.
const SHORTEST: usize = 3;
/// Permutations that a change is tested with.
const PERMUTATIONS: u32 = 999;
/// The share of permutations that may look as changed as the series does.
const LEVEL: f64 = 0.01;
/// The permutations of a series are always the same ones: two readings of the same files agree.
const SEED: u64 = 1;

/// The indices at which a new state begins, ascending; none of fewer than [`FEWEST_RUNS`] points, or if one is not finite.
pub fn change_points(series: &[f64]) -> Vec<usize> {
    if series.len() < FEWEST_RUNS || series.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut found = Vec::new();
    let mut parts = vec![(0, series.len())];
    while let Some((start, end)) = parts.pop() {
        if let Some(at) = change(&series[start..end], &mut random) {
            found.push(start + at);
            parts.extend([(start, start + at), (start + at, end)]);
        }
    }
    found.sort_unstable();
    found
}

/// The likeliest place of a change, if it is none of chance.
fn change(part: &[f64], random: &mut ChaCha8Rng) -> Option<usize> {
    let (at, divergence) = best_split(part)?;
    if divergence <= 0.0 {
        return None;
    }
    let allowed = (LEVEL * f64::from(PERMUTATIONS + 1)) as u32 - 1;
    let mut shuffled = part.to_vec();
    let mut as_changed = 0;
    for _ in 0..PERMUTATIONS {
        shuffled.shuffle(random);
        // Sums in another order differ in their last digits: what is equal counts as equal.
        as_changed += u32::from(best_split(&shuffled).is_some_and(|(_, other)| other >= divergence * (1.0 - 1e-9)));
        if as_changed > allowed {
            return None;
        }
    }
    Some(at)
}

/// The split that parts the points before it most from those behind, up to any later end; and by how much: the scaled
/// energy distance of the paper's equations 5 and 7, with exponent 1.
fn best_split(part: &[f64]) -> Option<(usize, f64)> {
    let sums = Distances::of(part);
    let ends = |at: usize| (at + SHORTEST..=part.len()).map(move |end| (at, end));
    let splits = (SHORTEST..=part.len().checked_sub(SHORTEST)?).flat_map(ends);
    let found = splits.map(|(at, end)| (at, sums.divergence(at, end)));
    found.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Sums of distances between points: from the start, and of any stretch.
struct Distances {
    length: usize,
    /// At `first * (length + 1) + end`: over all pairs in `first..end`.
    within: Vec<f64>,
}

impl Distances {
    fn of(points: &[f64]) -> Distances {
        let length = points.len();
        let mut within = vec![0.0; (length + 1) * (length + 1)];
        for first in (0..length).rev() {
            let mut of_first = 0.0;
            for end in first + 1..=length {
                of_first += (points[first] - points[end - 1]).abs();
                within[first * (length + 1) + end] = within[(first + 1) * (length + 1) + end] + of_first;
            }
        }
        Distances { length, within }
    }

    fn within(&self, first: usize, end: usize) -> f64 {
        self.within[first * (self.length + 1) + end]
    }

    fn divergence(&self, at: usize, end: usize) -> f64 {
        let (n, m) = (at as f64, (end - at) as f64);
        let (before, after) = (self.within(0, at), self.within(at, end));
        let across = self.within(0, end) - before - after;
        let pairs = |count: f64| count * (count - 1.0) / 2.0;
        let energy = 2.0 * across / (n * m) - before / pairs(n) - after / pairs(m);
        energy * n * m / (n + m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Points about a level, scattered by up to `scatter` to either side.
    fn states(levels: &[(usize, f64)], scatter: f64, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let all = levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        all.map(|level| level + scatter * (2.0 * random.random::<f64>() - 1.0)).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        assert_eq!(change_points(&states(&[(8, 4.6), (8, 4.7)], 0.01, 1)), [8]);
        assert_eq!(change_points(&states(&[(10, 4.6), (9, 4.9), (11, 4.7)], 0.02, 2)), [10, 19]);
        assert_eq!(change_points(&states(&[(6, 1.0), (6, 2.0)], 0.0, 3)), [6]);
    }

    #[test]
    fn what_did_not_change_is_left_in_peace() {
        let wrong = (0..100).filter(|seed| !change_points(&states(&[(20, 4.6)], 0.05, *seed)).is_empty()).count();
        assert!(wrong <= 4, "{wrong} of 100");
        assert_eq!(change_points(&[1.0; 30]), Vec::<usize>::new());
    }

    #[test]
    fn outliers_few_points_and_no_numbers_are_no_change() {
        let mut outlier = states(&[(16, 4.6)], 0.01, 4);
        outlier[7] = 9.0;
        assert_eq!(change_points(&outlier), Vec::<usize>::new());
        assert_eq!(change_points(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0]), Vec::<usize>::new());
        assert_eq!(change_points(&[f64::NAN; 12]), Vec::<usize>::new());
        assert_eq!(change_points(&[]), Vec::<usize>::new());
    }
}
