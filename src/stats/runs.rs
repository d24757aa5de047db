//! One case over several runs. The unit of scatter is the run: launches, batches and rounds within one share what moved it.
//!
//! Assumes that the logarithms of run medians are normal and independent. Called by `summary` and `compare`.

use super::between::{LEAST_ERROR, NEXT_RUN};
use super::interval::{Interval, deepest};
use super::paired::ends;
use super::{Ranged, log_ratios, median, moments, student};
use crate::model::Measurement;
use schemars::JsonSchema;
use serde::Serialize;

/// With fewer runs there is no interval over runs: that of two would be 12 times their distance.
pub const FEWEST_REPEATED: usize = 3;

/// The costs of one case in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverRuns {
    /// The median of each run in nanoseconds per iteration, in the order of the runs; `None` where the run has none.
    pub medians_ns: Vec<Option<f64>>,
    /// Standard deviation of their logarithms, in percent; `None` for one run.
    pub deviation_percent: Option<f64>,
    /// 95% interval of the cost, by Student's t over the runs; `None` for fewer than three.
    #[serde(rename = "interval_ns", serialize_with = "ends")]
    #[schemars(with = "Option<super::paired::Ends>")]
    pub low_high: Option<(f64, f64)>,
}

impl OverRuns {
    /// Of the logarithms of run medians in nanoseconds; NaN for a run without one.
    pub fn from_logs(ln_medians: &[f64]) -> OverRuns {
        let medians_ns = ln_medians.iter().map(|ln| ln.is_finite().then(|| ln.exp())).collect();
        let known = Logs::from_values(ln_medians);
        let enough = known.filter(|logs| logs.count >= FEWEST_REPEATED as f64);
        let exp = |(low, high): (f64, f64)| (low.exp(), high.exp());
        OverRuns {
            medians_ns,
            deviation_percent: known.filter(|logs| logs.count > 1.0).map(|logs| 100.0 * logs.variance.sqrt()),
            low_high: enough.map(|logs| exp(logs.around(logs.variance / logs.count))),
        }
    }

    pub fn count(&self) -> usize {
        self.medians_ns.iter().flatten().count()
    }
}

/// Where the cost of one more run will be, 95 times in 100, by the logarithms of those of several runs; `None` for fewer than
/// three.
pub fn next_of_runs(ln_medians: &[f64]) -> Option<Interval> {
    let logs = Logs::from_values(ln_medians).filter(|logs| logs.count >= FEWEST_REPEATED as f64)?;
    let error = (logs.variance * (1.0 + 1.0 / logs.count)).sqrt().max(LEAST_ERROR);
    let half = student::quantile((1.0 - NEXT_RUN) / 2.0, logs.count - 1.0) * error;
    Some(Interval { low: (logs.mean - half).exp(), high: (logs.mean + half).exp(), level: NEXT_RUN })
}

/// The mean of those that are finite; `None` if none is. Its exponential is the cost of a case over several runs.
pub fn mean_log(ln_medians: &[f64]) -> Option<f64> {
    Logs::from_values(ln_medians).map(|logs| logs.mean)
}

/// Standard deviation of that mean; `None` for fewer than three.
pub fn sd_of_mean(ln_medians: &[f64]) -> Option<f64> {
    let logs = Logs::from_values(ln_medians).filter(|logs| logs.count >= FEWEST_REPEATED as f64)?;
    Some((logs.variance / logs.count).sqrt())
}

/// Student's interval of 95% of the mean of `values`, one for each run; `None` for fewer than three.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let logs = Logs::from_values(values).filter(|logs| logs.count >= FEWEST_REPEATED as f64)?;
    Some(logs.around(logs.variance / logs.count))
}

/// a / b of two cases of one run: the mean over launches of the median over rounds of ln a - ln b. `None` without a common
/// round.
///
/// Both are launched anew together, each with a memory layout of its own, and that shifts their ratio for as long as they
/// live. So the unit of scatter is the launch. The interval is Student's over launches, widened to hold that of their order
/// statistics from six on: layouts are not normal. Even so it missed 1 for 13 of 184 cases against themselves
/// (`bench/groups aa`). `None` for fewer than three launches.
pub fn paired_by_launch(a: &Measurement, b: &Measurement) -> Option<Ranged> {
    let rounds = log_ratios(a, b);
    let blocks: Vec<(u32, Vec<f64>)> = a.blocks.iter().map(|block| block.launch).zip(rounds).collect();
    let launches = blocks.chunk_by(|a, b| a.0 == b.0);
    let mut medians: Vec<f64> =
        launches.filter_map(|own| median(own.iter().flat_map(|(_, logs)| logs).copied().collect())).collect();
    let value = mean_log(&medians)?.exp();
    let student = mean_interval(&medians);
    let (ordered_low, ordered_high) = ordered(&mut medians).unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
    let widened = student.map(|(low, high)| (low.min(ordered_low).exp(), high.max(ordered_high).exp()));
    Some(Ranged { value, low_high: widened })
}

