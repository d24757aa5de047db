//! Numbers with their unit in the type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duration in nanoseconds, fractions allowed: batch time divided by iterations is rarely whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanos(pub f64);

/// A femtosecond: what is less is no cost but an empty measurement, or a rounding error of a difference.
const LEAST_NS: f64 = 1e-6;

impl Nanos {
    /// Whether anything can be divided by it.
    pub fn is_cost(self) -> bool {
        self.0.is_finite() && self.0 >= LEAST_NS
    }
}

impl std::ops::Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

/// The ratio of two durations, without a unit.
impl std::ops::Div for Nanos {
    type Output = f64;
    fn div(self, other: Nanos) -> f64 {
        self.0 / other.0
    }
}
