//! The overhead of tracing a call, from traced and untraced batches in pairs.

use super::{block_interval, median};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    pub ns: f64,
    pub low: f64,
    pub high: f64,
}

/// How much a calibration of another moment differs in 95 of 100 cases, as a share, however well each knows its own: the
/// other half of a core works or rests, memory lies elsewhere. `bench/trace calibrated` counts how often the range holds
/// the next one's value.
const AGAIN: f64 = 0.4;

// Chosen: a wider interval would make the overhead look known on a busy machine.
/// Half its interval, as a share.
const WIDEST: f64 = 0.25;

/// How much of the time of a null call the part within it may be uncertain by, as half the width of its interval.
const WIDEST_OF_CALL: f64 = 0.1;

impl Overhead {
    /// The median of the differences between the two sides of each pair, in nanoseconds, with an interval of order statistics; `None`
    /// with fewer pairs than that needs.
    pub fn from_differences(mut differences: Vec<f64>) -> Option<Overhead> {
        let interval = block_interval(&mut differences)?;
        Some(Overhead {
            ns: median(differences)?,
            low: interval.low,
            high: interval.high,
        })
    }

    /// The nanoseconds, if they are known to be more than none, and roughly how many. The machine was busy otherwise.
    pub fn added(&self) -> Option<f64> {
        (self.low > 0.0 && self.half_width() <= WIDEST * self.ns).then_some(self.ns)
    }

    /// The part of it that is within the traced time of a null call of `call_ns`, if that is known. Never below zero: a traced time
    /// that lacks a part of the kernel entry is not made longer.
    pub fn within(&self, call_ns: f64) -> Option<f64> {
        if self.half_width() <= WIDEST_OF_CALL * call_ns {
            Some(self.ns.max(0.0))
        } else {
            None
        }
    }

    /// The range that holds the value of another calibration, in nanoseconds.
    pub fn range(&self) -> [f64; 2] {
        let again = AGAIN * self.ns;
        [
            self.ns - again.hypot(self.ns - self.low),
            self.ns + again.hypot(self.high - self.ns),
        ]
    }

    fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_pairs_and_the_range_that_of_another_calibration() {
        let overhead =
            Overhead::from_differences((1..=12).map(|i| 100.0 + f64::from(i)).collect()).unwrap();
        assert_eq!(overhead.ns, 106.5);
        // The third of each end: 103 and 110.
        assert_eq!((overhead.low, overhead.high), (103.0, 110.0));
        let [low, high] = overhead.range();
        assert!(
            (low - (106.5 - 42.6f64.hypot(3.5))).abs() < 1e-9
                && (high - (106.5 + 42.6f64.hypot(3.5))).abs() < 1e-9
        );
        assert_eq!(Overhead::from_differences(vec![1.0; 9]), None);
    }

    fn overhead(ns: f64, low: f64, high: f64) -> Overhead {
        Overhead { ns, low, high }
    }
    #[test]
    fn what_the_interval_does_not_know_is_not_known() {
        assert_eq!(overhead(300.0, 280.0, 330.0).added(), Some(300.0));
        assert_eq!(overhead(300.0, -20.0, 330.0).added(), None);
        assert_eq!(overhead(300.0, 100.0, 800.0).added(), None);
        assert_eq!(overhead(-771.0, -900.0, -600.0).added(), None);
        assert_eq!(overhead(30.0, 20.0, 38.0).within(150.0), Some(30.0));
        assert_eq!(overhead(30.0, -100.0, 300.0).within(150.0), None);
    }

    #[test]
    fn nothing_negative_is_ever_subtracted() {
        assert_eq!(overhead(-771.0, -776.0, -766.0).within(150.0), Some(0.0));
        assert_eq!(overhead(-1.0, -6.0, 4.0).within(150.0), Some(0.0));
    }
}
