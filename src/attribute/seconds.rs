//! Seconds with a range. Pure; used by all of `attribute`.

use schemars::JsonSchema;
use serde::Serialize;

/// Nanoseconds as seconds.
pub fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A time in seconds, and the ends of its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Seconds {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}
