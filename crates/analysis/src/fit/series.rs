//! Groups the records of a run that differ in one parameter only.

use crate::summary::{Panel, Row, RowCost, Summary};
use indexmap::IndexMap;
use itertools::Itertools;
use model::{Case, Measurement, Record, Run, ShownCase};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Calm, Interval};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

/// One strategy: an operation (or snippet) in an environment with all parameters fixed but one.
#[derive(Serialize, JsonSchema)]
pub struct Series<'a> {
    /// The case, without the parameter that varies.
    #[serde(flatten, with = "ShownCase")]
    pub case: Case,
    #[serde(skip)]
    pub parameter: String,
    /// One for each value, ascending; two or more.
    pub points: Vec<Point<'a>>,
}

/// The cost at one value of the parameter.
#[derive(Serialize, JsonSchema)]
pub struct Point<'a> {
    /// The parameter's value.
    pub value: u64,
    /// `None` if the case failed or its cost is not enough to divide by.
    #[serde(flatten)]
    pub cost: Option<PointCost>,
    /// The times in undisturbed rounds; `None` for published results.
    #[serde(skip)]
    pub measurement: Option<Cow<'a, Measurement>>,
}

/// A cost in nanoseconds per operation.
#[derive(Serialize, JsonSchema)]
pub struct PointCost {
    /// The cost; absent if it is unknown.
    pub ns: f64,
    /// `None` with fewer than 10 time blocks, and for a published result.
    #[serde(rename = "interval_ns")]
    pub interval: Option<Interval>,
    /// `None` if the next run's cost is not known.
    #[serde(skip)]
    pub next_run: Option<NextRun>,
}

/// How far the next run's cost may be from this one, as shares of it.
#[derive(Clone, Copy)]
pub struct NextRun {
    /// Share by which the case alone moves.
    pub alone: f64,
    /// Share by which all cases move together.
    pub machine: f64,
}

impl Series<'_> {
    /// Includes language and environment unless native.
    pub fn label(&self) -> String {
        let language = self.case.language.as_deref();
        let environment = Some(self.case.environment.as_str()).filter(|e| *e != "native");
        let parts = language.into_iter().chain(environment).join(", ");
        let case = &self.case;
        if parts.is_empty() {
            case.to_string()
        } else {
            format!("{case} ({parts})")
        }
    }
}

#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    operation: &'a str,
    name: Option<&'a str>,
    language: Option<&'a str>,
    environment: &'a str,
    parameter: &'a str,
    others: u128,
}

/// Sets of parameters as sums of hashes: leaving one out is one subtraction, while copying the others for each parameter
/// would take quadratic space. The hash keys are random, so no file can provoke a collision.
struct Sets([RandomState; 2]);

impl Sets {
    fn hash(&self, name: &str, value: u64) -> u128 {
        let [high, low] = &self.0;
        (u128::from(high.hash_one((name, value))) << 64) | u128::from(low.hash_one((name, value)))
    }

    fn sum<'a>(&self, params: impl Iterator<Item = (&'a str, u64)>) -> u128 {
        params.fold(0, |sum, (name, value)| {
            sum.wrapping_add(self.hash(name, value))
        })
    }
}

type Shown<'a, 's> = (&'a Record, &'s Row);

/// Series of two or more values. A record is in one series for each of its parameters.
pub fn series<'a>(run: &'a Run, summary: &Summary) -> Vec<Series<'a>> {
    let calm = Panel::new(run).calm;
    let sets = Sets([RandomState::new(), RandomState::new()]);
    let mut groups: IndexMap<Key, Vec<(u64, Shown)>> = IndexMap::new();
    // Fits are of times.
    for shown in run
        .asked()
        .zip(&summary.rows)
        .filter(|(record, _)| record.outcome.counted().is_none())
    {
        for (key, value) in keys(&shown.0.case, &sets) {
            let group = groups.entry(key).or_default();
            if group.last().is_none_or(|(last, _)| *last != value) {
                group.push((value, shown));
            }
        }
    }
    groups
        .into_iter()
        .filter_map(|(key, group)| one_series(key, group, &calm))
        .collect()
}

fn keys<'a>(case: &'a Case, sets: &Sets) -> impl Iterator<Item = (Key<'a>, u64)> {
    let all = case.all_params();
    let sum = sets.sum(all.clone());
    let (operation, environment) = (case.operation.as_str(), case.environment.as_str());
    let (name, language) = (case.name.as_deref(), case.language.as_deref());
    all.map(move |(parameter, value)| {
        let others = sum.wrapping_sub(sets.hash(parameter, value));
        (
            Key {
                operation,
                name,
                language,
                environment,
                parameter,
                others,
            },
            value,
        )
    })
}

fn one_series<'a>(
    key: Key,
    mut group: Vec<(u64, Shown<'a, '_>)>,
    calm: &Calm,
) -> Option<Series<'a>> {
    group.sort_by_key(|(value, _)| *value);
    group.dedup_by_key(|(value, _)| *value);
    let [(_, (first, _)), _, ..] = &group[..] else {
        return None;
    };
    let mut case = first.case.clone();
    case.params.remove(key.parameter);
    case.defaults.remove(key.parameter);
    let points = group.into_iter().map(|(value, (record, row))| Point {
        value,
        cost: row.cost().and_then(PointCost::new),
        measurement: record.outcome.measurement().map(|m| calm.only(m)),
    });
    Some(Series {
        case,
        parameter: key.parameter.to_string(),
        points: points.collect(),
    })
}

impl PointCost {
    fn new(cost: &RowCost) -> Option<PointCost> {
        if !cost.median.is_cost() {
            return None;
        }
        Some(PointCost {
            ns: cost.median.0,
            interval: cost.interval,
            next_run: NextRun::new(cost),
        })
    }
}

impl NextRun {
    fn new(cost: &RowCost) -> Option<NextRun> {
        let both = cost.next_run_percent()? / 100.0;
        let alone = cost.relative_percent()? / 100.0;
        let machine = (both.powi(2) - alone.powi(2)).max(0.0).sqrt();
        Some(NextRun { alone, machine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::summarize;
    use model::fixtures::{record, run, with_params};

    fn with(params: &[(&str, u64)]) -> Record {
        with_params(params, record("io.read", 1))
    }

    #[test]
    fn records_of_one_series_differ_in_one_parameter() {
        let run = run(vec![
            with(&[("a", 1), ("b", 1)]),
            with(&[("a", 2), ("b", 1)]),
            with(&[("a", 1), ("b", 2)]),
            with(&[("a", 2), ("c", 1)]),
            with(&[("b", 1), ("a", 3)]),
        ]);
        let labels: Vec<(String, usize)> = series(&run, &summarize(&run))
            .iter()
            .map(|s| (s.label(), s.points.len()))
            .collect();
        assert_eq!(
            labels,
            [
                ("io.read b=1".to_string(), 3),
                ("io.read a=1".to_string(), 2)
            ]
        );
    }
}
