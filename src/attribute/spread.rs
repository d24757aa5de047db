//! Seconds with a range, and how errors combine. Pure; all of `attribute` speaks in these.
//!
//! The rule, in one place: a unit cost is measured on one object, alone, with a warm cache; the call in a program is not.
//! Twice or half of it is a normal error, so 95% of the logarithms lie within ln 2: a standard deviation of ln 2 / 1.96
//! for each call name. Classes of one call share that error, different calls err independently: the errors of a total
//! are added as squares, so a total is known better than its parts. What a class lies outside the measured parameters adds
//! `PER_DOUBLING` for each doubling. The interval of the unit cost itself is added as a square too. The bare crossing has
//! no such error: a null call is nothing but that.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Standard deviation of the logarithm of a call's true cost over its unit cost: a factor of 2 at 95%.
pub const MODEL_SD: f64 = std::f64::consts::LN_2 / Z;

/// The same, for each doubling of a parameter beyond the measured values.
pub const PER_DOUBLING: f64 = 0.05;

/// A range is no wider than this either way, as a logarithm: an interval that says nothing must not become infinite.
const WIDEST: f64 = 100.0;

/// 95% of a normal distribution lie within so many standard deviations.
pub const Z: f64 = 1.96;

/// A time in seconds with the range that holds it at about 95%. `low` and `high` are the value itself where it is known
/// exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Seconds {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Seconds {
    pub fn exactly(value: f64) -> Seconds {
        Seconds { value, low: value, high: value }
    }

    pub fn between(value: f64, a: f64, b: f64) -> Seconds {
        Seconds { value, low: a.min(b).min(value), high: a.max(b).max(value) }
    }

    /// A value whose logarithm has this standard deviation.
    pub fn within(value: f64, log_sd: f64) -> Seconds {
        let factor = (Z * log_sd).min(WIDEST).exp();
        Seconds::between(value, value / factor, value * factor)
    }

    pub fn times(self, factor: f64) -> Seconds {
        Seconds::between(self.value * factor, self.low * factor, self.high * factor)
    }

    /// The sum where the errors are independent.
    pub fn plus(self, other: Seconds) -> Seconds {
        sum([self, other].into_iter())
    }

    /// The rest of something known exactly.
    pub fn taken_from(self, whole: f64) -> Seconds {
        Seconds::between(whole - self.value, whole - self.high, whole - self.low)
    }

    /// Whether the range has a width.
    pub fn is_exact(self) -> bool {
        self.low == self.high
    }
}

/// The sum of times with independent errors: distances to the ends are added as squares.
pub fn sum(parts: impl Iterator<Item = Seconds>) -> Seconds {
    let (mut value, mut below, mut above) = (0.0, 0.0, 0.0);
    for part in parts {
        value += part.value;
        below += (part.value - part.low).powi(2);
        above += (part.high - part.value).powi(2);
    }
    Seconds { value, low: value - below.sqrt(), high: value + above.sqrt() }
}

/// The sum of times whose errors are common to all of one call and independent between calls.
pub fn sum_by_call<'a>(parts: impl Iterator<Item = (&'a str, Seconds)>) -> Seconds {
    let mut calls: BTreeMap<&str, Seconds> = BTreeMap::new();
    for (call, part) in parts {
        let own = calls.entry(call).or_default();
        *own = Seconds { value: own.value + part.value, low: own.low + part.low, high: own.high + part.high };
    }
    sum(calls.into_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_and_half_are_the_ends_of_one_call() {
        let one = Seconds::within(3.0, MODEL_SD);
        assert!((one.low - 1.5).abs() < 1e-9 && (one.high - 6.0).abs() < 1e-9);
        let less = Seconds::within(-3.0, MODEL_SD);
        assert!((less.low + 6.0).abs() < 1e-9 && (less.high + 1.5).abs() < 1e-9);
    }

    #[test]
    fn totals_of_many_calls_are_tighter_than_those_of_one() {
        let part = Seconds::within(1.0, MODEL_SD);
        let names = ["a", "b", "c", "d"];
        let many = sum_by_call(names.iter().map(|name| (*name, part)));
        let one = sum_by_call(names.iter().map(|_| ("a", part)));
        assert!((many.high - 6.0).abs() < 1e-9, "four errors of 1 as squares are 2: {many:?}");
        assert!((one.high - 8.0).abs() < 1e-9, "classes of one call err together: {one:?}");
    }
}
