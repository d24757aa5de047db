//! Seconds with a range, and how errors combine. Pure; used by all of `attribute`.
//!
//! The error model: a unit cost is measured on one object, alone, with a warm cache; the call in a program is not. Half or
//! twice the unit cost is a normal error, so 95% of the logarithms lie within ln 2: a standard deviation of ln 2 / 1.96 for
//! each call name. Classes of one call share that error, and different calls have independent errors. Independent errors of
//! a total are added as squares, so a total is known better than its parts. A class outside the measured parameters adds
//! `PER_DOUBLING` for each doubling. The interval of the unit cost itself is added as a square too. The bare crossing has
//! no model error, because a null call does nothing else.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Standard deviation of the logarithm of a call's true cost over its unit cost: a factor of 2 at 95%.
pub const MODEL_SD: f64 = std::f64::consts::LN_2 / Z;

/// Added to that standard deviation for each doubling of a parameter beyond the measured values.
pub const PER_DOUBLING: f64 = 0.05;

/// The widest range to either side, as a logarithm: a range without information must stay finite.
const WIDEST: f64 = 100.0;

/// 95% of a normal distribution lies within this many standard deviations.
pub const Z: f64 = 1.96;

/// Nanoseconds as seconds.
pub fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A time in seconds with its range of about 95%. `low` and `high` equal `value` where the time is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Seconds {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Seconds {
    /// A time without error.
    pub fn exactly(value: f64) -> Seconds {
        Seconds { value, low: value, high: value }
    }

    /// A value with the ends of its range, in either order.
    fn between(value: f64, a: f64, b: f64) -> Seconds {
        Seconds { value, low: a.min(b).min(value), high: a.max(b).max(value) }
    }

    /// A value whose logarithm has this standard deviation.
    pub fn within(value: f64, log_sd: f64) -> Seconds {
        let factor = (Z * log_sd).min(WIDEST).exp();
        Seconds::between(value, value / factor, value * factor)
    }

    /// The time with another, independent error of this many seconds.
    pub fn widened(self, error: f64) -> Seconds {
        let width = |end: f64| (end - self.value).hypot(error);
        Seconds { value: self.value, low: self.value - width(self.low), high: self.value + width(self.high) }
    }

    /// The sum of two times that share their error.
    pub fn plus(self, other: Seconds) -> Seconds {
        Seconds { value: self.value + other.value, low: self.low + other.low, high: self.high + other.high }
    }

    /// The time as a change of `here_s` seconds, with the error that all unit costs of a run share: it is proportional to the time
    /// there. Errors of other times must not be added to it as if they were independent, so it is added to sums last.
    pub fn shifted(self, common_sd: f64, here_s: f64) -> Seconds {
        self.widened(Z * common_sd * (here_s + self.value))
    }

    /// Value and range cut off at `most` seconds.
    pub fn at_most(self, most: f64) -> Seconds {
        Seconds { value: self.value.min(most), low: self.low.min(most), high: self.high.min(most) }
    }

    /// Value and range cut off at `least` seconds.
    pub fn at_least(self, least: f64) -> Seconds {
        Seconds { value: self.value.max(least), low: self.low.max(least), high: self.high.max(least) }
    }

    /// This time subtracted from `whole` seconds, which are exact.
    pub fn subtracted_from(self, whole: f64) -> Seconds {
        Seconds::between(whole - self.value, whole - self.high, whole - self.low)
    }

    /// Whether the range has no width.
    pub fn is_exact(self) -> bool {
        self.low == self.high
    }
}

/// The sum of times with independent errors: the distances to the ends of the ranges are added as squares.
pub fn sum(parts: impl Iterator<Item = Seconds>) -> Seconds {
    let (mut value, mut below, mut above) = (0.0, 0.0, 0.0);
    for part in parts {
        value += part.value;
        below += (part.value - part.low).powi(2);
        above += (part.high - part.value).powi(2);
    }
    Seconds { value, low: value - below.sqrt(), high: value + above.sqrt() }
}

/// The sum of times by call name: errors are shared within a call and independent between calls.
pub fn sum_by_call<'a>(parts: impl Iterator<Item = (&'a str, Seconds)>) -> Seconds {
    let mut calls: BTreeMap<&str, Seconds> = BTreeMap::new();
    for (call, part) in parts {
        let own = calls.entry(call).or_default();
        *own = own.plus(part);
    }
    sum(calls.into_values())
}

/// Standard deviation of the logarithm of what calls take in a run that is not traced over what was measured in the traced
/// one, with what the program does around them (`bench/advice`).
const MEASURED_SD: f64 = 0.15;

/// A measured time, as it would be without the tracer.
pub fn measured(seconds: f64) -> Seconds {
    let factor = (Z * MEASURED_SD).exp();
    Seconds { value: seconds, low: seconds / factor, high: seconds * factor }
}

/// The sum of two times with independent errors.
pub fn plus(a: Seconds, b: Seconds) -> Seconds {
    sum([a, b].into_iter())
}

/// What is saved where `now` becomes `then`: nothing rather than less.
pub fn less(now: Seconds, then: Seconds) -> Seconds {
    let negative = Seconds { value: -then.value, low: -then.high, high: -then.low };
    plus(now, negative).at_least(0.0)
}

/// A saving of which any part may be possible.
pub fn at_most(saved: Seconds) -> Seconds {
    Seconds { low: 0.0, ..saved }
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
        assert!((many.high - 6.0).abs() < 1e-9, "four independent errors of 1 add up to 2: {many:?}");
        assert!((one.high - 8.0).abs() < 1e-9, "classes of one call share their error: {one:?}");
    }

    #[test]
    fn errors_of_what_is_saved_and_of_what_takes_its_place_are_independent() {
        let saved = less(Seconds { value: 10.0, low: 7.0, high: 13.0 }, Seconds { value: 4.0, low: 0.0, high: 8.0 });
        assert_eq!(saved, Seconds { value: 6.0, low: 1.0, high: 11.0 });
        let nothing = less(Seconds::exactly(1.0), Seconds::exactly(2.0));
        assert_eq!(nothing, Seconds::default());
        assert_eq!(at_most(saved).low, 0.0);
    }

    #[test]
    fn a_measured_time_is_within_a_third() {
        let time = measured(1.0);
        assert!((time.high - 1.3418).abs() < 1e-3 && (time.low * time.high - 1.0).abs() < 1e-9);
    }
}
