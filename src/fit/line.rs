//! The cost model of one strategy: fixed cost and cost per unit, with intervals, residuals and a warning.

use super::l1::{Straight, regress};
use super::misfit::{self, Misfit, Observed};
use super::series::{Cost, Point};
use crate::stats::{Interval, block_interval, median};
use schemars::JsonSchema;
use serde::Serialize;

/// cost = fixed + per_unit * value
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Nanoseconds whatever the value; the loop around the call is in it, as in the ordinary table.
    pub fixed: Coefficient,
    /// Nanoseconds for each unit of the parameter.
    pub per_unit: Coefficient,
    /// Median of |cost / line - 1|.
    pub residual: f64,
    pub worst: Worst,
    /// Where a line is no good model; the intervals say nothing about that.
    pub misfit: Option<Misfit>,
}

/// One number of the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Coefficient {
    pub ns: f64,
    /// `None` with fewer than 10 time blocks that hold every value.
    #[serde(rename = "interval_ns")]
    pub interval: Option<Interval>,
}

/// The point that is farthest from the line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Worst {
    /// |cost / line - 1|
    pub residual: f64,
    /// The parameter's value there.
    pub value: u64,
}

/// As many as a range of parameters may name; the time to fit them grows with the square.
const MOST_VALUES: usize = 200;

/// Fits a line to the medians. The intervals are those of the lines that each time block gives for itself: blocks of
/// one index were measured together, so what moves all values of a block moves one line, not the comparison of values.
/// They assume that blocks are exchangeable, and that the cost is a line.
///
/// # Errors
/// Why there is no line, in words.
pub fn fit(points: &[Point]) -> Result<Line, String> {
    let known: Vec<(u64, &Cost)> = points.iter().filter_map(|p| Some((p.value, p.cost.as_ref()?))).collect();
    match known.len() {
        0..3 => return Err(format!("a line needs 3 values that have a cost, here are {}", known.len())),
        count if count > MOST_VALUES => {
            return Err(format!("{count} values are more than the {MOST_VALUES} that are fitted"));
        }
        _ => {}
    }
    let straight = regress(&at(&known, |cost| Some(cost.ns)).unwrap_or_default());
    let straight = straight.ok_or("the values are too near each other for a line")?;
    let blocks = block_lines(&known);
    let observed: Vec<Observed> = known.iter().map(|(value, cost)| Observed::new(*value, cost)).collect();
    Ok(Line {
        fixed: coefficient(&straight, &blocks, |line| line.fixed),
        per_unit: coefficient(&straight, &blocks, |line| line.per_unit),
        residual: median(observed.iter().map(|o| o.residual(&straight)).collect()).unwrap_or(0.0),
        worst: worst(&observed, &straight),
        misfit: misfit::find(&observed, &straight),
    })
}

/// The points that `cost` picks; `None` where it has none for some value.
fn at(known: &[(u64, &Cost)], cost: impl Fn(&Cost) -> Option<f64>) -> Option<Vec<(f64, f64)>> {
    known.iter().map(|(value, c)| Some((*value as f64, cost(c).filter(|ns| *ns > 0.0)?))).collect()
}

/// The line of each block that holds every value: lines through different values would differ by more than noise.
fn block_lines(known: &[(u64, &Cost)]) -> Vec<Straight> {
    let count = known.iter().map(|(_, cost)| cost.block_ns.len()).min().unwrap_or(0);
    (0..count).filter_map(|i| regress(&at(known, |cost| cost.block_ns.get(i).copied())?)).collect()
}

fn coefficient(line: &Straight, blocks: &[Straight], pick: impl Fn(&Straight) -> f64) -> Coefficient {
    let ns = pick(line);
    let mut values: Vec<f64> = blocks.iter().map(pick).collect();
    Coefficient { ns, interval: block_interval(&mut values).map(|interval| interval.holding(ns)) }
}

fn worst(observed: &[Observed], line: &Straight) -> Worst {
    let all = observed.iter().map(|o| Worst { residual: o.residual(line), value: o.value });
    all.max_by(|a, b| a.residual.total_cmp(&b.residual)).unwrap_or(Worst { residual: 0.0, value: 0 })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, run, series_of};
    use super::*;

    const SIZES: [u64; 9] = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];

    fn line(cost: impl Fn(u64) -> f64, noise: Noise) -> Line {
        let run = run(&[("io.read", &SIZES, &cost)], 20, noise);
        fit(&series_of(&run)[0].points).unwrap()
    }

    #[test]
    fn known_coefficients_are_inside_their_intervals_as_often_as_claimed() {
        const RUNS: u64 = 200;
        let inside = |c: Coefficient, truth: f64| c.interval.is_some_and(|i| i.low <= truth && truth <= i.high);
        let lines: Vec<Line> =
            (0..RUNS).map(|seed| line(|x| 150.0 + 0.03 * x as f64, Noise { seed, share: 0.02 })).collect();
        let fixed = lines.iter().filter(|line| inside(line.fixed, 150.0)).count();
        let per_unit = lines.iter().filter(|line| inside(line.per_unit, 0.03)).count();
        assert!(fixed >= 190 && per_unit >= 190, "{fixed} and {per_unit} of {RUNS}");
        assert!(lines.iter().all(|line| line.misfit.is_none()), "noise is no misfit");
    }

    #[test]
    fn one_wild_point_is_named_and_changes_nothing() {
        let cost = |x| (150.0 + 0.03 * x as f64) * if x == 1024 { 10.0 } else { 1.0 };
        let line = line(cost, Noise { seed: 1, share: 0.01 });
        assert!((line.fixed.ns / 150.0 - 1.0).abs() < 0.02, "{line:?}");
        assert!((line.per_unit.ns / 0.03 - 1.0).abs() < 0.03, "{line:?}");
        assert_eq!(line.worst.value, 1024);
        assert!(matches!(line.misfit, Some(Misfit::Alone { value: 1024, times }) if (9.0..11.0).contains(&times)));
    }

    #[test]
    fn few_values_and_few_blocks() {
        let two = run(&[("io.read", &[1, 2], &|x| 100.0 + x as f64)], 20, Noise::NONE);
        assert_eq!(fit(&series_of(&two)[0].points).unwrap_err(), "a line needs 3 values that have a cost, here are 2");
        let short = run(&[("io.read", &[1, 2, 3], &|x| 100.0 + x as f64)], 9, Noise::NONE);
        let line = fit(&series_of(&short)[0].points).unwrap();
        assert_eq!((line.fixed.interval, line.per_unit.interval), (None, None));
    }
}
