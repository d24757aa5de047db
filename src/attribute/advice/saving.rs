//! Arithmetic of savings: times with independent errors, added and subtracted. The rules call it.

use crate::attribute::spread::{Seconds, Z, sum};

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

/// A saving of which it is not known how much of it can be had.
pub fn at_most(saved: Seconds) -> Seconds {
    Seconds { low: 0.0, ..saved }
}

#[cfg(test)]
mod tests {
    use super::*;

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
