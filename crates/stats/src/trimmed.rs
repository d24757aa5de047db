//! The mean of values without the extreme ones, for times of whole commands: a few runs that were disturbed decide neither the mean
//! nor its error. And the ratio of two such means, for times that are differences themselves. Called by `compare::race`.

use super::deviation::LEAST_ERROR;
use super::moments;
use super::{BetweenRuns, Deviation};
use std::f64::consts::SQRT_2;

// The share that is cut at each end. A fifth leaves the mean of clean values nearly as exact, and outlives two disturbed runs in ten.
const TRIM: f64 = 0.2;

pub const FEWEST_TRIMMED: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trimmed {
    pub mean: f64,
    error: Deviation,
}

impl Trimmed {
    /// The 95% interval.
    pub fn with_ends(&self) -> [f64; 3] {
        let half = self.error.half_width();
        [self.mean, self.mean - half, self.mean + half]
    }

    /// The mean is that if the values were logarithms of ratios.
    pub fn as_log_ratio(self) -> BetweenRuns {
        BetweenRuns {
            log_ratio: self.mean,
            error: self.error,
        }
    }
}

/// The trimmed mean of `values`, and its error by the Winsorized deviation (Tukey and McLaughlin 1963). The truth that it
/// estimates is the middle of a symmetric distribution, as that of differences of two values that are exchangeable. `None` for
/// fewer than five values, or if one is not finite.
pub fn trimmed(mut values: Vec<f64>) -> Option<Trimmed> {
    let count = values.len();
    if count < FEWEST_TRIMMED || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let cut = (TRIM * count as f64).floor() as usize;
    let kept = count - 2 * cut;
    let mean = moments(&values[cut..count - cut]).0;
    let (low, high) = (values[cut], values[count - cut - 1]);
    // The extreme values count as the nearest kept ones: leaving them out would understate the variance.
    let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
    let variance = moments(&winsorized).1 / (kept as f64 * (kept as f64 - 1.0));
    let error = Deviation {
        sd: variance.sqrt().max(LEAST_ERROR),
        degrees: kept as f64 - 1.0,
    };
    Some(Trimmed { mean, error })
}

/// Steps until a ratio is exact enough: each leaves a small part of the error of the one before.
const STEPS: usize = 20;

/// The ratio of the means of `new` and `base`, which are paired: the one for which the trimmed mean of `new - ratio x base` is 0, as
/// Fieller's (1954), with the error of that mean. Single values need not be positive, as logarithms would need. `None` for fewer than five
/// pairs, or if a mean is not above 0.
fn trimmed_ratio(new: &[f64], base: &[f64]) -> Option<BetweenRuns> {
    let mean = trimmed(base.to_vec())?.mean;
    let mut ratio = 0.0;
    for _ in 0..STEPS {
        ratio += residual(new, base, ratio, mean)?.mean;
    }
    let error = residual(new, base, ratio, mean)?.error;
    let is_ratio = mean > 0.0 && ratio > 0.0 && ratio.is_finite();
    if !is_ratio {
        return None;
    }
    Some(BetweenRuns {
        log_ratio: ratio.ln(),
        error: Deviation {
            sd: error.sd / ratio,
            ..error
        },
    })
}

/// The trimmed mean of `new - ratio x base`, in units of the base's mean so that it does not depend on the unit of time.
fn residual(new: &[f64], base: &[f64], ratio: f64, mean: f64) -> Option<Trimmed> {
    let pairs = new.iter().zip(base);
    trimmed(
        pairs
            .map(|(new, base)| (new - ratio * base) / mean)
            .collect(),
    )
}

/// The same, with the error by which another such ratio differs from it: that has an error as large.
pub fn next_trimmed_ratio(new: &[f64], base: &[f64]) -> Option<BetweenRuns> {
    let ratio = trimmed_ratio(new, base)?;
    Some(BetweenRuns {
        error: Deviation {
            sd: ratio.error.sd * SQRT_2,
            ..ratio.error
        },
        ..ratio
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{normal, share};
    use super::*;
    use rand::RngExt;

    #[test]
    fn a_few_wild_values_do_not_matter() {
        let mut values: Vec<f64> = (0..20)
            .map(|i| 0.02 + 0.001 * f64::from(i % 5 - 2))
            .collect();
        let calm = trimmed(values.clone()).unwrap();
        assert!((calm.mean - 0.02).abs() < 1e-9 && calm.as_log_ratio().p_differs() < 1e-6);
        (values[3], values[11]) = (3.0, 7.0);
        let wild = trimmed(values).unwrap();
        assert!(
            (wild.mean - 0.02).abs() < 1e-3 && wild.error.sd < 2.0 * calm.error.sd,
            "{wild:?}"
        );
        assert_eq!(trimmed(vec![1.0; 4]), None);
    }

    /// Differences of times that are disturbed now and then, each of ten standard deviations.
    #[test]
    fn the_interval_covers_the_truth_in_nineteen_of_twenty() {
        for count in [10, 40] {
            let share = share(3, 4000, |random| {
                let mut one = || normal(random) + if random.random_bool(0.1) { 10.0 } else { 0.0 };
                let estimate = trimmed((0..count).map(|_| one() - one()).collect()).unwrap();
                let [_, low, high] = estimate.with_ends();
                low <= 0.0 && 0.0 <= high
            });
            assert!((0.935..0.985).contains(&share), "{count} rounds: {share}");
        }
    }

    /// A machine that drifts, and a start-up that scatters by a fifth of the command's time and is subtracted.
    #[test]
    fn a_ratio_of_differences_covers_the_truth_in_nineteen_of_twenty() {
        for (count, truth) in [(10, 1.0), (10, 3.0), (40, 1.02)] {
            let share = share(4, 1000, |random| {
                let (new, base): (Vec<f64>, Vec<f64>) = (0..count)
                    .map(|_| {
                        let speed = 1.0 + 0.3 * normal(random);
                        let mut start = || {
                            5.0 + 0.2 * normal(random)
                                + if random.random_bool(0.05) { 3.0 } else { 0.0 }
                        };
                        let net = truth * speed + start() - start();
                        (net, speed + 0.02 * normal(random))
                    })
                    .unzip();
                let estimate = trimmed_ratio(&new, &base);
                estimate.is_some_and(|ratio| {
                    (ratio.log_ratio - truth.ln()).abs() <= ratio.error.half_width()
                })
            });
            assert!(
                (0.92..0.985).contains(&share),
                "{count} rounds, {truth}: {share}"
            );
        }
        assert_eq!(trimmed_ratio(&[-1.0; 5], &[1.0; 5]), None, "no ratio");
        assert_eq!(trimmed_ratio(&[1.0; 4], &[1.0; 4]), None);
        let exact = trimmed_ratio(&[6.0; 5], &[2.0; 5]).unwrap();
        assert!((exact.log_ratio - 3f64.ln()).abs() < 1e-9);
    }
}
