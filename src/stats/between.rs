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

/// Standard deviation of what moves a single case from run to run and is the same in all its launches: 0.15%. More than half
/// of all cases repeat within 0.1%; page placement moves others by up to 0.5% (METHOD.md).
const OWN: f64 = 0.0015;

/// Standard deviation of launches, assumed where a run has only one; with the degrees of freedom of two.
const ONE_LAUNCH: f64 = 0.02;

/// Variance of the median of several launches over that of their mean: at most this, for normal launches
/// (Kendall and Stuart, The Advanced Theory of Statistics, 14.12).
pub(super) const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// How much more medians of runs vary than their launches suggest, as a factor of the variance (METHOD.md).
const BEYOND_LAUNCHES: f64 = 2.0;

/// Level of the interval for the next run's median.
pub const NEXT_RUN: f64 = 0.9;
/// The normal quantile of that level.
const NEXT_RUN_QUANTILE: f64 = 1.645;

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
    Some(Launches { median_ns: steady_median(m, &range, speed)?, medians_ns })
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
/// of a single run, that of its launches with `OWN` and the assumed scatter. Degrees of freedom are those of Welch and
/// Satterthwaite, with assumed parts taken as exact.
pub fn between_runs(new: (&[Launches], f64), old: (&[Launches], f64)) -> Option<BetweenRuns> {
    let side = |(runs, run_scatter): (&[Launches], f64)| {
        Some(Sample::of(runs.iter().map(|run| (run, 0.0)))?.error_of_mean(run_scatter))
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
/// Assumes that logarithms of the medians of runs are normal, with one variance on both sides: that of the launches with
/// `OWN` for what they do not show, and the scatter of the runs on each side if there are several, by degrees of freedom.
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
    let expected = of_launches + OWN.powi(2);
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
    fn of<'a>(runs: impl Iterator<Item = (&'a Launches, f64)>) -> Option<Sample> {
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
        Sample::of(runs.iter().map(|(run, shift)| (run, *shift)))
    }

    fn count(&self) -> f64 {
        self.launches.len() as f64
    }

    fn error_of_mean(&self, run_scatter: f64) -> MeanError {
        let (mean, count) = (self.mean, self.count());
        if let [(of_launches, degrees)] = self.launches[..] {
            let variance = of_launches + OWN.powi(2) + run_scatter.powi(2);
            return MeanError { mean, variance, doubt: of_launches * of_launches / degrees, fewest: f64::INFINITY };
        }
        let (variance, degrees) = ((self.squares / (count - 1.0) / count).max(LEAST_ERROR.powi(2)), count - 1.0);
        MeanError { mean, variance, doubt: variance * variance / degrees, fewest: degrees }
    }
}

/// The variance of a run's log median by its launches, and its degrees of freedom.
fn scatter(run: &Launches) -> Option<(f64, f64)> {
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
    let count = levels_ln.len() as f64;
    let (_, squares) = moments(levels_ln);
    ((TYPICAL_RUNS * TYPICAL.powi(2) + squares) / (TYPICAL_RUNS + (count - 1.0).max(0.0))).sqrt()
}

