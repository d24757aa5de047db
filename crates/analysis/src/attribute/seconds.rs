//! Seconds with a range.

use schemars::JsonSchema;
use serde::Serialize;

pub fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The sum, at most `u64::MAX`: counts in files may be hostile.
pub fn added(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

/// A time in seconds, and the ends of its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Seconds {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Seconds {
    /// `seconds` times the factors of the lower end, the estimate and the upper end.
    pub fn scaled(seconds: f64, [low, value, high]: [f64; 3]) -> Seconds {
        Seconds {
            value: seconds * value,
            low: seconds * low,
            high: seconds * high,
        }
    }

    /// The same seconds with each end and the estimate multiplied by a factor of its own.
    pub fn times(self, [low, value, high]: [f64; 3]) -> Seconds {
        Seconds {
            value: self.value * value,
            low: self.low * low,
            high: self.high * high,
        }
    }

    /// The sum, whose range is as wide as if both erred in the same direction.
    pub fn plus(self, more: Seconds) -> Seconds {
        Seconds {
            value: self.value + more.value,
            low: self.low + more.low,
            high: self.high + more.high,
        }
    }

    /// Bounded by the time that is there: about `seconds`, and never more than `whole_s`.
    pub fn at_most(self, seconds: f64, whole_s: f64) -> Seconds {
        Seconds {
            value: self.value.min(seconds),
            low: self.low.min(0.8 * seconds),
            high: self.high.min(whole_s),
        }
    }

    /// The cost of the replacement is known within a factor of two.
    pub fn less(self, place_s: f64) -> Seconds {
        let left = self.plus(Seconds::scaled(-place_s, [2.0, 1.0, 0.5]));
        Seconds {
            value: left.value.max(0.0),
            low: left.low.max(0.0),
            high: left.high.max(0.0),
        }
    }
}
