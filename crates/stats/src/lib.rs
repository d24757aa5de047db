//! Statistics: pure functions that state their assumptions. Called by the engine, to know when to stop, and by analysis.

mod between;
mod calm;
mod change_points;
mod control;
mod counted;
mod deviation;
mod differ;
mod interval;
mod launches;
mod modes;
mod net;
mod overhead;
mod paired;
mod percentiles;
mod runs;
mod student;
mod trimmed;
mod verdict;

pub use between::{BETWEEN_RUNS, BetweenRuns, Side};
pub use calm::{Calm, FEWEST_MEMBERS};
pub use change_points::change_points;
pub use control::Control;
pub use counted::event_count;
pub use deviation::{Deviation, NEXT_RUN};
pub use differ::{discoveries, holm};
use interval::block_interval;
pub use interval::{FEWEST_BLOCKS, Interval, Quantity, Ranged};
pub use launches::{Launches, is_placed, launches, run_shifts, scatter_of_launches};
pub use modes::{UserShare, share_interval, user_share};
pub use net::{WithLoop, net_ratio};
pub use overhead::Overhead;
pub use paired::{paired_difference, paired_p_value, paired_ratio};
pub use percentiles::{FEWEST_BEYOND, beyond, percentile, tail_curve, without};
pub use runs::{FEWEST_REPEATED, OverRuns, geometric_mean, mean_interval, mean_log};
pub use trimmed::{FEWEST_TRIMMED, Trimmed, next_trimmed_ratio, trimmed};
pub use verdict::{Finding, findings};

use model::{Measurement, Nanos};

#[derive(Clone, Copy)]
pub struct Estimate {
    pub median: Nanos,
    pub best: Nanos,
    /// Interval of the median over time blocks; `None` with fewer than 10.
    pub interval: Option<Interval>,
    pub samples: usize,
    pub blocks: usize,
}

impl Estimate {
    /// Half the interval in percent of the median; `None` without an interval, or if the median is not above 0.
    pub fn half_width_percent(&self) -> Option<f64> {
        self.interval?.half_width_percent(self.median)
    }
}

/// Estimates the cost; `None` without a sample.
///
/// Assumes that the medians of stretches as long as a block are exchangeable; batches within one may depend on each other.
pub fn estimate(measurement: &Measurement) -> Option<Estimate> {
    let mut blocks = samples(measurement);
    // Blocks in which the case rested have no median, so they are not parts either.
    blocks.retain(|samples| !samples.is_empty());
    let sampled = blocks.len();
    let mut all = blocks.concat();
    let mut medians = medians_of_parts(&all, sampled);
    let best = all.iter().copied().min_by(f64::total_cmp)?;
    let median = median_of(&mut all)?;
    // Medians that are all equal show that the clock has steps, not that the cost is known exactly.
    let step = measurement.clock_step_ns.unwrap_or(0.0) / measurement.iterations as f64;
    Some(Estimate {
        median: Nanos(median),
        best: Nanos(best),
        interval: block_interval(&mut medians)
            .map(|interval| interval.holding(median - step).holding(median + step)),
        samples: all.len(),
        blocks: medians.len(),
    })
}

/// The medians of `count` stretches of `samples` with equally many samples each, one more or less.
///
/// While something else has the CPU, a time block has few batches, and slow ones. The interval counts blocks and the median
/// counts batches: with blocks as they were measured, the median would lie at the lower end of its interval or outside.
fn medians_of_parts(samples: &[f64], count: usize) -> Vec<f64> {
    let bound = |part: usize| part * samples.len() / count;
    (0..count)
        .filter_map(|part| median(samples[bound(part)..bound(part + 1)].to_vec()))
        .collect()
}

fn samples(m: &Measurement) -> Vec<Vec<f64>> {
    let blocks = m.blocks.iter();
    blocks
        .map(|block| {
            let batches = block.slots.iter().flatten();
            batches.map(|ns| *ns as f64 / m.iterations as f64).collect()
        })
        .collect()
}

fn median_ns<'a>(batches: impl IntoIterator<Item = &'a u64>) -> Option<f64> {
    median(batches.into_iter().map(|ns| *ns as f64).collect())
}

