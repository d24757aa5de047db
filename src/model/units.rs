//! Numbers with their unit in the type.

use serde::{Deserialize, Serialize};

/// A duration in nanoseconds, fractions allowed: batch time divided by iterations is rarely whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub f64);

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
