//! Ratios of one case between runs, which have no rounds in common. Called by `compare`; within one run, `paired` is better.
//!
//! Three effects differ between runs, and no number of batches averages them out. The machine's speed (frequency, neighbours)
//! moves all cases of a run together; a panel of operations shows it (`speed`), and what is left after its removal repeats
//! several times more closely. The memory layout of each launch shifts a cost, so the unit of scatter is the launch. And
//! page placement and the kernel's own state move single cases from run to run, which only several runs a side show.

use super::interval::Interval;
use super::moments;
use super::speed::{Speed, polished, steady_median};
use super::student;
use crate::model::{Measurement, Nanos};
use std::ops::Range;

/// Standard deviation, on the log scale, of what moves all cases of a run together, where nothing is known about the machine:
/// 1.5%. Repeated runs scattered by 0.6 to 1.5% on one shared machine and by 1.2 to 6.5% on another (METHOD.md).
pub const BETWEEN_RUNS: f64 = 0.015;

/// The same for a machine of which some runs are known, and how many runs this counts for beside those.
const TYPICAL: f64 = 0.01;
const TYPICAL_RUNS: f64 = 2.0;

/// Standard deviation of what moves a single case from run to run and is the same in all its launches, where no earlier run
/// of the case is known: 0.3%. On machines whose cores others use too, most cases repeat within 0.35% (METHOD.md).
const OWN: f64 = 0.003;

/// Degrees of freedom from which on earlier runs of a case show its scatter.
const FEWEST_KNOWN: f64 = 2.0;

/// Standard deviation of launches, assumed where a run has only one; with the degrees of freedom of two.
const ONE_LAUNCH: f64 = 0.02;

/// Variance of the median of several launches over that of their mean: at most this, for normal launches
/// (Kendall and Stuart, The Advanced Theory of Statistics, 14.12).
pub(super) const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// How much more medians of runs vary than their launches suggest, as a factor of the variance (METHOD.md).
const BEYOND_LAUNCHES: f64 = 2.0;

/// Level of the interval for the next run's median.
pub const NEXT_RUN: f64 = 0.95;

/// The smallest standard error of several runs, on the log scale. Medians of few distinct values may all be equal, which is no
/// proof.
pub(super) const LEAST_ERROR: f64 = 1e-6;

/// Degrees of freedom that an assumed standard deviation of runs counts for, beside those of measured runs.
const ASSUMED_RUNS: f64 = 4.0;

/// A case's cost in one run, for ratios between runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    /// Median over all batches at the run's usual speed, in nanoseconds per iteration.
    pub median_ns: f64,
    /// The same for each launch.
    pub medians_ns: Vec<f64>,
    /// The cost relative to the machine as a whole in earlier runs.
    pub earlier: Vec<f64>,
}

/// A standard deviation on the log scale, and the degrees of freedom that it is known by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    pub sd: f64,
    pub degrees: f64,
}

/// ln of new / old, its standard error, and the degrees of freedom of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    pub log_ratio: f64,
    pub standard_error: f64,
    pub degrees: f64,
}

/// The launches in the time blocks in `range`; `None` if those have no sample above 0.
pub fn launches(m: &Measurement, range: Range<usize>, speed: &Speed) -> Option<Launches> {
    let end = range.end.min(m.blocks.len());
    let range = range.start.min(end)..end;
    let blocks = &m.blocks[range.clone()];
    let mut start = range.start;
    let parts = blocks.chunk_by(|a, b| a.launch == b.launch).map(|part| {
        let own = start..start + part.len();
        start = own.end;
        own
    });
    let medians_ns = parts.filter_map(|part| steady_median(m, &part, speed)).collect();
    Some(Launches { median_ns: steady_median(m, &range, speed)?, medians_ns, earlier: m.earlier.clone() })
}

/// How far the runs of two sides, `old` before `new`, are from each other on the log scale, by the members of the panel that
/// all of them have: one list a member, one logarithm a run. `None` with too few members.
pub fn run_shifts(members: &[Vec<f64>]) -> Option<Vec<f64>> {
    let runs = members.first()?.len();
    (members.len() >= super::speed::FEWEST_MEMBERS).then(|| polished(members, runs))
}

/// new / old as measured, each side with the runs of a case and the assumed scatter of whole runs on the log scale. `None` if
/// either has no run.
///
/// Assumes that logarithms of the medians of runs are normal. The variance of a side of several runs is that of their medians;
/// of a single run, that of its launches and earlier runs with the assumed scatter. Degrees of freedom are those of Welch and
/// Satterthwaite, with assumed parts taken as exact.
pub fn between_runs(new: (&[Launches], f64), old: (&[Launches], f64)) -> Option<BetweenRuns> {
    let side = |(runs, run_scatter): (&[Launches], f64)| {
        Some(Sample::from_runs(runs.iter().map(|run| (run, 0.0)))?.error_of_mean(run_scatter))
    };
    let (new, old) = (side(new)?, side(old)?);
    let (variance, doubt) = (new.variance + old.variance, new.doubt + old.doubt);
    // Without any scatter the formula has no value.
    let degrees = if doubt > 0.0 { variance * variance / doubt } else { new.fewest.min(old.fewest) }.clamp(1.0, 1e6);
    finite(BetweenRuns { log_ratio: new.mean - old.mean, standard_error: variance.sqrt(), degrees })
}

