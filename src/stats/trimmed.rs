//! The mean of values without the extreme ones, for times of whole commands: a few runs that were disturbed decide neither the mean
//! nor its error. Called by `compare::race`.

use super::between::{BetweenRuns, Deviation};
use super::moments;

/// Values left out at each end, as a share.
const TRIM: f64 = 0.2;

/// The smallest error: values that are all equal are no proof.
const LEAST_ERROR: f64 = 1e-6;

/// With fewer values the trimmed mean has no error.
pub const FEWEST_TRIMMED: usize = 5;

/// A mean, and its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trimmed {
    pub mean: f64,
    error: Deviation,
}

impl Trimmed {
    /// The mean and the ends of its 95% interval.
    pub fn with_ends(&self) -> [f64; 3] {
        let half = self.error.half_width();
        [self.mean, self.mean - half, self.mean + half]
    }

    /// As the logarithm of a ratio.
    pub fn as_log_ratio(self) -> BetweenRuns {
        BetweenRuns { log_ratio: self.mean, error: self.error }
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
    let winsorized: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
    let variance = moments(&winsorized).1 / (kept as f64 * (kept as f64 - 1.0));
    let error = Deviation { sd: variance.sqrt().max(LEAST_ERROR), degrees: kept as f64 - 1.0 };
    Some(Trimmed { mean, error })
}

#[cfg(test)]
mod tests {
    use super::super::tests::normal;
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_few_wild_values_do_not_matter() {
        let mut values: Vec<f64> = (0..20).map(|i| 0.02 + 0.001 * f64::from(i % 5 - 2)).collect();
        let calm = trimmed(values.clone()).unwrap();
        assert!((calm.mean - 0.02).abs() < 1e-9 && calm.as_log_ratio().p_differs() < 1e-6);
        (values[3], values[11]) = (3.0, 7.0);
        let wild = trimmed(values).unwrap();
        assert!((wild.mean - 0.02).abs() < 1e-3 && wild.error.sd < 2.0 * calm.error.sd, "{wild:?}");
        assert_eq!(trimmed(vec![1.0; 4]), None);
    }

    /// Differences of times that are disturbed now and then, each of ten standard deviations.
    #[test]
    fn the_interval_covers_the_truth_in_nineteen_of_twenty() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for count in [10, 40] {
            let mut held = 0;
            for _ in 0..4000 {
                let mut one = || normal(&mut random) + if random.random_bool(0.1) { 10.0 } else { 0.0 };
                let found = trimmed((0..count).map(|_| one() - one()).collect()).unwrap();
                let [_, low, high] = found.with_ends();
                held += i32::from(low <= 0.0 && 0.0 <= high);
            }
            let share = f64::from(held) / 4000.0;
            assert!((0.935..0.985).contains(&share), "{count} rounds: {share}");
        }
    }
}
