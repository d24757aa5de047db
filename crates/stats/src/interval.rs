//! Values with intervals, and order-statistic intervals over time blocks.

use super::deviation::MOST_DEGREES;
use super::student::quantile;
use super::{BetweenRuns, Deviation};
use model::{Nanos, Unit};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::cmp::Ordering;

/// An interval and its exact level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Confidence: at least 0.95.
    pub level: f64,
}

impl Interval {
    pub fn with_95_percent(low: f64, high: f64) -> Interval {
        Interval {
            low,
            high,
            level: 0.95,
        }
    }

    /// Widened to include `value`: with blocks of different sizes, the median of all batches can lie outside the interval of
    /// block medians, and an interval that misses its own estimate would claim too much.
    pub fn holding(self, value: f64) -> Interval {
        Interval {
            low: self.low.min(value),
            high: self.high.max(value),
            ..self
        }
    }

    pub fn ends(self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Half its width in percent of `middle`; `None` if that is not a cost.
    pub fn half_width_percent(&self, middle: Nanos) -> Option<f64> {
        let percent = 50.0 * (self.high - self.low) / middle.0;
        (middle.is_cost() && percent.is_finite()).then_some(percent)
    }
}

/// A value with its interval of at least 95%.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranged {
    /// The estimate.
    pub value: f64,
    /// The ends of the interval; `None` with too few launches, and for published results.
    #[serde(rename = "interval", serialize_with = "ends")]
    #[schemars(with = "Option<Ends>")]
    pub low_high: Option<(f64, f64)>,
}

/// The ends of an interval of at least 95%.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ends {
    /// The lower end.
    low: f64,
    /// The upper end.
    high: f64,
}

pub(super) fn ends<S: Serializer>(
    low_high: &Option<(f64, f64)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    low_high
        .map(|(low, high)| Ends { low, high })
        .serialize(serializer)
}

/// A number in its unit, with the interval of a time or the range of a count's repeats.
#[derive(Clone, Copy)]
pub struct Quantity {
    pub value: f64,
    pub low_high: Option<(f64, f64)>,
    pub unit: Unit,
}

impl Quantity {
    /// `None` in another unit, so that instructions are never read as a time.
    pub fn in_unit(self, unit: Unit) -> Option<Ranged> {
        let Quantity {
            value,
            low_high,
            unit: measure,
        } = self;
        (measure == unit).then_some(Ranged { value, low_high })
    }

    /// Times by size, then counts by size, then what is not known.
    pub fn ascending(a: Option<Quantity>, b: Option<Quantity>) -> Ordering {
        fn place(quantity: Option<Quantity>) -> (bool, Unit) {
            quantity.map_or((true, Unit::default()), |amount| (false, amount.unit))
        }

        fn value(quantity: Option<Quantity>) -> f64 {
            quantity.map_or(0.0, |amount| amount.value)
        }

        place(a).cmp(&place(b)).then(value(a).total_cmp(&value(b)))
    }
}

impl Ranged {
    /// The interval is widened to hold it.
    #[must_use]
    pub fn moved_to(self, value: f64) -> Ranged {
        Ranged {
            value,
            ..self.holding(value)
        }
    }

    /// With an interval that is widened to hold `value`.
    #[must_use]
    pub fn holding(self, value: f64) -> Ranged {
        let low_high = self
            .low_high
            .map(|(low, high)| (low.min(value), high.max(value)));
        Ranged { low_high, ..self }
    }

    /// `control` is the ratio of the same thing to itself in the same rounds, and how far it is from 1 beyond its own error is an error
    /// of this one too.
    #[must_use]
    pub fn beside(self, control: Ranged) -> Ranged {
        if self.low_high.is_none() {
            return self;
        }
        let (low, high) = self.log_ratio().beside(&control.log_ratio()).low_high();
        Ranged {
            low_high: Some((low, high)),
            ..self
        }
    }

    fn log_ratio(self) -> BetweenRuns {
        let far = |end: f64| (end / self.value).ln().abs();
        // A ratio's interval need not be symmetric on the log scale: the farther end counts.
        let half = self
            .low_high
            .map_or(0.0, |(low, high)| far(low).max(far(high)));
        let degrees = MOST_DEGREES;
        BetweenRuns {
            log_ratio: self.value.ln(),
            error: Deviation {
                sd: half / quantile((1.0 - LEVEL) / 2.0, degrees),
                degrees,
            },
        }
    }

    pub fn in_unit(self, unit: Unit) -> Quantity {
        Quantity {
            value: self.value,
            low_high: self.low_high,
            unit,
        }
    }

    pub(super) fn exp(self) -> Ranged {
        Ranged {
            value: self.value.exp(),
            low_high: self.low_high.map(|(low, high)| (low.exp(), high.exp())),
        }
    }
}