/// new / old relative to the machine as a whole: each side with a case's runs, and how much slower the machine was in each on
/// the log scale. `None` if either has no run.
///
/// Assumes that logarithms of the medians of runs are normal, with one variance on both sides: that by the launches and earlier
/// runs, and the scatter of the runs on each side if there are several, by degrees of freedom.
pub fn relative_to_machine(new: &[(Launches, f64)], old: &[(Launches, f64)]) -> Option<BetweenRuns> {
    let mean = |side: &[(Launches, f64)]| Sample::relative(side).map(|sample| sample.mean);
    let (variance, degrees) = relative_variance(&[new, old])?;
    let standard_error = (variance * (1.0 / new.len() as f64 + 1.0 / old.len() as f64)).sqrt();
    finite(BetweenRuns { log_ratio: mean(new)? - mean(old)?, standard_error, degrees })
}

/// The variance of a single run of a case relative to the machine as a whole, one for all `sides`, and its degrees of freedom.
pub(super) fn relative_variance(sides: &[&[(Launches, f64)]]) -> Option<(f64, f64)> {
    let samples: Vec<Sample> = sides.iter().map(|side| Sample::relative(side)).collect::<Option<_>>()?;
    let parts = samples.iter().flat_map(|sample| &sample.launches);
    let count = parts.clone().count() as f64;
    let of_launches = parts.clone().map(|(variance, _)| variance).sum::<f64>() / count;
    let doubt = parts.map(|(variance, degrees)| variance * variance / degrees).sum::<f64>() / (count * count);
    let expected = of_launches;
    let of_expected = (expected * expected / doubt).clamp(1.0, 1e6);
    let (of_runs, weight) = (count - samples.len() as f64, of_expected.min(MOST_WEIGHT));
    let squares: f64 = samples.iter().map(|sample| sample.squares).sum();
    let variance = (weight * expected + squares) / (weight + of_runs);
    Some((variance, if of_runs > 0.0 { weight + of_runs } else { of_expected }))
}

/// The degrees of freedom of a comparison of so many runs a side, by those of what one run lets expect.
pub(super) fn relative_degrees(of_expected: f64, runs: u32) -> f64 {
    if runs == 1 { of_expected.max(1.0) } else { of_expected.min(MOST_WEIGHT) + 2.0 * f64::from(runs - 1) }
}

fn finite(found: BetweenRuns) -> Option<BetweenRuns> {
    found.log_ratio.is_finite().then_some(found)
}

/// The most that the variance expected from launches counts for beside that of several runs, in degrees of freedom.
const MOST_WEIGHT: f64 = 4.0;

/// A side's logarithms.
struct Sample {
    mean: f64,
    /// Sum of the squared deviations of its runs.
    squares: f64,
    /// Of each run: the variance of its median by its launches, and the degrees of freedom of that.
    launches: Vec<(f64, f64)>,
}

/// The error of a side's mean.
struct MeanError {
    mean: f64,
    variance: f64,
    /// The squared variance over its degrees of freedom.
    doubt: f64,
    /// The degrees of freedom of a side whose runs do not scatter at all; infinite for a single run, most of which is assumed.
    fewest: f64,
}

impl Sample {
    /// Of runs, each with what to subtract from its logarithm; `None` if there is none, or one has no launch.
    fn from_runs<'a>(runs: impl Iterator<Item = (&'a Launches, f64)>) -> Option<Sample> {
        let (mut logs, mut launches) = (Vec::new(), Vec::new());
        for (run, shift) in runs {
            logs.push(run.median_ns.ln() - shift);
            launches.push(scatter(run)?);
        }
        let (mean, squares) = moments(&logs);
        mean.is_finite().then_some(Sample { mean, squares, launches })
    }

    /// Each run with how much slower the machine was.
    fn relative(runs: &[(Launches, f64)]) -> Option<Sample> {
        Sample::from_runs(runs.iter().map(|(run, shift)| (run, *shift)))
    }

    fn count(&self) -> f64 {
        self.launches.len() as f64
    }

    fn error_of_mean(&self, run_scatter: f64) -> MeanError {
        let (mean, count) = (self.mean, self.count());
        if let [(of_launches, degrees)] = self.launches[..] {
            let variance = of_launches + run_scatter.powi(2);
            return MeanError { mean, variance, doubt: of_launches * of_launches / degrees, fewest: f64::INFINITY };
        }
        let (variance, degrees) = ((self.squares / (count - 1.0) / count).max(LEAST_ERROR.powi(2)), count - 1.0);
        MeanError { mean, variance, doubt: variance * variance / degrees, fewest: degrees }
    }
}

