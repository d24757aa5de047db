//! The cost of one strategy as a line: a fixed cost and a cost per unit, with where those of the next run will be.

use super::series::{Point, PointCost};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Interval;

/// cost = fixed + per_unit * value
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CostLine {
    /// Nanoseconds independent of the value, including the loop around the call, as in the run's table.
    pub fixed: Coefficient,
    /// Nanoseconds for each unit of the parameter.
    pub per_unit: Coefficient,
}

/// One number of the line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Coefficient {
    /// The estimate; it may be negative.
    pub ns: f64,
    /// The interval for the next run; null unless it is known for all costs.
    #[serde(rename = "next_run_ns")]
    pub next_run: Option<Interval>,
}

const FEWEST: usize = 3;
// Chosen: a line that misses a cost by more would hide a step.
/// A cost that is farther from the line, as a share of it, shows that the costs are not on a line.
pub const FARTHEST: f64 = 0.1;

/// By least squares of relative residuals, because the scatter of a cost grows with the cost. Both numbers are sums of the costs, each
/// times its share, so that what a cost may change until the next run changes them by the same share.
pub fn fit(points: &[Point]) -> Option<CostLine> {
    let known: Vec<(f64, &PointCost)> = points
        .iter()
        .filter_map(|point| Some((point.value as f64, point.cost.as_ref()?)))
        .collect();
    let shares = shares(&known);
    let line = CostLine {
        fixed: coefficient(&known, shares.iter().map(|share| share.0)),
        per_unit: coefficient(&known, shares.iter().map(|share| share.1)),
    };
    (known.len() >= FEWEST
        && known.iter().all(|(value, cost)| {
            (cost.ns / (line.fixed.ns + line.per_unit.ns * value) - 1.0).abs() <= FARTHEST
        }))
    .then_some(line)
}

fn shares(points: &[(f64, &PointCost)]) -> Vec<(f64, f64)> {
    let weights = points.iter().map(|(_, cost)| cost.ns.powi(-2));
    let weighted: Vec<(f64, f64)> = points.iter().map(|(x, _)| *x).zip(weights).collect();
    let weight: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let mean = weighted.iter().map(|(x, weight)| weight * x).sum::<f64>() / weight;
    let spread: f64 = weighted
        .iter()
        .map(|(x, weight)| weight * (x - mean).powi(2))
        .sum();
    weighted
        .into_iter()
        .map(|(x, point_weight)| {
            let per_unit = point_weight * (x - mean) / spread;
            (point_weight / weight - mean * per_unit, per_unit)
        })
        .collect()
}

/// The errors that move each cost alone until the next run are independent; those of the machine are common to all.
fn coefficient(points: &[(f64, &PointCost)], shares: impl Iterator<Item = f64>) -> Coefficient {
    let parts: Vec<(f64, &PointCost)> = shares
        .zip(points)
        .map(|(share, (_, cost))| (share * cost.ns, *cost))
        .collect();
    let ns: f64 = parts.iter().map(|(part, _)| part).sum();
    let squares = parts
        .iter()
        .map(|(part, cost)| Some((part * cost.next_run?.alone).powi(2)));
    let machine = points
        .iter()
        .filter_map(|(_, cost)| Some(cost.next_run?.machine))
        .fold(0.0, f64::max);
    let half = squares
        .sum::<Option<f64>>()
        .map(|variance| variance.sqrt().hypot(ns * machine));
    Coefficient {
        ns,
        next_run: half.map(|half| Interval::with_95_percent(ns - half, ns + half)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, Strategy, run};
    use super::*;
    use crate::fit::series::series;
    use crate::summary::summarize;

    const SIZES: [u64; 9] = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536];

    fn fitted(strategy: Strategy, noise: Noise) -> Option<CostLine> {
        let run = run(&[strategy], 20, noise);
        fit(&series(&run, &summarize(&run))[0].points)
    }

    fn line(cost: &dyn Fn(u64) -> f64, noise: Noise) -> Option<CostLine> {
        fitted(("io.read", &SIZES, cost), noise)
    }

    #[test]
    fn ranges_hold_the_next_run_as_often_as_claimed() {
        const RUNS: u64 = 200;
        let lines: Vec<CostLine> = (0..=RUNS)
            .map(|seed| {
                let noise = Noise { seed, share: 0.02 };
                line(&|x| 150.0 + 0.03 * x as f64, noise).unwrap()
            })
            .collect();
        for which in [
            |line: &CostLine| line.fixed,
            |line: &CostLine| line.per_unit,
        ] {
            let held = lines
                .windows(2)
                .filter(|pair| {
                    let (low, high) = which(&pair[0]).next_run.unwrap().ends();
                    (low..=high).contains(&which(&pair[1]).ns)
                })
                .count();
            assert!(held >= 190, "{held} of {RUNS}");
        }
    }

    #[test]
    fn costs_that_are_not_on_a_line_have_none() {
        fn one_off(x: u64) -> f64 {
            (150.0 + 0.03 * x as f64) * if x == 1024 { 1.3 } else { 1.0 }
        }

        let line = |cost: &dyn Fn(u64) -> f64| line(cost, Noise::NONE);
        let straight = line(&|x| 150.0 + 0.03 * x as f64).unwrap();
        assert!((straight.fixed.ns - 150.0).abs() < 0.01, "{straight:?}");
        assert!((straight.per_unit.ns - 0.03).abs() < 1e-5, "{straight:?}");
        assert_eq!(line(&|x| if x < 4096 { 150.0 } else { 2000.0 }), None);
        assert_eq!(line(&one_off), None);
        let two: Strategy = ("io.read", &[1, 2], &|x| x as f64 + 100.0);
        assert_eq!(fitted(two, Noise::NONE), None);
    }
}