// 10 blocks held 80% of cases where 83% was due; with twice as many, runs of one look would have no interval.
/// Fewer blocks give no useful interval.
pub const FEWEST_BLOCKS: usize = 10;
const LEVEL: f64 = 0.95;

/// The interval [x(j), x(B+1-j)] of B block medians, with the largest j whose level is at least 95%. Its level is
/// 1 - 2 sum_{i<j} C(B,i)/2^B (David and Nagaraja, Order Statistics, section 7.1). Sorts `medians`.
pub fn block_interval(medians: &mut [f64]) -> Option<Interval> {
    let count = medians.len();
    if count < FEWEST_BLOCKS {
        return None;
    }
    medians.sort_by(f64::total_cmp);
    let (j, level) = deepest(count);
    Some(Interval {
        low: medians[j - 1],
        high: medians[count - j],
        level,
    })
}

/// The first where no level is at least 95%.
pub(super) fn deepest(count: usize) -> (usize, f64) {
    let levels = heads_at_most(count)
        // Beyond the middle, the lower end would be above the upper one.
        .take((count / 2).max(1))
        .map(|tail| 1.0 - 2.0 * tail);
    (1..)
        .zip(levels)
        .take_while(|(j, level)| *j == 1 || *level >= LEVEL)
        .fold((1, 0.0), |_, best| best)
}

/// The chances of at most 0, 1, 2, ... heads in `count` tosses of a fair coin.
pub(super) fn heads_at_most(count: usize) -> impl Iterator<Item = f64> {
    // In logarithms, since 0.5^count is 0 to a double from 1075 tosses on.
    let terms = (1..=count).scan(-(count as f64) * std::f64::consts::LN_2, move |term, i| {
        let before = *term;
        *term += ((count + 1 - i) as f64 / i as f64).ln();
        Some(before)
    });
    terms.scan(0.0, |tail, term: f64| {
        *tail += term.exp();
        Some(*tail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chances(count: usize) -> Vec<f64> {
        (0..count).fold(vec![1.0], |row: Vec<f64>, _| {
            let left = std::iter::once(&0.0).chain(&row);
            let right = row.iter().chain(std::iter::once(&0.0));
            left.zip(right).map(|(a, b)| (a + b) / 2.0).collect()
        })
    }

    #[test]
    fn any_number_of_blocks_has_the_interval_of_the_binomial() {
        for blocks in (10..700).chain([1074, 1075, 1080, 2000, 4001]) {
            let (j, level) = deepest(blocks);
            let chances = chances(blocks);
            let level_of = |j: usize| 1.0 - 2.0 * chances[..j].iter().sum::<f64>();
            assert!(
                (level_of(j) - level).abs() < 1e-9,
                "{blocks} blocks: {level}, not {}",
                level_of(j)
            );
            assert!(
                level_of(j) >= LEVEL && level_of(j + 1) < LEVEL,
                "{blocks} blocks: the {j}th is not the deepest"
            );
        }
    }

    #[test]
    fn an_interval_is_widened_to_its_estimate_and_given_in_percent() {
        let interval = Interval {
            low: 90.0,
            high: 110.0,
            level: 0.96,
        };
        for (value, ends) in [
            (100.0, (90.0, 110.0)),
            (80.0, (80.0, 110.0)),
            (120.0, (90.0, 120.0)),
        ] {
            assert_eq!(interval.holding(value).ends(), ends);
        }
        assert_eq!(interval.half_width_percent(Nanos(200.0)), Some(5.0));
        assert_eq!(interval.half_width_percent(Nanos(0.0)), None);
    }

    #[test]
    fn a_control_that_is_apart_widens_a_ratio() {
        fn ranged(value: f64, half: f64) -> Ranged {
            Ranged {
                value,
                low_high: Some((value / (1.0 + half), value * (1.0 + half))),
            }
        }

        fn width(ratio: Ranged) -> f64 {
            let (low, high) = ratio.low_high.unwrap();
            (high / low).ln()
        }

        let ratio = ranged(1.05, 0.01);
        let alone = width(ratio.beside(ranged(1.0, 0.01)));
        assert!(
            (alone / (1.01_f64.powi(2)).ln() - 1.0).abs() < 1e-3,
            "{alone}"
        );
        assert!(
            (width(ratio.beside(ranged(1.005, 0.01))) - alone).abs() < 1e-9,
            "within its own error"
        );
        let (low, high) = ratio.beside(ranged(1.04, 0.01)).low_high.unwrap();
        assert!(low < 1.0 && high > 1.1, "{low} {high}");
    }

    #[test]
    fn interval_is_of_order_statistics() {
        let mut medians: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        let interval = block_interval(&mut medians).unwrap();
        assert_eq!((interval.low, interval.high), (2.0, 9.0));
        assert!(block_interval(&mut medians[..9]).is_none());
    }
}
