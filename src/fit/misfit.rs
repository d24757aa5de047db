//! Where a line does not fit, and what the costs do instead.

use super::l1::{StraightLine, regress};
use super::series::PointCost;

/// How costs deviate from a line.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// A measured point, in nanoseconds, with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    pub value: u64,
    pub ns: f64,
    low: f64,
    high: f64,
}

impl Observed {
    /// Without an interval, both ends are the cost.
    pub fn new(value: u64, cost: &PointCost) -> Observed {
        let (low, high) = cost.interval.map_or((cost.ns, cost.ns), |i| (i.low, i.high));
        Observed { value, ns: cost.ns, low, high }
    }

    /// |cost / line - 1|; where the line is not above 0, relative to the cost.
    pub fn residual(&self, line: &StraightLine) -> f64 {
        let expected = line.at(self.value as f64);
        let scale = if expected > 0.0 { expected } else { self.ns };
        (self.ns - expected).abs() / scale
    }

    /// Whether the line is off by more than `share`, and outside the point's own interval.
    fn is_off(&self, line: &StraightLine, share: f64) -> bool {
        let expected = line.at(self.value as f64);
        self.residual(line) > share && !(self.low..=self.high).contains(&expected)
    }

    fn point(&self) -> (f64, f64) {
        (self.value as f64, self.ns)
    }
}

/// A line that is off by more than this share gets a warning.
const OFF: f64 = 0.10;
/// A line that is off by no more than this explains its points in the search for a step.
const EXPLAINED: f64 = 0.05;

/// The misfit of `line` to the points, which must ascend; `None` if it fits.
pub fn find(points: &[Observed], line: &StraightLine) -> Option<Misfit> {
    let off: Vec<usize> = (0..points.len()).filter(|i| points[*i].is_off(line, OFF)).collect();
    match off[..] {
        [] => None,
        [i] if points.len() > 3 && i > 0 && i + 1 < points.len() => Some(alone(&points[i], line)),
        _ => step(points),
    }
}

fn alone(point: &Observed, line: &StraightLine) -> Misfit {
    Misfit::Alone { value: point.value, times: point.ns / line.at(point.value as f64) }
}

/// The step is where the longest run of points that one line explains ends, from the left or from the right.
fn step(points: &[Observed]) -> Option<Misfit> {
    let reversed: Vec<Observed> = points.iter().rev().copied().collect();
    let (from_left, left) = longest(points)?;
    let (from_right, right) = longest(&reversed)?;
    let at = if from_left >= from_right { from_left } else { points.len() - from_right };
    let (below, above) = (points.get(at.checked_sub(1)?)?, points.get(at)?);
    let across = slope(below, above);
    let per_unit = if from_left >= from_right { (left.per_unit, across) } else { (across, right.per_unit) };
    Some(Misfit::Step { between: (below.value, above.value), per_unit })
}

/// How many points from the start one line explains, at least two, and that line. A binary search: what explains more points
/// also explains fewer.
fn longest(points: &[Observed]) -> Option<(usize, StraightLine)> {
    let line = |count: usize| regress(&points.get(..count)?.iter().map(Observed::point).collect::<Vec<_>>());
    let explains =
        |count: &usize| line(*count).is_some_and(|l| !points[..*count].iter().any(|p| p.is_off(&l, EXPLAINED)));
    let counts: Vec<usize> = (3..points.len()).collect();
    let count = 2 + counts.partition_point(explains);
    Some((count, line(count)?))
}

fn slope(a: &Observed, b: &Observed) -> f64 {
    (b.ns - a.ns) / (b.value as f64 - a.value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(cost: impl Fn(f64) -> f64) -> Vec<Observed> {
        let at = |value: u64| (value, cost(value as f64));
        let exact = |(value, ns)| Observed { value, ns, low: ns, high: ns };
        (0..11).map(|i| exact(at(4u64.pow(i)))).collect()
    }

    fn misfit(points: &[Observed]) -> Option<Misfit> {
        find(points, &regress(&points.iter().map(Observed::point).collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn a_step_at_a_cache_size_is_found() {
        let cached = |x: f64| 150.0 + 0.03 * x;
        let points = observed(|x| if x > 300e3 { cached(x) + 0.09 * (x - 262144.0) } else { cached(x) });
        let found = misfit(&points).unwrap();
        let Misfit::Step { between, per_unit: (below, above) } = found else { panic!("{found:?}") };
        assert_eq!(between, (262_144, 1_048_576));
        assert!((below - 0.03).abs() < 1e-6 && (above - 0.12).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_step_early_on_is_found_from_the_right() {
        let points = observed(|x| if x > 20.0 { 400.0 + 0.03 * x } else { 150.0 });
        let found = misfit(&points).unwrap();
        assert!(matches!(found, Misfit::Step { between: (16, 64), .. }), "{found:?}");
    }

    #[test]
    fn what_an_interval_explains_is_no_misfit() {
        let mut points = observed(|x| 150.0 + 0.03 * x);
        assert_eq!(misfit(&points), None);
        points[5].ns *= 1.3;
        (points[5].low, points[5].high) = (points[5].ns, points[5].ns);
        assert!(misfit(&points).is_some());
        points[5].low = 100.0;
        points[5].high = 300.0;
        assert_eq!(misfit(&points), None);
    }
}
