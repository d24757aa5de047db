//! Median and scatter of some values. Called by each question.

use super::LEAST_SCALE;
use crate::stats::median;

/// The MAD of a normal distribution is its standard deviation divided by this.
pub const MAD_TO_DEVIATION: f64 = 1.4826;
/// The standard error of a median is this times that of a mean, sqrt(pi / 2).
pub const MEDIAN_ERROR: f64 = 1.2533;

/// Where values are, and how far they scatter relative to that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub median: f64,
    /// Median of the absolute deviations from the median, divided by it.
    pub mad: f64,
}

impl Level {
    /// Of `values`, which are positive; NaN without any.
    pub fn of(values: Vec<f64>) -> Level {
        let centre = median(values.clone()).unwrap_or(f64::NAN);
        Level { median: centre, mad: mad(values.iter().map(|value| (value / centre - 1.0).abs()).collect()) }
    }

    /// The standard deviation relative to the median, at least the least that is believed.
    pub fn scale(&self) -> f64 {
        scale(self.mad)
    }
}

/// The middle of absolute deviations.
pub fn mad(deviations: Vec<f64>) -> f64 {
    median(deviations).unwrap_or(f64::NAN)
}

/// The standard deviation for a MAD, at least the least that is believed.
pub fn scale(mad: f64) -> f64 {
    (MAD_TO_DEVIATION * mad).max(LEAST_SCALE)
}