/// The interval of the median by order statistics, of 95% or more; `None` for fewer than six. Sorts `values`.
fn ordered(values: &mut [f64]) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let (count, (j, _)) = (values.len(), deepest(values.len()));
    (count >= 6).then(|| (values[j - 1], values[count - j]))
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
    fn from_values(values: &[f64]) -> Option<Logs> {
        let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let (count, (mean, squares)) = (known.len() as f64, moments(&known));
        (count > 0.0).then(|| Logs { count, mean, variance: squares / (count - 1.0).max(1.0) })
    }

    /// The mean -/+ Student's t times the root of `variance`.
    fn around(self, variance: f64) -> (f64, f64) {
        let half = student::quantile(0.025, self.count - 1.0) * variance.sqrt().max(LEAST_ERROR);
        (self.mean - half, self.mean + half)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::normal;
    use super::*;
    use crate::model::Block;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn few_runs_have_no_interval() {
        let two = OverRuns::from_logs(&[100f64.ln(), 110f64.ln()]);
        assert_eq!((two.low_high, two.count()), (None, 2));
        assert_eq!(next_of_runs(&[100f64.ln(), 110f64.ln()]), None);
        assert!(two.deviation_percent.unwrap() > 6.0);
        let one = OverRuns::from_logs(&[100f64.ln(), f64::NAN]);
        assert_eq!((one.deviation_percent, one.count(), one.medians_ns[1]), (None, 1, None));
        assert_eq!((OverRuns::from_logs(&[]).count(), mean_log(&[]), mean_log(&[f64::NAN])), (0, None, None));
    }

    /// By hand: ln 99, ln 100 and ln 101 have a standard deviation of 0.01000037; t of 2 degrees is 4.302653 for 95%.
    #[test]
    fn the_intervals_are_students() {
        let over = OverRuns::from_logs(&[99f64.ln(), 100f64.ln(), 101f64.ln()]);
        let half = |(low, high): (f64, f64)| (high / low).ln() / 2.0;
        assert!((half(over.low_high.unwrap()) - 4.302653 * 0.01000037 / 3f64.sqrt()).abs() < 1e-6);
        let next = next_of_runs(&[99f64.ln(), 100f64.ln(), 101f64.ln()]).unwrap();
        assert!((half((next.low, next.high)) - 4.302653 * 0.01000037 * (4.0 / 3.0f64).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn intervals_cover_the_truth_and_the_next_run_as_often_as_they_say() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for runs in [3, 5, 10] {
            let (mut held, mut foretold) = (0, 0);
            for _ in 0..4000 {
                let logs: Vec<f64> = (0..runs).map(|_| 100f64.ln() + 0.02 * normal(&mut random)).collect();
                let over = OverRuns::from_logs(&logs);
                let next = (100f64.ln() + 0.02 * normal(&mut random)).exp();
                held += i32::from(over.low_high.is_some_and(|(low, high)| low <= 100.0 && 100.0 <= high));
                foretold += i32::from(next_of_runs(&logs).is_some_and(|i| i.low <= next && next <= i.high));
            }
            let shares = [held, foretold].map(|count| f64::from(count) / 4000.0);
            assert!((0.94..0.96).contains(&shares[0]) && (0.94..0.96).contains(&shares[1]), "{runs} runs: {shares:?}");
        }
    }

    /// Each launch shifts the ratio by about 0.5%, and its blocks agree to 0.01%: blocks are no independent witnesses.
    #[test]
    fn ratios_within_a_run_cover_the_truth_though_launches_shift_them() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut held = 0;
        for _ in 0..1000 {
            let (mut a, mut b) = (Measurement::default(), Measurement::default());
            (a.iterations, b.iterations) = (1, 2);
            for launch in 0..9 {
                let shift = 0.005 * normal(&mut random);
                for _ in 0..4 {
                    let mut block = |cost: f64| {
                        let ns = (1e6 * cost * (1e-4 * normal(&mut random)).exp()).round() as u64;
                        Block { launch, slots: vec![vec![ns]; 2] }
                    };
                    a.blocks.push(block(1.1 * shift.exp()));
                    b.blocks.push(block(2.0));
                }
            }
            let (low, high) = paired_by_launch(&a, &b).unwrap().low_high.unwrap();
            held += i32::from(low <= 1.1 && 1.1 <= high);
        }
        assert!((940..=985).contains(&held), "{held} of 1000");
        assert_eq!(paired_by_launch(&Measurement::default(), &Measurement::default()), None);
    }
}
