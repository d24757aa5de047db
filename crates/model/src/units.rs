use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duration in nanoseconds. Fractional, since it is usually batch time divided by iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanos(pub f64);

/// The unit of an environment's figures.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Times.
    #[default]
    Nanoseconds,
    /// Numbers of instructions, user and kernel mode together, which an emulated machine counts.
    Instructions,
}

/// Anything less than a femtosecond is not a cost but an empty measurement or the rounding error of a difference.
const LEAST_NS: f64 = 1e-6;

impl Nanos {
    /// Whether it is finite and large enough to divide by.
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

impl std::ops::Div for Nanos {
    type Output = f64;
    fn div(self, other: Nanos) -> f64 {
        self.0 / other.0
    }
}
