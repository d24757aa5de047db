//! Differences and ratios of two cases of one run, paired round by round, so that what disturbed both cancels.
//!
//! Both are launched anew together, each with a memory layout of its own, and that shifts them for as long as they live. So the
//! unit of scatter is the launch.

use super::interval::{Ranged, deepest};
use super::{BetweenRuns, Deviation, mean_interval, mean_log, median, median_ns, moments};
use model::Measurement;

/// a - b in nanoseconds per iteration: over launches, of the median over rounds. Rounds in which either has no sample are left out; `None`
/// without any round.
///
/// The interval is that of the launches' order statistics from nine on; Student's of fewer, widened to hold the other from six on, as
/// layouts are not normal. `None` for fewer than three launches.
pub fn paired_difference(a: &Measurement, b: &Measurement) -> Option<Ranged> {
    let (a_iterations, b_iterations) = (a.iterations as f64, b.iterations as f64);
    over_launches(by_launch(
        a,
        rounds(a, b, |a, b| Some(a / a_iterations - b / b_iterations)),
    ))
}

pub fn paired_ratio(a: &Measurement, b: &Measurement) -> Option<Ranged> {
    over_launches(launch_ratios(a, b)).map(Ranged::exp)
}

/// The probability that the launches lean to one side as much as they do if the two cases cost the same, by Student's t. `None`
/// with fewer than three launches.
pub fn paired_p_value(a: &Measurement, b: &Measurement) -> Option<f64> {
    let ratios = launch_ratios(a, b);
    Some(
        BetweenRuns {
            log_ratio: moments(&ratios).0,
            error: Deviation::mean_error(&ratios)?,
        }
        .p_differs(),
    )
}

fn launch_ratios(a: &Measurement, b: &Measurement) -> Vec<f64> {
    by_launch(a, log_ratios(a, b))
}

/// ln a - ln b of each round, by time block, for as many blocks as both have; a block without common rounds is empty.
fn log_ratios(a: &Measurement, b: &Measurement) -> Vec<Vec<f64>> {
    let per_iteration = (b.iterations as f64 / a.iterations as f64).ln();
    rounds(a, b, |a, b| {
        Some(a.ln() - b.ln() + per_iteration).filter(|log| a > 0.0 && b > 0.0 && log.is_finite())
    })
}

/// `combine` of the two batch medians of each round that both have, by time block.
fn rounds(
    a: &Measurement,
    b: &Measurement,
    combine: impl Fn(f64, f64) -> Option<f64>,
) -> Vec<Vec<f64>> {
    a.blocks
        .iter()
        .zip(&b.blocks)
        .map(|(a, b)| {
            let slots = a.slots.iter().zip(&b.slots);
            slots
                .filter_map(|(a, b)| combine(median_ns(a)?, median_ns(b)?))
                .collect()
        })
        .collect()
}

pub(super) fn by_launch(m: &Measurement, blocks: Vec<Vec<f64>>) -> Vec<f64> {
    let blocks: Vec<(u32, Vec<f64>)> = m
        .blocks
        .iter()
        .map(|block| block.launch)
        .zip(blocks)
        .collect();
    let launches = blocks.chunk_by(|a, b| a.0 == b.0);
    launches
        .filter_map(|launch| {
            median(
                launch
                    .iter()
                    .flat_map(|(_, values)| values)
                    .copied()
                    .collect(),
            )
        })
        .collect()
}

// The order statistics of nine launches hold 96%.
/// Order statistics alone are narrow enough from so many on, and a launch or two that something disturbed do not widen them.
const MANY_LAUNCHES: usize = 9;

/// The median of many launches, or the mean of a few; `None` without a launch.
pub(super) fn over_launches(mut medians: Vec<f64>) -> Option<Ranged> {
    let (mean, student) = (mean_log(&medians)?, mean_interval(&medians));
    let low_high = ordered(&mut medians);
    if medians.len() >= MANY_LAUNCHES {
        return median(medians).map(|value| Ranged { value, low_high });
    }
    // Fewer than six launches have no order statistics: Student's interval stays as it is.
    let (least, most) = low_high.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
    Some(Ranged {
        value: mean,
        low_high: student.map(|(low, high)| (low.min(least), high.max(most))),
    })
}

/// The interval of the median by order statistics, of 95% or more; `None` for fewer than six. Sorts `values`.
fn ordered(values: &mut [f64]) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let (count, (j, _)) = (values.len(), deepest(values.len()));
    if count >= 6 {
        Some((values[j - 1], values[count - j]))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{expect, measurement, normal};
    use super::*;
    use model::Block;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn slots_of(slots: &[[u64; 1]]) -> Measurement {
        measurement(&slots.iter().map(|s| s.as_slice()).collect::<Vec<_>>())
    }

    #[test]
    fn a_common_drift_cancels() {
        let slots: Vec<[u64; 1]> = (0..12).map(|i| [1000 + 100 * i]).collect();
        let twice: Vec<[u64; 1]> = slots.iter().map(|s| [s[0] * 2]).collect();
        let more: Vec<[u64; 1]> = slots.iter().map(|s| [s[0] + 50]).collect();
        expect(paired_ratio(&slots_of(&twice), &slots_of(&slots)), 2.0);
        assert!(paired_p_value(&slots_of(&twice), &slots_of(&slots)).unwrap() < 1e-6);
        expect(paired_difference(&slots_of(&more), &slots_of(&slots)), 50.0);
        let few = paired_difference(&slots_of(&more[..2]), &slots_of(&slots[..2])).unwrap();
        assert_eq!(
            (
                few.low_high,
                paired_p_value(&slots_of(&more[..2]), &slots_of(&slots[..2]))
            ),
            (None, None)
        );
    }

    #[test]
    fn nothing_in_common_is_no_value() {
        let (none, one) = (measurement(&[&[]]), measurement(&[&[1]]));
        assert_eq!(
            (paired_ratio(&none, &one), paired_difference(&none, &one)),
            (None, None)
        );
        assert_eq!(paired_p_value(&one, &one), None);
    }

    /// Each launch shifts the ratio by about 0.5%, and its blocks agree to 0.01%: blocks are not independent.
    #[test]
    fn ratios_within_a_run_cover_the_truth_though_launches_shift_them() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let (mut held, mut called_different) = (0, 0);
        for _ in 0..1000 {
            let (mut a, mut b) = (Measurement::default(), Measurement::default());
            (a.iterations, b.iterations) = (1, 2);
            for launch in 0..9 {
                let shift = 0.005 * normal(&mut random);
                for _ in 0..4 {
                    let mut block = |cost: f64| {
                        let ns = (1e6 * cost * (1e-4 * normal(&mut random)).exp()).round() as u64;
                        Block {
                            launch,
                            slots: vec![vec![ns]; 2],
                        }
                    };
                    a.blocks.push(block(shift.exp()));
                    b.blocks.push(block(2.0));
                }
            }
            let (low, high) = paired_ratio(&a, &b).unwrap().low_high.unwrap();
            held += i32::from(low <= 1.0 && 1.0 <= high);
            called_different += i32::from(paired_p_value(&a, &b).unwrap() < 0.05);
        }
        assert!(
            (940..=985).contains(&held) && (30..=70).contains(&called_different),
            "{held}, {called_different} of 1000"
        );
    }
}
