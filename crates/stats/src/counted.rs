//! Within a launch, counts of events repeat nearly exactly; what differs (addresses, hash chains, background work) differs
//! between launches, so the unit of scatter is the launch, and within it the median, which a timer interrupt does not move.

use super::Deviation;
use super::launches::OF_MEDIAN;
use super::{Ranged, median, moments};

const FEWEST_LAUNCHES: usize = 3;

/// The median over launches with its 95% interval, by Student's t. Assumes that the medians of launches are normal and
/// independent.
pub fn event_count(medians: &[f64]) -> Option<Ranged> {
    let value = median(medians.to_vec())?;
    let half = error_of_median(medians).map(Deviation::half_width);
    let low_high = half.map(|half| (value - half, value + half));
    Some(Ranged { value, low_high })
}

fn error_of_median(values: &[f64]) -> Option<Deviation> {
    let (count, degrees) = (values.len() as f64, values.len() as f64 - 1.0);
    let (_, squares) = moments(values);
    if values.len() >= FEWEST_LAUNCHES {
        Some(Deviation {
            // The variance of a mean, times that of the median over it.
            sd: (OF_MEDIAN * squares / degrees / count).sqrt(),
            degrees,
        })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students_over_launches() {
        let (low, high) = event_count(&[9.0, 10.0, 11.0]).unwrap().low_high.unwrap();
        // t(2) = 4.3027, standard error of the median sqrt(pi/2 / 3).
        assert!(
            (high - 10.0 - 3.1134).abs() < 1e-3 && (10.0 - low - 3.1134).abs() < 1e-3,
            "{low} {high}"
        );
    }
}
