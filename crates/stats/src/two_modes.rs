//! Whether samples cluster around two values instead of one: a batch then costs one or the other, and a single number
//! hides that.
//!
//! A rule instead of a significance test: with hundreds of dependent samples, tests of unimodality (such as Hartigan's dip)
//! call differences significant that nobody would see in a plot. The rule looks for what is visible: two clusters with little
//! between them.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// Median of the faster cluster, in the unit of the samples.
    pub low: f64,
    pub high: f64,
    /// The share of the samples that are in the slower one, from 0 to 1.
    pub share_high: f64,
}

/// The rule in words, for those who are shown its outcome.
pub const TWO_MODES_RULE: &str = "two modes: without the outer 1% at both ends, the split of the samples (logarithms, \
                                  least variance within both parts) leaves 10% or more on each side; the medians of the \
                                  sides are 3% or more apart; at least two thirds of each side lie within a sixth of that gap \
                                  from its median; and the middle third of the gap holds at most a fifth as many as \
                                  the smaller side";

/// Fewer samples say nothing about their distribution.
const LEAST: usize = 40;
const LEAST_SHARE: f64 = 0.10;
const LEAST_RATIO: f64 = 1.03;

/// The two modes of `sorted`, which must ascend; `None` where the rule finds one cluster, or with fewer than 40 samples.
pub fn two_modes(sorted: &[f64]) -> Option<TwoModes> {
    let outer = sorted.len() / 100;
    let kept = sorted
        .get(outer..sorted.len() - outer)
        .filter(|kept| kept.len() >= LEAST && kept[0] > 0.0)?;
    let logs: Vec<f64> = kept
        .iter()
        .map(|value| value.ln())
        .filter(|log| log.is_finite())
        .collect();
    if logs.len() < kept.len() {
        return None;
    }
    let (left, right) = logs.split_at(best_split(&logs)?);
    let (low, high) = (middle(left)?, middle(right)?);
    let found = high - low >= LEAST_RATIO.ln() && are_clusters(left, right, low, high);
    found.then(|| TwoModes {
        low: low.exp(),
        high: high.exp(),
        share_high: right.len() as f64 / logs.len() as f64,
    })
}

/// The median of sorted values, the upper one of two.
fn middle(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

/// The split with the least variance within both parts (Otsu's criterion, over sorted values).
fn best_split(logs: &[f64]) -> Option<usize> {
    let least = (logs.len() as f64 * LEAST_SHARE).ceil() as usize;
    let total: f64 = logs.iter().sum();
    let mut left = 0.0;
    let mut best = None;
    for (i, log) in logs.iter().enumerate().take(logs.len() - least) {
        left += log;
        let count = i + 1;
        let (a, b) = (
            left / count as f64,
            (total - left) / (logs.len() - count) as f64,
        );
        let between = count as f64 * (logs.len() - count) as f64 * (b - a) * (b - a);
        // Equal values stay together.
        if count >= least && logs[count] > *log && best.is_none_or(|(_, most)| between > most) {
            best = Some((count, between));
        }
    }
    best.map(|(count, _)| count)
}

fn are_clusters(left: &[f64], right: &[f64], low: f64, high: f64) -> bool {
    let gap = high - low;
    let near = |part: &[f64], middle: f64| {
        part.iter()
            .filter(|v| (*v - middle).abs() <= gap / 6.0)
            .count()
    };
    let dense = |part: &[f64], middle: f64| 3 * near(part, middle) >= 2 * part.len();
    let middle_third = low + gap / 3.0..high - gap / 3.0;
    let between = left
        .iter()
        .chain(right)
        .filter(|v| middle_third.contains(v))
        .count();
    dense(left, low) && dense(right, high) && 5 * between <= left.len().min(right.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// `count` samples drawn by `draw`, which gets sums of twelve uniform numbers less 6: near to normal.
    fn samples(seed: u64, count: usize, draw: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut one = |_| {
            let normal = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            draw(normal, rng.random())
        };
        let mut all: Vec<f64> = (0..count).map(&mut one).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn two_clusters_are_found_with_their_places_and_shares() {
        let all = samples(
            1,
            600,
            |normal, uniform| if uniform < 0.3 { 115.0 } else { 100.0 } + normal,
        );
        let found = two_modes(&all).unwrap();
        assert!(
            (found.low - 100.0).abs() < 0.5 && (found.high - 115.0).abs() < 0.5,
            "{found:?}"
        );
        assert!((found.share_high - 0.3).abs() < 0.06, "{found:?}");
    }

    #[test]
    fn one_cluster_is_not_two_whatever_its_shape() {
        for seed in 0..50 {
            let shapes: [fn(f64, f64) -> f64; 5] = [
                |normal, _| 100.0 + 5.0 * normal,
                |_, uniform| 100.0 + 50.0 * uniform,
                |_, uniform| 100.0 - 20.0 * (1.0 - uniform).ln(),
                |normal, _| (normal * 0.5).exp(),
                |normal, uniform| {
                    if uniform < 0.8 {
                        100.0 + normal
                    } else {
                        5.0f64.mul_add(uniform * 100.0, -290.0)
                    }
                },
            ];
            for (i, shape) in shapes.iter().enumerate() {
                assert_eq!(
                    two_modes(&samples(seed, 500, shape)),
                    None,
                    "shape {i}, seed {seed}"
                );
            }
        }
    }

    #[test]
    fn few_equal_or_invalid_samples_have_no_modes() {
        let halves = |low, high| [[low; 50], [high; 50]].concat();
        assert!(two_modes(&halves(100.0, 104.0)).is_some());
        for (samples, what) in [
            (vec![], "none"),
            (vec![1.0, 2.0], "few"),
            (vec![5.0; 100], "equal"),
            (vec![0.0; 100], "invalid"),
            (halves(100.0, 102.0), "2% apart"),
            ([vec![100.0; 95], vec![200.0; 5]].concat(), "a tail of 5%"),
            (halves(1.0, f64::INFINITY), "infinite"),
        ] {
            assert_eq!(two_modes(&samples), None, "{what}");
        }
    }
}
