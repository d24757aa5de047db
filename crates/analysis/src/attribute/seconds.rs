//! Seconds with a range. Pure; used by all of `attribute`.

use schemars::JsonSchema;
use serde::Serialize;

pub fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
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
    /// Without what takes the place of it, which is known within a factor of two.
    pub fn less(self, place_s: f64) -> Seconds {
        let without = |time: f64, place_s: f64| (time - place_s).max(0.0);
        Seconds {
            value: without(self.value, place_s),
            low: without(self.low, 2.0 * place_s),
            high: without(self.high, place_s / 2.0),
        }
    }
}
