//! Median and scatter of some values, and what is far. Called by each question.

use crate::stats::median;

/// A change that is called one differs from 1 by at least this.
pub const LEAST_CHANGE: f64 = 0.05;
/// No scatter is taken to be less than this share of the cost: clocks and batches do not repeat better.
pub const LEAST_SCALE: f64 = 0.005;
/// How many standard deviations are far, with very many hosts. With `DEVIATIONS + SMALL_GROUPS / count` about 1 group of
/// 178 unchanged cases in 20 has one that is called far, whatever its size (bench/fleet verdicts).
pub const DEVIATIONS: f64 = 5.5;
pub const SMALL_GROUPS: f64 = 80.0;
/// Hosts that a group needs for outliers.
pub const FEWEST_HOSTS: usize = 10;
/// Hosts that must have taken an upgrade: the MAD of fewer is too often small by chance.
pub const FEWEST_UPGRADED: usize = 10;
/// Days that a change in time needs.
pub const FEWEST_DAYS: usize = 10;

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

/// Whether `relative`, a difference from 1, is a change: large enough, and far beyond `error` as `count` values tell it.
pub fn is_change(relative: f64, error: f64, count: usize) -> bool {
    relative.abs() >= LEAST_CHANGE && relative.abs() >= error * (DEVIATIONS + SMALL_GROUPS / count as f64)
}
