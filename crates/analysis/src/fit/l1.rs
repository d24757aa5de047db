//! A line through points by least absolute relative residuals.

/// y = fixed + per_unit * x
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StraightLine {
    pub fixed: f64,
    pub per_unit: f64,
}

impl StraightLine {
    pub fn at(&self, x: f64) -> f64 {
        self.fixed + self.per_unit * x
    }
}

const REWEIGHTED: usize = 3;
/// A sum of relative residuals this small is due to rounding.
const ROUNDING: f64 = 1e-9;

/// The line that minimises the sum of |y - line(x)| / line(x); every y must be above 0.
///
/// Least absolute residuals (Koenker and Bassett, Regression Quantiles, Econometrica 46, 1978), weighted so that
/// residuals are relative: the scatter of a cost grows with the cost. Weights start at 1/y and are then updated from the line itself
/// (Carroll and Ruppert, Transformation and Weighting in Regression, 1988, chapter 2): with 1/y alone, high points would weigh less
/// than low ones.
///
/// It tolerates a minority of costs that are far too high, also far out in x, because weighting leaves no point far out. A
/// cost far too low at the largest x would mislead it, but timings do not err in that direction. Rejected: Theil-Sen and
/// repeated medians, which weigh all pairs alike, so that with sizes in geometric steps most pairs add only noise; least squares.
pub fn regress(points: &[(f64, f64)]) -> Option<StraightLine> {
    let mut weights: Vec<f64> = points.iter().map(|(_, y)| 1.0 / y).collect();
    let mut line = weighted(points, &weights)?;
    for _ in 0..REWEIGHTED {
        for (weight, (x, y)) in weights.iter_mut().zip(points) {
            // A line that does not fit may fall below 0, where a weight is meaningless.
            *weight = 1.0 / line.at(*x).max(y / 10.0);
        }
        line = weighted(points, &weights)?;
    }
    Some(line)
}

/// The best line passes through two of the points. The loss is convex, so going to the best line through a point, and from the second
/// point on it to the best line through that, ends at the best line of all (G. O. Wesolowsky, A New Descent Algorithm for the Least
/// Absolute Value Regression Problem, 1981). Where more than two points lie on one line, a better one may pass through any of them.
fn weighted(points: &[(f64, f64)], weights: &[f64]) -> Option<StraightLine> {
    let best_through = |pivot: usize| {
        let (line, next) = through(pivot, points, weights)?;
        Some((loss(&line, points, weights), line, next)).filter(|(loss, ..)| loss.is_finite())
    };
    let mut best = (0..points.len()).find_map(best_through)?;
    for _ in 0..points.len() {
        let (least, line, next) = best;
        if least <= ROUNDING {
            break;
        }
        let is_on = |i: &usize| (points[*i].1 - line.at(points[*i].0)).abs() <= 1e-9 * points[*i].1;
        let pivots = std::iter::once(next).chain((0..points.len()).filter(is_on));
        let better = pivots
            .filter_map(best_through)
            .find(|(loss, ..)| *loss < least * (1.0 - 1e-12));
        match better {
            Some(better) => best = better,
            None => break,
        }
    }
    Some(best.1)
}

fn loss(line: &StraightLine, points: &[(f64, f64)], weights: &[f64]) -> f64 {
    points
        .iter()
        .zip(weights)
        .map(|((x, y), weight)| weight * (y - line.at(*x)).abs())
        .sum()
}

fn through(pivot: usize, points: &[(f64, f64)], weights: &[f64]) -> Option<(StraightLine, usize)> {
    let (x0, y0) = points[pivot];
    let others = points
        .iter()
        .zip(weights)
        .enumerate()
        .filter(|(_, ((x, _), _))| *x != x0);
    let slopes =
        others.map(|(i, ((x, y), weight))| ((y - y0) / (x - x0), weight * (x - x0).abs(), i));
    let (per_unit, next) = weighted_median(slopes.collect())?;
    Some((
        StraightLine {
            fixed: y0 - per_unit * x0,
            per_unit,
        },
        next,
    ))
}

fn weighted_median(mut values: Vec<(f64, f64, usize)>) -> Option<(f64, usize)> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight, _)| weight).sum::<f64>() / 2.0;
    let mut reached = 0.0;
    values.into_iter().find_map(|(value, weight, of)| {
        reached += weight;
        (reached >= half).then_some((value, of))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..9).map(|i| 4f64.powi(i)).map(|x| (x, y(x))).collect()
    }

    #[test]
    fn a_line_is_found_exactly() {
        for (fixed, per_unit) in [(150.0, 0.03), (7.0, 0.0)] {
            let line = regress(&points(|x| fixed + per_unit * x)).unwrap();
            let off = (line.fixed - fixed)
                .abs()
                .max((line.per_unit - per_unit).abs());
            assert!(off < 1e-6, "{line:?}");
        }
    }

    #[test]
    fn one_outlier_anywhere_changes_nothing() {
        for wild in 0..9 {
            let mut points = points(|x| 150.0 + 0.03 * x);
            points[wild].1 *= 10.0;
            let line = regress(&points).unwrap();
            let near = (line.fixed / 150.0 - 1.0).abs() < 0.01
                && (line.per_unit / 0.03 - 1.0).abs() < 0.01;
            assert!(near, "point {wild}: {line:?}");
        }
    }

    #[test]
    fn one_x_is_no_line() {
        assert_eq!(regress(&[(3.0, 1.0), (3.0, 2.0)]), None);
        assert_eq!(regress(&[]), None);
    }

    fn least_loss(points: &[(f64, f64)], weights: &[f64]) -> f64 {
        let lines = (0..points.len()).filter_map(|pivot| Some(through(pivot, points, weights)?.0));
        lines
            .map(|line| loss(&line, points, weights))
            .fold(f64::INFINITY, f64::min)
    }

    proptest::proptest! {
        #[test]
        fn going_from_point_to_point_ends_at_the_best_line(
            ys in proptest::collection::vec(1.0..1000f64, 2..40),
            geometric in proptest::prelude::any::<bool>(),
            whole in proptest::prelude::any::<bool>(),
        ) {
            let x = |i: usize| if geometric { 1.5f64.powi(i as i32) } else { i as f64 };
            let y = |y: f64| if whole { (y / 100.0).ceil() } else { y };
            let points: Vec<(f64, f64)> = ys.iter().enumerate().map(|(i, v)| (x(i), y(*v))).collect();
            let weights: Vec<f64> = points.iter().map(|(_, y)| 1.0 / y).collect();
            let found = loss(&weighted(&points, &weights).unwrap(), &points, &weights);
            let least = least_loss(&points, &weights);
            proptest::prop_assert!(found <= least * (1.0 + 1e-9) + 1e-9, "{} {}", found, least);
        }
    }
}
