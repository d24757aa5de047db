//! Cost as a function of a parameter: a line for each strategy, and the values at which one overtakes another. Nothing is predicted outside
//! the measured values.

mod crossover;
mod line;
mod series;
#[cfg(any(test, feature = "fixtures"))]
pub mod synthetic;

pub use crossover::{Crossing, MOST_COMPARED, Overtaking, Pair, SAME_WORK};
pub use line::{Coefficient, CostLine, FARTHEST};
pub use series::{Point, PointCost, Series};

use crate::compare::MARGIN;
use crate::summary::Summary;
use model::{COLD, Run, grouped};
use schemars::JsonSchema;
use serde::Serialize;

/// All strategies that were measured over one parameter.
#[derive(Serialize, JsonSchema)]
pub struct Family<'a> {
    /// The parameter's name.
    pub parameter: String,
    /// In the order of the run.
    #[serde(rename = "strategies")]
    pub members: Vec<Member<'a>>,
    /// Pairs of members, by index.
    #[serde(rename = "comparisons")]
    pub pairs: Vec<Pair>,
}

/// One strategy and its line.
#[derive(Serialize, JsonSchema)]
pub struct Member<'a> {
    #[serde(flatten)]
    pub series: Series<'a>,
    /// Null with fewer than three costs, and if one is over 10% off the line.
    pub line: Option<CostLine>,
}

impl Member<'_> {
    /// Whether the line rises or falls by at most this share of its fixed cost over all measured values.
    pub fn is_constant(&self) -> bool {
        let points = &self.series.points;
        let span = points.last().zip(points.first());
        let span = span.map_or(0.0, |(last, first)| last.value as f64 - first.value as f64);
        let is_flat = |line: CostLine| (line.per_unit.ns * span).abs() <= MARGIN * line.fixed.ns;
        self.line.is_some_and(is_flat)
    }
}

impl Family<'_> {
    /// A table by parameter needs a strategy with enough values to show more than the run's table.
    pub fn is_worth_a_table(&self) -> bool {
        self.members
            .iter()
            .any(|member| member.series.points.len() >= 3)
    }

    /// Whether strategies are compared, and not only one of them in several environments.
    pub fn has_strategies(&self) -> bool {
        self.pairs.iter().any(|pair| {
            let [a, b] = [pair.a, pair.b].map(|at| &self.members[at].series.case);
            (&a.name, &a.operation) != (&b.name, &b.operation)
        })
    }
}

/// `summary` must be that of `run`.
pub fn families<'a>(run: &'a Run, summary: &Summary) -> Vec<Family<'a>> {
    // No cost is a line over the displaced bytes, as it rises at the end of a cache, or over the numbers of CPUs.
    let all = series::series(run, summary)
        .into_iter()
        .filter(|series| ![COLD, "from", "to"].contains(&series.parameter.as_str()));
    let by_parameter = grouped(all.map(|series| (series.parameter.clone(), series)));
    by_parameter
        .into_iter()
        .map(|(parameter, series)| family(parameter, series))
        .collect()
}

fn family(parameter: String, series: Vec<Series<'_>>) -> Family<'_> {
    let pairs = crossover::compare(&series);
    let members = series.into_iter().map(|series| Member {
        line: line::fit(&series.points),
        series,
    });
    Family {
        parameter,
        members: members.collect(),
        pairs,
    }
}
