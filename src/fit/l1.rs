//! The regression itself: a line through points by least absolute relative residuals. It knows nothing of costs.

/// y = fixed + per_unit * x
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straight {
    pub fixed: f64,
    pub per_unit: f64,
}

impl Straight {
    pub fn at(&self, x: f64) -> f64 {
        self.fixed + self.per_unit * x
    }
}

/// Times that weights are renewed from the line found before.
const REWEIGHTED: usize = 3;

/// The line that minimises the sum of |y - line(x)| / line(x); `None` with fewer than two different x. Every y must be
/// above 0. Takes time with the square of the number of points.
///
/// Least absolute residuals (Koenker and Bassett, Regression Quantiles, Econometrica 46, 1978), weighted so that
/// residuals are relative: the scatter of a cost grows with the cost, so a nanosecond at 1 MiB must not weigh as much as
/// one at a single byte. Weights start from 1/y and are renewed from the line itself (Carroll and Ruppert, Transformation
/// and Weighting in Regression, 1988, chapter 2): with 1/y alone, high points would weigh less than low ones.
///
/// It assumes a scatter in proportion to the cost, with a median of 0. It stands a minority of costs that are far
/// too high: the usual weakness of this estimator, a wild point far out in x, is bounded here, because after weighting no
/// point can be far out. Of a cost far too low at the largest x it cannot know that not the others are wrong; timings do
/// not err in that direction. Rejected: Theil-Sen and repeated medians, whose slopes and intercepts weigh all pairs alike, so that with sizes in
/// geometric steps most pairs say nothing but noise about the slope; least squares, which one wild point carries away.
pub fn regress(points: &[(f64, f64)]) -> Option<Straight> {
    let mut weights: Vec<f64> = points.iter().map(|(_, y)| 1.0 / y).collect();
    let mut line = weighted(points, &weights)?;
    for _ in 0..REWEIGHTED {
        for (weight, (x, y)) in weights.iter_mut().zip(points) {
            // A line that does not fit may run below 0, where a weight would have no meaning.
            *weight = 1.0 / line.at(*x).max(y / 10.0);
        }
        line = weighted(points, &weights)?;
    }
    Some(line)
}

/// The best line passes through one of the points at least: the best slope through each is a weighted median.
fn weighted(points: &[(f64, f64)], weights: &[f64]) -> Option<Straight> {
    let lines = points.iter().filter_map(|pivot| through(*pivot, points, weights));
    let loss = |line: &Straight| -> f64 {
        points.iter().zip(weights).map(|((x, y), weight)| weight * (y - line.at(*x)).abs()).sum()
    };
    let rated = lines.map(|line| (loss(&line), line)).filter(|(loss, _)| loss.is_finite());
    rated.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, line)| line)
}

fn through(pivot: (f64, f64), points: &[(f64, f64)], weights: &[f64]) -> Option<Straight> {
    let others = points.iter().zip(weights).filter(|((x, _), _)| *x != pivot.0);
    let slopes = others.map(|((x, y), weight)| ((y - pivot.1) / (x - pivot.0), weight * (x - pivot.0).abs()));
    let per_unit = weighted_median(slopes.collect())?;
    Some(Straight { fixed: pivot.1 - per_unit * pivot.0, per_unit })
}

/// The value at which half of the weight is reached.
fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut reached = 0.0;
    values.into_iter().find_map(|(value, weight)| {
        reached += weight;
        (reached >= half).then_some(value)
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
        let line = regress(&points(|x| 150.0 + 0.03 * x)).unwrap();
        assert!((line.fixed - 150.0).abs() < 1e-6 && (line.per_unit - 0.03).abs() < 1e-9, "{line:?}");
        assert_eq!(regress(&points(|_| 7.0)).unwrap(), Straight { fixed: 7.0, per_unit: 0.0 });
    }

    #[test]
    fn one_dear_point_anywhere_changes_nothing() {
        for wild in 0..9 {
            let mut points = points(|x| 150.0 + 0.03 * x);
            points[wild].1 *= 10.0;
            let line = regress(&points).unwrap();
            let near = (line.fixed / 150.0 - 1.0).abs() < 0.01 && (line.per_unit / 0.03 - 1.0).abs() < 0.01;
            assert!(near, "point {wild}: {line:?}");
        }
    }

    #[test]
    fn one_x_is_no_line() {
        assert_eq!(regress(&[(3.0, 1.0), (3.0, 2.0)]), None);
        assert_eq!(regress(&[]), None);
    }
}
