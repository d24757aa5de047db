//! Ratios of one case in two runs, which have no rounds in common. Called by `compare`; within one run, `paired` is better.
//!
//! Two effects differ between runs, and no number of batches averages them out. The memory layout of each launch shifts a
//! cost, so the unit of scatter is the launch, of which a run has three or more. And what changes between runs (frequency,
//! neighbours, page placement, the kernel's own state) is the same for all launches of a run, so no run shows it.

use super::{median, student};
use crate::model::{Block, Measurement};
use std::ops::Range;

/// Standard deviation, on the log scale, of what shifts a whole run: 1.5%. It is an assumption, based on repeated runs on a
/// shared machine, where the medians of one operation scatter by 0.8 to 2.7% over runs, layout included (`bench/repeat`);
/// `bench/compare` shows how often intervals made with it miss. Differences under 5% between two runs are thus never
/// significant: that takes repeated runs.
pub const BETWEEN_RUNS: f64 = 0.015;

/// Standard deviation of launches, assumed where a run has only one; with the degrees of freedom of two.
const ONE_LAUNCH: f64 = 0.02;

/// Variance of the median of several launches over that of their mean: at most this, for normal launches
/// (Kendall and Stuart, The Advanced Theory of Statistics, 14.12).
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// A case's cost in one run, for ratios between runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    /// Median over all batches, in nanoseconds per iteration.
    pub median_ns: f64,
    /// The median of each launch, in nanoseconds per iteration.
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
pub fn launches(m: &Measurement, range: Range<usize>) -> Option<Launches> {
    let blocks = m.blocks.get(range.start.min(m.blocks.len())..range.end.min(m.blocks.len()))?;
    let n = m.iterations as f64;
    let samples = |blocks: &[Block]| {
        let slots = blocks.iter().flat_map(|block| &block.slots);
        median(slots.flatten().map(|ns| *ns as f64 / n).collect())
    };
    let parts = blocks.chunk_by(|a, b| a.launch == b.launch);
    let medians_ns: Vec<f64> = parts.filter_map(samples).filter(|ns| *ns > 0.0 && ns.is_finite()).collect();
    let median_ns = samples(blocks).filter(|ns| *ns > 0.0 && ns.is_finite())?;
    Some(Launches { median_ns, medians_ns })
}

/// new / old; `None` if either has no cost above 0.
///
/// The estimate is the ratio of the two medians, as shown in tables. Assumes that the logarithms of launch medians are
/// normal, and adds [`BETWEEN_RUNS`] for each run; the degrees of freedom are those of Welch and Satterthwaite, with the
/// assumed part taken as exact.
pub fn between_runs(new: &Launches, old: &Launches) -> Option<BetweenRuns> {
    let log_ratio = (new.median_ns / old.median_ns).ln();
    let parts = [scatter(new)?, scatter(old)?];
    let of_launches: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let variance = of_launches + 2.0 * BETWEEN_RUNS.powi(2);
    let doubt: f64 = parts.iter().map(|(variance, degrees)| variance * variance / degrees).sum();
    let degrees = (variance * variance / doubt).clamp(1.0, 1e6);
    let found = BetweenRuns { log_ratio, standard_error: variance.sqrt(), degrees };
    found.log_ratio.is_finite().then_some(found)
}

/// The variance of a run's log median by its launches, and its degrees of freedom.
fn scatter(side: &Launches) -> Option<(f64, f64)> {
    let logs: Vec<f64> = side.medians_ns.iter().map(|ns| ns.ln()).filter(|log| log.is_finite()).collect();
    let count = logs.len() as f64;
    match logs.len() {
        0 => None,
        1 => Some((OF_MEDIAN * ONE_LAUNCH.powi(2), 2.0)),
        _ => {
            let mean = logs.iter().sum::<f64>() / count;
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            Some((OF_MEDIAN * squares / (count - 1.0) / count, count - 1.0))
        }
    }
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
    use super::super::holm;
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// A normal deviate (Box and Muller 1958).
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    /// A run of three launches: state of the run, layout of each launch, both with their standard deviations.
    fn simulated(random: &mut ChaCha8Rng, cost: f64, of_run: f64, of_launch: f64) -> Launches {
        let run = of_run * normal(random);
        let medians_ns: Vec<f64> = (0..3).map(|_| cost * (run + of_launch * normal(random)).exp()).collect();
        Launches { median_ns: median(medians_ns.clone()).unwrap(), medians_ns }
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (of_run, of_launch) in [(0.015, 0.001), (0.015, 0.01), (0.015, 0.03), (0.0, 0.01), (0.005, 0.1)] {
            let mut held = 0;
            for _ in 0..4000 {
                let old = simulated(&mut random, 100.0, of_run, of_launch);
                let new = simulated(&mut random, 120.0, of_run, of_launch);
                let (low, high) = between_runs(&new, &old).unwrap().low_high();
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
                between_runs(&simulated(&mut random, 100.0 * truth, of_run, 0.01), &old).unwrap()
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
        let side = |ns: [f64; 3]| Launches { median_ns: ns[1], medians_ns: ns.to_vec() };
        for step in 0..60 {
            let new = 90.0 + f64::from(step) * 0.5;
            let found = between_runs(&side([new - 0.4, new, new + 0.3]), &side([99.8, 100.0, 100.1])).unwrap();
            let (low, high) = found.low_high();
            assert_eq!(found.p_differs(0.01) < 0.05, low > 1.01 || high < 1.0 / 1.01, "{new}");
            assert_eq!(found.p_same(0.08) < 0.05, low > 1.0 / 1.08 && high < 1.08, "{new}");
        }
    }

    #[test]
    fn one_launch_gives_a_wide_interval_and_none_gives_nothing() {
        let side = |ns: &[f64]| Launches { median_ns: 100.0, medians_ns: ns.to_vec() };
        let width = |side: &Launches| {
            let (low, high) = between_runs(side, side).unwrap().low_high();
            high / low
        };
        assert!(width(&side(&[100.0])) > 1.1 && width(&side(&[100.0, 100.0, 100.0])) < 1.09);
        assert_eq!(between_runs(&side(&[]), &side(&[100.0])), None);
        let nothing = Launches { median_ns: 0.0, medians_ns: vec![0.0] };
        assert_eq!(between_runs(&nothing, &side(&[100.0])), None);
    }

    #[test]
    fn launches_are_told_apart_by_their_number() {
        let block = |launch, ns| Block { launch, slots: vec![vec![ns, ns], vec![]] };
        let blocks = vec![block(0, 200), block(0, 220), block(1, 240), block(1, 240), block(2, 0)];
        let m = Measurement { iterations: 2, blocks, ..Measurement::default() };
        let all = launches(&m, 0..usize::MAX).unwrap();
        assert_eq!((all.median_ns, all.medians_ns), (110.0, vec![105.0, 120.0]));
        assert_eq!(launches(&m, 2..4).unwrap().medians_ns, [120.0]);
        assert_eq!(launches(&m, 4..5), None);
        assert_eq!(launches(&m, 9..12), None);
    }
}
