//! The cost model of one strategy: fixed cost and cost per unit, with intervals, residuals and warnings.

use super::l1::{StraightLine, regress};
use super::series::{Point, PointCost};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Interval, block_interval, median};

/// cost = fixed + per_unit * value
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct CostModel {
    /// Nanoseconds independent of the value, including the loop around the call, as in the run's table.
    pub fixed: Coefficient,
    /// Nanoseconds for each unit of the parameter.
    pub per_unit: Coefficient,
    /// Median of |cost / line - 1|.
    pub residual: f64,
    pub worst: Worst,
    /// Why the line may be a bad model, which intervals and residuals do not show.
    pub warnings: Vec<FitWarning>,
}

/// Why a line may be a bad model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FitWarning {
    /// The line passes through two of only this many values, so residuals say little.
    FewValues { values: usize },
}

/// Why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoModel {
    /// Only this many values have a cost, of the three that a line needs.
    TooFewValues { values: usize },
    /// More values than `most` are not fitted.
    TooManyValues { values: usize, most: usize },
    /// The values differ too little.
    TooClose,
}

/// One number of the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Coefficient {
    /// The estimate; it may be negative.
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

/// A value that has a cost.
type Known<'a> = (u64, &'a PointCost);

/// As many as a range of parameters may name; fitting takes quadratic time.
const MOST_VALUES: usize = 200;
/// With this many values the median residual is always 0: the line passes through two of them.
const FEW_VALUES: usize = 3;

/// Intervals come from the lines through each time block: blocks with the same index were measured together, so a disturbance of a
/// whole block shifts one line and not the values against each other.
pub fn fit(points: &[Point]) -> Result<CostModel, NoModel> {
    let known: Vec<Known> = points
        .iter()
        .filter_map(|p| Some((p.value, p.cost.as_ref()?)))
        .collect();
    match known.len() {
        values @ 0..3 => return Err(NoModel::TooFewValues { values }),
        values if values > MOST_VALUES => {
            return Err(NoModel::TooManyValues {
                values,
                most: MOST_VALUES,
            });
        }
        _ => {}
    }
    let coordinates: Vec<(f64, f64)> = known
        .iter()
        .map(|(value, cost)| (*value as f64, cost.ns))
        .collect();
    let straight = regress(&coordinates).ok_or(NoModel::TooClose)?;
    let blocks = block_lines(&known);
    let mut warnings = Vec::new();
    if known.len() <= FEW_VALUES {
        warnings.push(FitWarning::FewValues {
            values: known.len(),
        });
    }
    Ok(CostModel {
        fixed: coefficient(&straight, &blocks, |line| line.fixed),
        per_unit: coefficient(&straight, &blocks, |line| line.per_unit),
        residual: median(
            known
                .iter()
                .map(|point| residual(*point, &straight))
                .collect(),
        )
        .unwrap_or(0.0),
        worst: worst(&known, &straight),
        warnings,
    })
}

/// |cost / line - 1|, or relative to the cost where the line is not above 0.
fn residual((value, cost): Known, line: &StraightLine) -> f64 {
    let expected = line.at(value as f64);
    let scale = if expected > 0.0 { expected } else { cost.ns };
    (cost.ns - expected).abs() / scale
}

/// Of each block that has every value: lines through different values would differ by more than noise.
fn block_lines(known: &[Known]) -> Vec<StraightLine> {
    let count = known
        .iter()
        .map(|(_, cost)| cost.block_ns.len())
        .min()
        .unwrap_or(0);
    let point = |(value, cost): &Known, i: usize| {
        Some((
            *value as f64,
            Some(cost.block_ns[i]).filter(|ns| *ns > 0.0)?,
        ))
    };
    let line = |i| {
        regress(
            &known
                .iter()
                .map(|known| point(known, i))
                .collect::<Option<Vec<_>>>()?,
        )
    };
    (0..count).filter_map(line).collect()
}

fn coefficient(
    line: &StraightLine,
    blocks: &[StraightLine],
    pick: impl Fn(&StraightLine) -> f64,
) -> Coefficient {
    let ns = pick(line);
    let mut values: Vec<f64> = blocks.iter().map(pick).collect();
    Coefficient {
        ns,
        interval: block_interval(&mut values).map(|interval| interval.holding(ns)),
    }
}

fn worst(known: &[Known], line: &StraightLine) -> Worst {
    let all = known.iter().map(|(value, cost)| Worst {
        residual: residual((*value, cost), line),
        value: *value,
    });
    all.max_by(|a, b| a.residual.total_cmp(&b.residual))
        .unwrap_or(Worst {
            residual: 0.0,
            value: 0,
        })
}

#[cfg(test)]
mod tests {
    use super::super::series::series;
    use super::super::synthetic::{Noise, run};
    use super::*;

    const SIZES: [u64; 9] = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];

    fn line(cost: impl Fn(u64) -> f64, noise: Noise) -> CostModel {
        let run = run(&[("io.read", &SIZES, &cost)], 20, noise);
        fit(&series(&run)[0].points).unwrap()
    }

    #[test]
    fn known_coefficients_are_inside_their_intervals_as_often_as_claimed() {
        const RUNS: u64 = 200;
        let (mut fixed, mut per_unit) = (0, 0);
        let inside = |c: Coefficient, truth: f64| {
            let (low, high) = c.interval.unwrap().ends();
            usize::from((low..=high).contains(&truth))
        };
        for seed in 0..RUNS {
            let line = line(|x| 150.0 + 0.03 * x as f64, Noise { seed, share: 0.02 });
            fixed += inside(line.fixed, 150.0);
            per_unit += inside(line.per_unit, 0.03);
        }
        assert!(
            fixed >= 190 && per_unit >= 190,
            "{fixed} and {per_unit} of {RUNS}"
        );
    }

    #[test]
    fn one_outlier_is_named_and_changes_nothing() {
        let cost = |x| (150.0 + 0.03 * x as f64) * if x == 1024 { 10.0 } else { 1.0 };
        let line = line(
            cost,
            Noise {
                seed: 1,
                share: 0.01,
            },
        );
        assert!((line.fixed.ns / 150.0 - 1.0).abs() < 0.02, "{line:?}");
        assert!((line.per_unit.ns / 0.03 - 1.0).abs() < 0.03, "{line:?}");
        assert_eq!(line.worst.value, 1024);
        assert!((8.0..10.0).contains(&line.worst.residual), "{line:?}");
    }

    #[test]
    fn few_values_and_few_blocks() {
        let of = |values: &[u64], blocks| {
            let run = run(
                &[("io.read", values, &|x| 100.0 + x as f64)],
                blocks,
                Noise::NONE,
            );
            fit(&series(&run)[0].points)
        };
        assert_eq!(of(&[1, 2], 20), Err(NoModel::TooFewValues { values: 2 }));
        let line = of(&[1, 2, 3], 9).unwrap();
        assert_eq!((line.fixed.interval, line.per_unit.interval), (None, None));
        assert_eq!(line.warnings, [FitWarning::FewValues { values: 3 }]);
    }
}