/// The median of each block in nanoseconds per iteration; NaN for a block without samples.
pub fn block_medians(measurement: &Measurement) -> Vec<f64> {
    measurement
        .blocks
        .iter()
        .map(|block| {
            let ns = median_ns(block.slots.iter().flatten());
            ns.unwrap_or(f64::NAN) / measurement.iterations as f64
        })
        .collect()
}

/// The mean, which is NaN without values, and the sum of the squared deviations from it.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (
        mean,
        values.iter().map(|value| (value - mean).powi(2)).sum(),
    )
}

/// The mean of two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    median_of(&mut values)
}

/// Selects instead of sorting, which would be most of the time of an analysis.
fn median_of(values: &mut [f64]) -> Option<f64> {
    let (length, middle) = (values.len(), values.len() / 2);
    if values.is_empty() {
        return None;
    }
    // Selecting leaves the lower half unordered; its maximum is the other middle value.
    let (lower, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    match length % 2 {
        1 => Some(upper),
        _ => lower
            .iter()
            .copied()
            .max_by(f64::total_cmp)
            .map(|lower| (lower + upper) / 2.0),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use model::Block;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Box and Muller 1958.
    pub fn normal(random: &mut ChaCha8Rng) -> f64 {
        let (u, v): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    pub fn share(seed: u64, tries: u32, mut holds: impl FnMut(&mut ChaCha8Rng) -> bool) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let held = (0..tries).filter(|_| holds(&mut random)).count();
        held as f64 / f64::from(tries)
    }

    /// A value that is known as well as its least error allows.
    pub fn expect(ranged: Option<Ranged>, value: f64) {
        let ranged = ranged.unwrap();
        let (low, high) = ranged.low_high.unwrap();
        let near = |number: f64, most: f64| (number - value).abs() < most;
        assert!(
            near(ranged.value, 1e-9) && near(low, 1e-4) && near(high, 1e-4),
            "{ranged:?}"
        );
    }

    pub fn measurement(blocks: &[&[u64]]) -> Measurement {
        Measurement {
            iterations: 1,
            blocks: (0..)
                .zip(blocks)
                .map(|(launch, slot)| Block {
                    launch,
                    slots: vec![slot.to_vec()],
                })
                .collect(),
            ..Measurement::default()
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    /// Every other block has a tenth of the batches, which take 10% longer.
    #[test]
    fn blocks_of_different_sizes_count_by_their_batches() {
        let quiet: Vec<u64> = (0..20).map(|i| 1000 + i % 7).collect();
        let busy = [1100, 1101];
        let blocks: Vec<&[u64]> = (0..12)
            .map(|i| if i % 2 == 0 { &quiet[..] } else { &busy[..] })
            .collect();
        let of_blocks = estimate(&measurement(&blocks)).unwrap();
        let interval = of_blocks.interval.unwrap();
        assert_eq!((of_blocks.median.0, of_blocks.blocks), (1003.0, 12));
        assert!(
            1000.0 < interval.low && interval.high < 1010.0,
            "{interval:?}"
        );
        let equal: Vec<&[u64]> = vec![&quiet; 12];
        assert_eq!(medians_of_parts(&[1.0, 3.0, 5.0, 9.0, 7.0], 2), [2.0, 7.0]);
        let equal = Measurement {
            clock_step_ns: Some(4.0),
            ..measurement(&equal)
        };
        let interval = estimate(&equal).unwrap().interval.unwrap();
        assert_eq!(
            (interval.low, interval.high),
            (999.0, 1007.0),
            "no narrower than the clock's step"
        );
    }

    #[test]
    fn few_blocks_give_no_interval() {
        let few = measurement(&[&[10, 11, 12], &[10, 10, 10]]);
        let estimate = estimate(&few).unwrap();
        assert_eq!(
            (estimate.median.0, estimate.best.0, estimate.interval),
            (10.0, 10.0, None)
        );
        assert_eq!((estimate.samples, estimate.blocks), (6, 2));
        assert!(super::estimate(&measurement(&[])).is_none());
    }
}
