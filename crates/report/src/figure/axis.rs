//! Logarithmic axes: conversion from values to shares of the width, and the values of ticks.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// An axis over all of `values` that are positive and finite; from 1 to 10 if there are none.
    pub fn holding(values: impl Iterator<Item = f64>) -> LogAxis {
        let (low, high) = values
            .filter(|v| v.is_finite())
            .map(|v| v.min(MOST))
            .filter(|v| *v > LEAST)
            .fold((f64::MAX, f64::MIN), |(low, high), v| {
                (low.min(v), high.max(v))
            });
        if low > high {
            LogAxis {
                low: 1.0,
                high: 10.0,
            }
        } else {
            LogAxis { low, high }
        }
    }

    /// Reaching at least from 1 / `least` to `least`.
    pub fn around_one(self, least: f64) -> LogAxis {
        LogAxis {
            low: self.low.min(1.0 / least),
            high: self.high.max(least),
        }
    }

    /// Widens both ends a little, so that marks at the ends are not cut.
    pub fn with_margin(self) -> LogAxis {
        let share = ((self.high / self.low).ln() * 0.04).max(0.05);
        LogAxis {
            low: self.low / share.exp(),
            high: self.high * share.exp(),
        }
    }

    /// Widened around its middle until its ends are a factor of `least` apart.
    pub fn spanning(self, least: f64) -> LogAxis {
        let missing = (least * self.low / self.high).max(1.0).sqrt();
        LogAxis {
            low: self.low / missing,
            high: self.high * missing,
        }
    }

    /// The place of a value, from 0 at the low end to 1; values beyond the ends are at the ends.
    pub fn share(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        }
    }

    /// The value at a place, the inverse of [`LogAxis::share`].
    pub fn value(&self, share: f64) -> f64 {
        self.low * (self.high / self.low).powf(share)
    }

    /// Round values, ascending, at least `gap` apart as a share of the axis.
    pub fn ticks(&self, gap: f64) -> Vec<f64> {
        let mut ticks: Vec<f64> = Vec::new();
        // The finest ones would be unreadable on a long axis.
        let fine = self.high / self.low < 6.0;
        for mantissas in &TIERS[..if fine { TIERS.len() } else { TIERS.len() - 1 }] {
            for value in self
                .decades()
                .flat_map(|decade| mantissas.iter().map(move |m| m * decade))
            {
                let inside = value >= self.low * 0.9999 && value <= self.high * 1.0001;
                if inside
                    && ticks
                        .iter()
                        .all(|t| (self.share(*t) - self.share(value)).abs() >= gap)
                {
                    ticks.push(value);
                }
            }
        }
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    /// Powers of ten; 1 comes first, so that it gets a tick if it is on the axis.
    fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        fn power(value: f64) -> i32 {
            (value.log10().floor() as i32).clamp(-40, 40)
        }

        let (first, last) = (power(self.low), power(self.high) + 1);
        (0..=last.max(0))
            .chain((first.min(0)..0).rev())
            .map(|power| 10f64.powi(power))
    }
}

/// Margins around it are valid numbers too.
const LEAST: f64 = 1e-30;
const MOST: f64 = 1e30;

/// Mantissas of ticks, in order of preference.
const TIERS: [&[f64]; 5] = [
    &[1.0],
    &[5.0],
    &[2.0],
    &[3.0, 1.5, 7.0],
    &[1.1, 1.2, 9.0, 8.0, 1.05, 9.5, 1.02, 9.8, 1.01, 9.9],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_at_their_logarithms() {
        let axis = LogAxis::holding([1.0, 100.0].into_iter());
        assert_eq!(
            [axis.share(1.0), axis.share(10.0), axis.share(100.0)],
            [0.0, 0.5, 1.0]
        );
        assert_eq!(
            [
                axis.share(0.0),
                axis.share(1e9),
                axis.share(f64::NAN),
                axis.share(-1.0)
            ],
            [0.0, 1.0, 0.0, 0.0]
        );
    }

    #[test]
    fn an_axis_of_nothing_or_of_one_value_is_an_axis() {
        for values in [
            vec![],
            vec![5.0],
            vec![f64::NAN, f64::INFINITY, -1.0],
            vec![f64::MIN_POSITIVE, f64::MAX],
        ] {
            let axis = LogAxis::holding(values.into_iter()).with_margin();
            assert!((0.0..=1.0).contains(&axis.share(7.0)), "{axis:?}");
            assert!(axis.ticks(0.1).len() < 20);
        }
    }

    #[test]
    fn shares_and_values_are_inverse_and_a_flat_line_is_in_the_middle() {
        let axis = LogAxis::holding([1.0, 100.0].into_iter());
        assert_eq!(
            [0.0, 0.5, 1.0].map(|share| axis.value(share)),
            [1.0, 10.0, 100.0]
        );
        assert_eq!(axis.spanning(4.0), axis);
        let flat = LogAxis::holding([10.0].into_iter()).spanning(4.0);
        assert_eq!(
            [0.0, 0.5, 1.0].map(|share| flat.value(share)),
            [5.0, 10.0, 20.0]
        );
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let decades = LogAxis::holding([0.5, 2e6].into_iter()).ticks(0.1);
        assert_eq!(decades, [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        let ratios = LogAxis::holding([0.96, 1.3].into_iter())
            .around_one(1.1)
            .ticks(0.12);
        assert!(ratios.contains(&1.0) && ratios.len() >= 4, "{ratios:?}");
        assert!(ratios.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
