//! Counts of events per iteration: what they are with their interval, and ratios between runs. Called by views and `compare`.
//!
//! Within a launch, counts repeat nearly exactly; what differs (addresses, hash chains, background work) differs between
//! launches, so the unit of scatter is the launch, and within it the median, which a timer interrupt does not move.

use super::between::{Deviation, OF_MEDIAN};
use super::{BetweenRuns, Ranged, median, moments};

/// Standard deviation, on the log scale, of what shifts the exact counts of a whole run: 0.05%, an assumption.
pub const EXACT_BETWEEN_RUNS: f64 = 0.0005;
/// The same for counts that depend on caches, predictors and frequencies: as for times.
pub const OTHER_BETWEEN_RUNS: f64 = 0.015;
/// Fewer launches have no interval.
const FEWEST_LAUNCHES: usize = 3;

/// The median over launches, given by theirs, and its 95% interval, by Student's t; `None` without a count. Assumes that the medians of
/// launches are normal and independent. Without scatter, the interval has no width.
pub fn event_count(medians: &[f64]) -> Option<Ranged> {
    let value = median(medians.to_vec())?;
    let half = error_of_median(medians).map(Deviation::half_width);
    let low_high = half.map(|half| (value - half, value + half));
    Some(Ranged { value, low_high })
}

/// The error of the median of `values`; `None` with fewer than 3.
fn error_of_median(values: &[f64]) -> Option<Deviation> {
    let (count, degrees) = (values.len() as f64, values.len() as f64 - 1.0);
    let (_, squares) = moments(values);
    let sd = || (OF_MEDIAN * squares / degrees / count).sqrt();
    (values.len() >= FEWEST_LAUNCHES).then(|| Deviation { sd: sd(), degrees })
}

/// new / old for one event, given by the medians of launches; `None` where there is nothing to divide: a launch without a single event, or fewer than 3
/// launches.
///
/// Assumes that logarithms of launch medians are normal, and adds the assumed scatter `between_runs` for each run.
pub fn between_counts(new: &[f64], old: &[f64], between_runs: f64) -> Option<BetweenRuns> {
    let ((new, new_error), (old, old_error)) = (log_median(new)?, log_median(old)?);
    let assumed = Deviation { sd: between_runs, degrees: f64::INFINITY };
    Some(BetweenRuns { log_ratio: new - old, error: Deviation::sum([new_error, old_error, assumed, assumed]) })
}

/// The median of the logarithms of these medians of launches, and its error.
fn log_median(medians: &[f64]) -> Option<(f64, Deviation)> {
    let logs: Vec<f64> = medians.iter().map(|count| count.ln()).collect();
    let error = error_of_median(&logs)?;
    medians.iter().all(|count| *count > 0.0).then_some((median(logs)?, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students_over_launches() {
        let (low, high) = event_count(&[9.0, 10.0, 11.0]).unwrap().low_high.unwrap();
        // t(2) = 4.3027, standard error of the median sqrt(pi/2 / 3).
        assert!((high - 10.0 - 3.1134).abs() < 1e-3 && (10.0 - low - 3.1134).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn half_a_percent_shows_in_instructions_and_not_in_cycles() {
        let (old, new) = ([274.6, 274.5, 274.6, 274.7, 274.6], [276.0, 275.9, 276.0, 276.1, 276.0]);
        let exact = between_counts(&new, &old, EXACT_BETWEEN_RUNS).unwrap();
        let (low, high) = exact.low_high();
        assert!(low > 1.003 && high < 1.008, "{low} {high}");
        let other = between_counts(&new, &old, OTHER_BETWEEN_RUNS).unwrap().low_high();
        assert!(other.0 < 1.0 && other.1 > 1.0);
        let same = between_counts(&old, &old, EXACT_BETWEEN_RUNS).unwrap();
        assert!(same.low_high().0 < 1.0 && same.low_high().1 > 1.0);
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let some = [1.0; 5];
        for none in [&[0.0; 5][..], &[-0.1, 1.0, 1.0], &[1.0, 1.0], &[]] {
            assert_eq!(between_counts(&some, none, EXACT_BETWEEN_RUNS), None);
            assert_eq!(between_counts(none, &some, EXACT_BETWEEN_RUNS), None);
        }
    }
}
