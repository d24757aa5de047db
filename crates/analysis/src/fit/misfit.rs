//! Where a line does not fit, and what the costs do instead.

use super::l1::{StraightLine, regress};
use super::series::PointCost;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Interval;

/// How costs deviate from a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Misfit {
    /// The cost per unit changes between two neighbouring values.
    Step {
        /// The values around the step.
        between: (u64, u64),
        /// Nanoseconds per unit below and above.
        per_unit: (f64, f64),
    },
    /// A single value is off the line, and the values on both sides are on it.
    Alone {
        value: u64,
        /// Its cost divided by the line's.
        times: f64,
    },
}

pub type Known<'a> = (u64, &'a PointCost);

/// |cost / line - 1|, or relative to the cost where the line is not above 0.
pub fn residual((value, cost): Known, line: &StraightLine) -> f64 {
    let expected = line.at(value as f64);
    let scale = if expected > 0.0 { expected } else { cost.ns };
    (cost.ns - expected).abs() / scale
}

fn is_off((value, cost): Known, line: &StraightLine, share: f64) -> bool {
    let (low, high) = cost.interval.map_or((cost.ns, cost.ns), Interval::ends);
    residual((value, cost), line) > share && !(low..=high).contains(&line.at(value as f64))
}

const OFF: f64 = 0.10;
/// A line that is off by no more than this explains its points in the search for a step.
const EXPLAINED: f64 = 0.05;

pub fn find(points: &[Known], line: &StraightLine) -> Option<Misfit> {
    let off: Vec<usize> = (0..points.len())
        .filter(|i| is_off(points[*i], line, OFF))
        .collect();
    match off[..] {
        [] => None,
        [i] if points.len() > 3 && i > 0 && i + 1 < points.len() => {
            let (value, cost) = points[i];
            Some(Misfit::Alone {
                value,
                times: cost.ns / line.at(value as f64),
            })
        }
        _ => step(points),
    }
}

/// The step is where the longest run of points that one line explains ends, from the left or from the right.
fn step(points: &[Known]) -> Option<Misfit> {
    let reversed: Vec<Known> = points.iter().rev().copied().collect();
    let (from_left, left) = longest(points)?;
    let (from_right, right) = longest(&reversed)?;
    let at = if from_left >= from_right {
        from_left
    } else {
        points.len() - from_right
    };
    let ((low, below), (high, above)) = (points.get(at.checked_sub(1)?)?, points.get(at)?);
    let across = (above.ns - below.ns) / (*high as f64 - *low as f64);
    let per_unit = if from_left >= from_right {
        (left.per_unit, across)
    } else {
        (across, right.per_unit)
    };
    Some(Misfit::Step {
        between: (*low, *high),
        per_unit,
    })
}

/// At least two points. A binary search: what explains more points also explains fewer.
fn longest(points: &[Known]) -> Option<(usize, StraightLine)> {
    let line = |count: usize| regress(&coordinates(points.get(..count)?));
    let explains = |count: &usize| {
        line(*count).is_some_and(|l| !points[..*count].iter().any(|p| is_off(*p, &l, EXPLAINED)))
    };
    let counts: Vec<usize> = (3..points.len()).collect();
    let count = 2 + counts.partition_point(explains);
    Some((count, line(count)?))
}

pub fn coordinates(points: &[Known]) -> Vec<(f64, f64)> {
    points
        .iter()
        .map(|(value, cost)| (*value as f64, cost.ns))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(cost: impl Fn(f64) -> f64) -> Vec<(u64, PointCost)> {
        let exact = |value: u64| PointCost {
            ns: cost(value as f64),
            interval: None,
            block_ns: vec![],
        };
        (0..11)
            .map(|i| 4u64.pow(i))
            .map(|value| (value, exact(value)))
            .collect()
    }

    fn misfit(points: &[(u64, PointCost)]) -> Option<Misfit> {
        let points: Vec<Known> = points.iter().map(|(value, cost)| (*value, cost)).collect();
        find(&points, &regress(&coordinates(&points)).unwrap())
    }

    #[test]
    fn a_step_at_a_cache_size_is_found() {
        let cached = |x: f64| 150.0 + 0.03 * x;
        let points = observed(|x| cached(x) + 0.09 * (x - 262144.0).max(0.0));
        let Some(Misfit::Step { between, per_unit }) = misfit(&points) else {
            panic!()
        };
        assert_eq!(between, (262_144, 1_048_576));
        let off = (per_unit.0 - 0.03).abs().max((per_unit.1 - 0.12).abs());
        assert!(off < 1e-6, "{per_unit:?}");
    }

    #[test]
    fn a_step_early_on_is_found_from_the_right() {
        let points = observed(|x| if x > 20.0 { 400.0 + 0.03 * x } else { 150.0 });
        let Some(Misfit::Step { between, .. }) = misfit(&points) else {
            panic!()
        };
        assert_eq!(between, (16, 64));
    }

    #[test]
    fn what_an_interval_explains_is_no_misfit() {
        let mut points = observed(|x| 150.0 + 0.03 * x);
        assert_eq!(misfit(&points), None);
        points[5].1.ns *= 1.3;
        assert!(misfit(&points).is_some());
        points[5].1.interval = Some(Interval::of_95_percent((100.0, 300.0)));
        assert_eq!(misfit(&points), None);
    }
}