/// Where the median of the next run will be, nine times in ten: what this run's launches show, `OWN`, and `run_scatter` for
/// what moves whole runs, each for both runs. `middle` is what the interval is around; `None` without launches.
pub fn next_run(middle: f64, launches: &Launches, run_scatter: f64) -> Option<Interval> {
    let (variance, _) = scatter(launches)?;
    let half = NEXT_RUN_QUANTILE * (2.0 * (variance + OWN.powi(2) + run_scatter.powi(2))).sqrt();
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
mod tests {
    use super::super::tests::normal;
    use super::super::{holm, median};
    use super::*;
    use crate::model::Block;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// A run of three launches: state of the run, layout of each launch, both with their standard deviations.
    fn simulated(random: &mut ChaCha8Rng, cost: f64, of_run: f64, of_launch: f64) -> Launches {
        let run = of_run * normal(random);
        let medians_ns: Vec<f64> = (0..3).map(|_| cost * (run + of_launch * normal(random)).exp()).collect();
        of(&medians_ns)
    }

    /// A run with these launches, at the same speed throughout.
    fn of(medians_ns: &[f64]) -> Launches {
        let median_ns = median(medians_ns.to_vec()).unwrap_or(100.0);
        Launches { median_ns, medians_ns: medians_ns.to_vec() }
    }

    fn compared(new: &Launches, old: &Launches) -> Option<BetweenRuns> {
        between_runs((std::slice::from_ref(new), 0.015), (std::slice::from_ref(old), 0.015))
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (of_run, of_launch) in [(0.015, 0.001), (0.015, 0.01), (0.015, 0.03), (0.0, 0.01), (0.005, 0.1)] {
            let mut held = 0;
            for _ in 0..4000 {
                let old = simulated(&mut random, 100.0, of_run, of_launch);
                let new = simulated(&mut random, 120.0, of_run, of_launch);
                let (low, high) = compared(&new, &old).unwrap().low_high();
                held += i32::from(low <= 1.2 && 1.2 <= high);
            }
            let share = f64::from(held) / 4000.0;
            assert!(share >= 0.94, "run {of_run}, launch {of_launch}: {share}");
        }
    }

    /// Even where runs scatter a third more than is assumed, marks stay rare among 30 rows; and 10% is found.
    #[test]
    fn marks_are_rarely_wrong_and_ten_percent_is_found() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut marks = |truth: f64, of_run: f64, rows: usize| {
            let pair = |_| {
                let old = simulated(&mut random, 100.0, of_run, 0.01);
                compared(&simulated(&mut random, 100.0 * truth, of_run, 0.01), &old).unwrap()
            };
            let p_values: Vec<f64> = (0..rows).map(pair).map(|found| found.p_differs(0.01)).collect();
            holm(&p_values, 0.05).into_iter().filter(|holds| *holds).count()
        };
        let wrong: usize = (0..100).map(|_| marks(1.0, 0.02, 30)).sum();
        assert!(wrong <= 30, "{wrong} of 3000 rows");
        let quiet: usize = (0..100).map(|_| marks(1.0, 0.015, 30)).sum();
        assert!(quiet <= 5, "{quiet} of 3000 rows");
        let found: usize = (0..200).map(|_| marks(1.10, 0.01, 2)).sum();
        assert!(found >= 380, "{found} of 400");
    }

    #[test]
    fn p_values_and_interval_agree() {
        for step in 0..60 {
            let new = 90.0 + f64::from(step) * 0.5;
            let found = compared(&of(&[new - 0.4, new, new + 0.3]), &of(&[99.8, 100.0, 100.1])).unwrap();
            let (low, high) = found.low_high();
            assert_eq!(found.p_differs(0.01) < 0.05, low > 1.01 || high < 1.0 / 1.01, "{new}");
            assert_eq!(found.p_same(0.08) < 0.05, low > 1.0 / 1.08 && high < 1.08, "{new}");
        }
    }

    #[test]
    fn one_launch_gives_a_wide_interval_and_none_gives_nothing() {
        let width = |side: &Launches| {
            let (low, high) = compared(side, side).unwrap().low_high();
            high / low
        };
        assert!(width(&of(&[100.0])) > 1.1 && width(&of(&[100.0, 100.0, 100.0])) < 1.09);
        assert_eq!(compared(&of(&[]), &of(&[100.0])), None);
        assert_eq!(compared(&of(&[0.0]), &of(&[100.0])), None);
        assert_eq!(between_runs((&[], 0.015), (&[of(&[100.0])], 0.015)), None);
    }

    /// Runs of one case whose speed scatters by 5%, compared with the speed known; what launches do not show is `own`.
    fn relative(random: &mut ChaCha8Rng, truth: f64, own: f64, runs: usize) -> BetweenRuns {
        let mut side = |cost: f64| -> Vec<(Launches, f64)> {
            let run = |_| {
                let (shift, own) = (0.05 * normal(random), own * normal(random));
                (simulated(random, cost * f64::exp(shift + own), 0.0, 0.002), shift)
            };
            (0..runs).map(run).collect()
        };
        let (new, old) = (side(100.0 * truth), side(100.0));
        relative_to_machine(&new, &old).unwrap()
    }

    #[test]
    fn ratios_of_groups_cover_the_truth_whatever_the_scatter_of_each() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        for (new, old, of_new, of_old) in [(5, 5, 0.01, 0.01), (3, 10, 0.03, 0.005), (2, 2, 0.01, 0.02)] {
            let mut held = 0;
            for _ in 0..4000 {
                let mut side = |runs: i32, cost: f64, scatter: f64| -> Vec<Launches> {
                    (0..runs).map(|_| of(&[cost * (scatter * normal(&mut random)).exp()])).collect()
                };
                let (new, old) = (side(new, 120.0, of_new), side(old, 100.0, of_old));
                let (low, high) = between_runs((&new, 0.015), (&old, 0.015)).unwrap().low_high();
                held += i32::from(low <= 1.2 && 1.2 <= high);
            }
            let share = f64::from(held) / 4000.0;
            assert!(share >= 0.94, "{new} and {old} runs: {share}");
        }
    }

    #[test]
    fn runs_without_scatter_are_no_proof() {
        let two = [of(&[100.0]), of(&[100.0])];
        let same = between_runs((&two, 0.015), (&two, 0.015)).unwrap();
        let (low, high) = same.low_high();
        assert!(low < 1.0 && 1.0 < high && same.p_differs(0.0) > 0.99, "{same:?}");
    }

    #[test]
    fn with_the_speed_known_small_differences_show_and_intervals_hold() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for (own, runs, least) in [(0.001, 1, 0.94), (0.001, 5, 0.94), (0.005, 5, 0.88), (0.02, 10, 0.88)] {
            let held = (0..2000).filter(|_| {
                let (low, high) = relative(&mut random, 1.02, own, runs).low_high();
                low <= 1.02 && 1.02 <= high
            });
            let share = held.count() as f64 / 2000.0;
            assert!(share >= least, "own {own}, {runs} runs a side: {share}");
        }
        let found = (0..200).filter(|_| relative(&mut random, 1.02, 0.002, 5).p_differs(0.005) < 0.05 / 40.0).count();
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn the_machine_as_a_whole_has_the_scatter_of_runs() {
        let found = between_machines((&[0.03], 0.01), (&[0.0], 0.01)).unwrap();
        assert!((found.log_ratio - 0.03).abs() < 1e-12 && (found.standard_error - 0.01 * 2f64.sqrt()).abs() < 1e-12);
        let steady = between_machines((&[0.03, 0.031, 0.029, 0.03, 0.03], 0.01), (&[0.0; 5], 0.01)).unwrap();
        assert!(steady.standard_error < found.standard_error / 2.0 && steady.degrees == 12.0);
    }

    #[test]
    fn the_scatter_of_runs_is_learned_little_by_little() {
        assert!((run_scatter(&[1.0]) - TYPICAL).abs() < 1e-12 && (run_scatter(&[]) - TYPICAL).abs() < 1e-12);
        let quiet = run_scatter(&[1.0; 20]);
        assert!(quiet > 0.002 && quiet < 0.004, "{quiet}");
        let wild: Vec<f64> = (0..20).map(|i| 0.1 * f64::from(i % 2)).collect();
        assert!((run_scatter(&wild) - 0.049).abs() < 0.002, "{}", run_scatter(&wild));
    }

    #[test]
    fn the_next_run_is_where_the_launches_and_the_machine_let_it_be() {
        let steady = next_run(100.0, &of(&[100.0, 100.0, 100.0]), 0.0).unwrap();
        assert!((steady.high / steady.low - 1.0 - 2.0 * 1.645 * 2f64.sqrt() * OWN).abs() < 1e-4, "{steady:?}");
        assert_eq!(steady.level, NEXT_RUN);
        let moved = next_run(100.0, &of(&[100.0, 100.0, 100.0]), 0.01).unwrap();
        let launches = next_run(100.0, &of(&[97.0, 100.0, 103.0]), 0.0).unwrap();
        assert!(moved.low < steady.low && launches.low < moved.low && moved.high > steady.high);
        assert_eq!(next_run(100.0, &of(&[]), 0.01), None);
        assert_eq!(next_run(0.0, &of(&[100.0]), 0.01), None);
    }

    #[test]
    fn launches_are_told_apart_by_their_number() {
        let block = |launch, ns| Block { launch, slots: vec![vec![ns, ns], vec![]] };
        let blocks = vec![block(0, 200), block(0, 220), block(1, 240), block(1, 240), block(2, 0)];
        let m = Measurement { iterations: 2, blocks, ..Measurement::default() };
        let all = launches(&m, 0..usize::MAX, &Speed::default()).unwrap();
        assert_eq!((all.median_ns, all.medians_ns), (110.0, vec![105.0, 120.0]));
        assert_eq!(launches(&m, 2..4, &Speed::default()).unwrap().medians_ns, [120.0]);
        assert_eq!(launches(&m, 4..5, &Speed::default()), None);
        assert_eq!(launches(&m, 9..12, &Speed::default()), None);
    }
}
