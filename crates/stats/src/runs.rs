//! One case over several runs. The unit of scatter is the run: launches, batches and rounds within one share what moved it.
//!
//! Assumes that the logarithms of run medians are normal and independent. Called by `summary` and `compare`.

use super::Deviation;
use super::interval::ends;
use super::moments;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewer runs give no interval over runs: that of two would be 12 times their distance.
pub const FEWEST_REPEATED: usize = 3;

/// The costs of one case in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverRuns {
    /// The median of each run in nanoseconds per iteration, in the order of the runs; `None` if the run has none.
    pub medians_ns: Vec<Option<f64>>,
    /// Standard deviation of their logarithms, in percent; `None` for one run.
    pub deviation_percent: Option<f64>,
    /// 95% interval of the cost, by Student's t over the runs; `None` for fewer than three.
    #[serde(rename = "interval_ns", serialize_with = "ends")]
    #[schemars(with = "Option<super::interval::Ends>")]
    pub low_high: Option<(f64, f64)>,
}

impl OverRuns {
    /// Takes the logarithms of run medians in nanoseconds: NaN for a run without one.
    pub fn from_logs(ln_medians: &[f64]) -> OverRuns {
        let medians_ns = ln_medians
            .iter()
            .map(|ln| if ln.is_finite() { Some(ln.exp()) } else { None })
            .collect();
        let sd = Deviation::with_degrees(ln_medians, 1.0).map(|one| one.sd);
        OverRuns {
            medians_ns,
            deviation_percent: sd.map(|sd| 100.0 * sd),
            low_high: mean_interval(ln_medians).map(|(low, high)| (low.exp(), high.exp())),
        }
    }

    pub fn known_runs(&self) -> usize {
        self.medians_ns.iter().flatten().count()
    }
}

/// The mean of those that are finite; `None` if none is. Its exponential is the cost of a case over several runs.
pub fn mean_log(ln_medians: &[f64]) -> Option<f64> {
    let known: Vec<f64> = ln_medians
        .iter()
        .copied()
        .filter(|ln| ln.is_finite())
        .collect();
    Some(moments(&known).0).filter(|mean| mean.is_finite())
}

/// `None` without values.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    Some(mean_log(&logs)?.exp()).filter(|mean| mean.is_finite())
}

/// 95%, of the mean of one value a run; `None` for fewer than three.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let (mean, half) = (
        mean_log(values)?,
        Deviation::mean_error(values)?.half_width(),
    );
    Some((mean - half, mean + half))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{normal, share};
    use super::*;

    #[test]
    fn few_runs_have_no_interval() {
        let two = OverRuns::from_logs(&[100f64.ln(), 110f64.ln()]);
        assert_eq!((two.low_high, two.known_runs()), (None, 2));
        assert!(two.deviation_percent.unwrap() > 6.0);
        let one = OverRuns::from_logs(&[100f64.ln(), f64::NAN]);
        assert_eq!(
            (one.deviation_percent, one.known_runs(), one.medians_ns[1]),
            (None, 1, None)
        );
        assert_eq!(
            (
                OverRuns::from_logs(&[]).known_runs(),
                mean_log(&[]),
                mean_log(&[f64::NAN])
            ),
            (0, None, None)
        );
    }

    /// By hand: ln 99, ln 100 and ln 101 have a standard deviation of 0.01000037; t of 2 degrees is 4.302653 for 95%.
    #[test]
    fn the_interval_is_students() {
        fn half(range: (f64, f64)) -> f64 {
            let (low, high) = range;

            (high / low).ln() / 2.0
        }

        let over = OverRuns::from_logs(&[99f64.ln(), 100f64.ln(), 101f64.ln()]);
        assert!((half(over.low_high.unwrap()) - 4.302653 * 0.01000037 / 3f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        for runs in [3, 5, 10] {
            let share = share(3, 4000, |random| {
                let logs: Vec<f64> = (0..runs)
                    .map(|_| 100f64.ln() + 0.02 * normal(random))
                    .collect();
                let over = OverRuns::from_logs(&logs);
                over.low_high
                    .is_some_and(|(low, high)| low <= 100.0 && 100.0 <= high)
            });
            assert!((0.94..0.96).contains(&share), "{runs} runs: {share}");
        }
    }
}
