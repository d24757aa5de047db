//! Standard deviations of logarithms, with the degrees of freedom that they are known by.

use super::interval::Interval;
use super::{moments, student};
use model::Nanos;

// Student's t of one degree is 12.7, which is of no use.
/// Degrees of freedom from which on values show their scatter.
const FEWEST_KNOWN: f64 = 2.0;

pub(super) const MOST_DEGREES: f64 = 1e6;

pub const NEXT_RUN: f64 = 0.95;

/// The smallest error if no clock's step is known: equal values prove nothing.
pub(super) const LEAST_ERROR: f64 = 1e-6;

// Simulated rows with four times the expected scatter are held in 84% of cases without this rule, and in 93% with it.
/// Times as much scatter as expected, from which on a case is of another kind.
pub(super) const SURPRISE: f64 = 2.0;

/// A standard deviation on the log scale, and the degrees of freedom that it is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    pub sd: f64,
    pub degrees: f64,
}

impl Deviation {
    pub(super) const NONE: Deviation = Deviation {
        sd: 0.0,
        degrees: f64::INFINITY,
    };

    /// The deviation of these values, as far as they are finite; `None` for fewer than three.
    pub fn known(values: &[f64]) -> Option<Deviation> {
        Deviation::with_degrees(values, FEWEST_KNOWN)
    }

    pub(super) fn with_degrees(values: &[f64], fewest: f64) -> Option<Deviation> {
        let known: Vec<f64> = values
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        let degrees = known.len() as f64 - 1.0;
        if degrees >= fewest {
            Some(Deviation {
                sd: (moments(&known).1 / degrees).sqrt().max(LEAST_ERROR),
                degrees,
            })
        } else {
            None
        }
    }

    /// The expected deviation (`self`) and that of `values` (one or more), weighted by their degrees of freedom (Smyth, Linear models and
    /// empirical Bayes methods, 2004). Values that scatter far more than expected are taken alone.
    pub(super) fn moderated(self, values: &[f64]) -> Deviation {
        let surprising =
            Deviation::known(values).filter(|deviation| deviation.sd > SURPRISE * self.sd);
        surprising.unwrap_or_else(|| {
            let degrees = self.degrees + values.len() as f64 - 1.0;
            let variance = (self.degrees * self.sd.powi(2) + moments(values).1) / degrees;
            Deviation {
                sd: variance.sqrt(),
                degrees,
            }
        })
    }

    pub(super) fn mean_error(values: &[f64]) -> Option<Deviation> {
        let one = Deviation::known(values)?;
        Some(one.times(1.0 / (one.degrees + 1.0).sqrt()))
    }

    /// The deviation of the sum of independent values, with the degrees of freedom of Welch and Satterthwaite.
    pub fn sum(parts: impl IntoIterator<Item = Deviation>) -> Deviation {
        // Welch and Satterthwaite: each part's variance squared, by its degrees of freedom.
        let (mut variance, mut doubt) = (0.0, 0.0);
        for part in parts {
            variance += part.sd.powi(2);
            doubt += part.sd.powi(4) / part.degrees;
        }
        let degrees = if doubt > 0.0 {
            (variance * variance / doubt).clamp(1.0, MOST_DEGREES)
        } else {
            MOST_DEGREES
        };
        Deviation {
            sd: variance.sqrt(),
            degrees,
        }
    }

    pub(super) fn times(self, factor: f64) -> Deviation {
        Deviation {
            sd: self.sd * factor,
            ..self
        }
    }

    pub(super) fn half_width(self) -> f64 {
        student::quantile((1.0 - NEXT_RUN) / 2.0, self.degrees) * self.sd
    }

    pub fn percent(self) -> f64 {
        self.interval(1.0)
            .and_then(|interval| interval.half_width_percent(Nanos(1.0)))
            .unwrap_or(0.0)
    }

    /// Around a cost; `None` if `middle` is not above 0.
    pub fn interval(self, middle: f64) -> Option<Interval> {
        let factor = self.half_width().exp();
        if !Nanos(middle).is_cost() {
            return None;
        }
        Some(Interval {
            low: middle / factor,
            high: middle * factor,
            level: NEXT_RUN,
        })
    }
}
