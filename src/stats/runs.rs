//! One case over several runs. The unit of scatter is the run: launches, batches and rounds within one share what moved it.
//!
//! Assumes that the logarithms of run medians are normal and independent. Called by `summary` and `compare`.

use super::between::NEXT_RUN;
use super::interval::Interval;
use super::paired::{Ends, ends};
use super::student;
use schemars::JsonSchema;
use serde::Serialize;

/// With fewer runs there is no interval over runs: that of two would be 12 times their distance.
pub const FEWEST_REPEATED: usize = 3;

/// The smallest standard error, on the log scale. Medians of few distinct values may all be equal, which is no proof.
const LEAST_ERROR: f64 = 1e-6;

/// The costs of one case in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverRuns {
    /// The median of each run in nanoseconds per iteration, in the order of the runs; `None` where the run has none.
    pub medians_ns: Vec<Option<f64>>,
    /// Standard deviation of their logarithms, in percent; `None` for one run.
    pub deviation_percent: Option<f64>,
    /// 95% interval of the cost, by Student's t over the runs; `None` for fewer than three.
    #[serde(rename = "interval_ns", serialize_with = "ends")]
    #[schemars(with = "Option<Ends>")]
    pub low_high: Option<(f64, f64)>,
}

impl OverRuns {
    /// Of the logarithms of run medians in nanoseconds; NaN for a run without one.
    pub fn of(ln_medians: &[f64]) -> OverRuns {
        let medians_ns = ln_medians.iter().map(|ln| ln.is_finite().then(|| ln.exp())).collect();
        let known = Logs::of(ln_medians);
        let enough = known.filter(|logs| logs.count >= FEWEST_REPEATED as f64);
        let exp = |(low, high): (f64, f64)| (low.exp(), high.exp());
        OverRuns {
            medians_ns,
            deviation_percent: known.filter(|logs| logs.count > 1.0).map(|logs| 100.0 * logs.variance.sqrt()),
            low_high: enough.map(|logs| exp(logs.around(logs.variance / logs.count))),
        }
    }

    /// Runs that have a median.
    pub fn count(&self) -> usize {
        self.medians_ns.iter().flatten().count()
    }
}

/// Where the cost of one more run will be, 9 times in 10, by the logarithms of those of several runs; `None` for fewer than
/// three.
pub fn next_of_runs(ln_medians: &[f64]) -> Option<Interval> {
    let logs = Logs::of(ln_medians).filter(|logs| logs.count >= FEWEST_REPEATED as f64)?;
    let error = (logs.variance * (1.0 + 1.0 / logs.count)).sqrt().max(LEAST_ERROR);
    let half = student::quantile((1.0 - NEXT_RUN) / 2.0, logs.count - 1.0) * error;
    Some(Interval { low: (logs.mean - half).exp(), high: (logs.mean + half).exp(), level: NEXT_RUN })
}

/// The mean of those that are finite; `None` if none is. Its exponential is the cost of a case over several runs.
pub fn mean_log(ln_medians: &[f64]) -> Option<f64> {
    Logs::of(ln_medians).map(|logs| logs.mean)
}

/// Student's interval of 95% of the mean of `values`, one for each run; `None` for fewer than three.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let logs = Logs::of(values).filter(|logs| logs.count >= FEWEST_REPEATED as f64)?;
    Some(logs.around(logs.variance / logs.count))
}

/// Number, mean and variance (with n - 1) of some logarithms.
#[derive(Clone, Copy)]
struct Logs {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Logs {
    /// Of those that are finite; `None` if none is. The variance of a single one is 0.
    fn of(values: &[f64]) -> Option<Logs> {
        let known = || values.iter().filter(|value| value.is_finite());
        let count = known().count() as f64;
        if count == 0.0 {
            return None;
        }
        let mean = known().sum::<f64>() / count;
        let squares: f64 = known().map(|value| (value - mean).powi(2)).sum();
        Some(Logs { count, mean, variance: squares / (count - 1.0).max(1.0) })
    }

    /// The mean -/+ Student's t times the root of `variance`.
    fn around(self, variance: f64) -> (f64, f64) {
        let half = student::quantile(0.025, self.count - 1.0) * variance.sqrt().max(LEAST_ERROR);
        (self.mean - half, self.mean + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// A normal deviate (Box and Muller 1958).
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    #[test]
    fn few_runs_have_no_interval() {
        let two = OverRuns::of(&[100f64.ln(), 110f64.ln()]);
        assert_eq!((two.low_high, two.count()), (None, 2));
        assert_eq!(next_of_runs(&[100f64.ln(), 110f64.ln()]), None);
        assert!(two.deviation_percent.unwrap() > 6.0);
        let one = OverRuns::of(&[100f64.ln(), f64::NAN]);
        assert_eq!((one.deviation_percent, one.count(), one.medians_ns[1]), (None, 1, None));
        assert_eq!((OverRuns::of(&[]).count(), mean_log(&[]), mean_log(&[f64::NAN])), (0, None, None));
    }

    /// By hand: ln 99, ln 100 and ln 101 have a standard deviation of 0.01000037; t of 2 degrees is 4.302653 for 95%
    /// and 2.919986 for 90%.
    #[test]
    fn the_intervals_are_students() {
        let over = OverRuns::of(&[99f64.ln(), 100f64.ln(), 101f64.ln()]);
        let half = |(low, high): (f64, f64)| (high / low).ln() / 2.0;
        assert!((half(over.low_high.unwrap()) - 4.302653 * 0.01000037 / 3f64.sqrt()).abs() < 1e-6);
        let next = next_of_runs(&[99f64.ln(), 100f64.ln(), 101f64.ln()]).unwrap();
        assert!((half((next.low, next.high)) - 2.919986 * 0.01000037 * (4.0 / 3.0f64).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn intervals_cover_the_truth_and_the_next_run_as_often_as_they_say() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for runs in [3, 5, 10] {
            let (mut held, mut foretold) = (0, 0);
            for _ in 0..4000 {
                let logs: Vec<f64> = (0..runs).map(|_| 100f64.ln() + 0.02 * normal(&mut random)).collect();
                let over = OverRuns::of(&logs);
                let next = (100f64.ln() + 0.02 * normal(&mut random)).exp();
                held += i32::from(over.low_high.is_some_and(|(low, high)| low <= 100.0 && 100.0 <= high));
                foretold += i32::from(next_of_runs(&logs).is_some_and(|i| i.low <= next && next <= i.high));
            }
            let shares = [held, foretold].map(|count| f64::from(count) / 4000.0);
            assert!((0.94..0.96).contains(&shares[0]) && (0.88..0.92).contains(&shares[1]), "{runs} runs: {shares:?}");
        }
    }
}