/// The variance of a run's log median relative to the machine, and its degrees of freedom: by earlier runs, and by the run's own
/// launches as far as these show it.
fn scatter(run: &Launches) -> Option<(f64, f64)> {
    let (by_launches, degrees) = scatter_of_launches(run)?;
    let earlier: Vec<f64> = run.earlier.iter().map(|cost| cost.ln()).filter(|log| log.is_finite()).collect();
    let known = earlier.len().saturating_sub(1) as f64;
    let by_runs = moments(&earlier).1 / known;
    Some(match known >= FEWEST_KNOWN {
        true if by_runs > by_launches => (by_runs.max(LEAST_ERROR.powi(2)), known),
        true => (by_launches.max(LEAST_ERROR.powi(2)), degrees.max(known)),
        false => (by_launches + OWN.powi(2), degrees),
    })
}

/// The same by the launches alone.
fn scatter_of_launches(run: &Launches) -> Option<(f64, f64)> {
    let logs: Vec<f64> = run.medians_ns.iter().map(|ns| ns.ln()).filter(|log| log.is_finite()).collect();
    let count = logs.len() as f64;
    match logs.len() {
        0 => None,
        1 => Some((OF_MEDIAN * ONE_LAUNCH.powi(2), 2.0)),
        _ => {
            let (_, squares) = moments(&logs);
            Some((BEYOND_LAUNCHES * OF_MEDIAN * squares / (count - 1.0) / count, count - 1.0))
        }
    }
}

/// How far apart two groups of runs are, by how much slower the machine was in each: the machine as a whole, new / old. Each
/// side also has the assumed scatter of whole runs. All on the log scale.
pub fn between_machines(new: (&[f64], f64), old: (&[f64], f64)) -> Option<BetweenRuns> {
    let ((mean_new, squares_new), (mean_old, squares_old)) = (moments(new.0), moments(old.0));
    let (a, b) = (new.0.len() as f64, old.0.len() as f64);
    let assumed = (new.1.powi(2) + old.1.powi(2)) / 2.0;
    let degrees = ASSUMED_RUNS + a + b - 2.0;
    let variance = (ASSUMED_RUNS * assumed + squares_new + squares_old) / degrees;
    let standard_error = (variance * (1.0 / a + 1.0 / b)).sqrt();
    finite(BetweenRuns { log_ratio: mean_new - mean_old, standard_error, degrees })
}

/// The standard deviation of what moves whole runs on a machine, by `levels_ln`, the logarithms of what the panel cost in
/// several runs; `TYPICAL` counts for two more.
pub fn run_scatter(levels_ln: &[f64]) -> f64 {
    let (_, squares) = moments(levels_ln);
    let known = learned_degrees(levels_ln.len()) - TYPICAL_RUNS;
    ((TYPICAL_RUNS * TYPICAL.powi(2) + squares) / (TYPICAL_RUNS + known)).sqrt()
}

/// The degrees of freedom of that of so many runs; of none, those that what is assumed counts for.
pub fn learned_degrees(runs: usize) -> f64 {
    TYPICAL_RUNS + runs.saturating_sub(1) as f64
}

/// What moves a case from run to run relative to the machine as a whole; `None` without launches.
pub fn own_deviation(run: &Launches) -> Option<Deviation> {
    scatter(run).map(|(variance, degrees)| Deviation { sd: variance.sqrt(), degrees })
}

/// Where the median of the next run will be, 95 times in 100, by what moves runs, which moved this one too. Student's t with the
/// degrees of freedom of Welch and Satterthwaite. `middle` is what the interval is around; `None` if that is no cost.
pub fn next_run(middle: f64, parts: &[Deviation]) -> Option<Interval> {
    let variance: f64 = parts.iter().map(|part| part.sd.powi(2)).sum();
    let doubt: f64 = parts.iter().map(|part| part.sd.powi(4) / part.degrees).sum();
    let quantile = student::quantile((1.0 - NEXT_RUN) / 2.0, (variance * variance / doubt).clamp(1.0, 1e6));
    let half = quantile * (2.0 * variance).sqrt();
    Nanos(middle).is_cost().then(|| Interval {
        low: middle * (-half).exp(),
        high: middle * half.exp(),
        level: NEXT_RUN,
    })
}

impl BetweenRuns {
    /// new / old.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The interval of 95% confidence.
    pub fn low_high(&self) -> (f64, f64) {
        let half = student::quantile(0.025, self.degrees) * self.standard_error;
        ((self.log_ratio - half).exp(), (self.log_ratio + half).exp())
    }

    /// The probability of a ratio this far outside `1 / (1 + margin) .. 1 + margin` if the truth is at its border; two-sided,
    /// so that it is under 5% if the interval lies wholly outside.
    pub fn p_differs(&self, margin: f64) -> f64 {
        self.two_sided(self.log_ratio.abs() - margin.ln_1p())
    }

    /// The probability of a ratio this far inside if the truth is at the border; under 5% if the interval lies wholly inside.
    pub fn p_same(&self, margin: f64) -> f64 {
        self.two_sided(margin.ln_1p() - self.log_ratio.abs())
    }

    fn two_sided(&self, distance: f64) -> f64 {
        (2.0 * student::upper_tail(distance / self.standard_error, self.degrees)).min(1.0)
    }
}

#[cfg(test)]
mod tests;
