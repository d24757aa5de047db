//! Groups the records of a run that differ in one parameter only.

use crate::summary::Panel;
use indexmap::IndexMap;
use model::{Case, Measurement, Nanos, Outcome, Record, Role, Run, ShownCase};
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
    /// `None` where the case failed or its cost is not enough to divide by.
    #[serde(flatten)]
    pub cost: Option<PointCost>,
    /// The times in undisturbed rounds; `None` for published results.
    #[serde(skip)]
    pub measurement: Option<Cow<'a, Measurement>>,
}

/// A cost in nanoseconds per operation.
#[derive(Serialize, JsonSchema)]
pub struct PointCost {
    /// The cost; absent where there is none.
    pub ns: f64,
    /// `None` with fewer than 10 time blocks, and for a published result.
    #[serde(rename = "interval_ns")]
    pub interval: Option<Interval>,
    /// By block; NaN for a block without samples. Empty for a published result.
    #[serde(skip)]
    pub block_ns: Vec<f64>,
}

impl Series<'_> {
    /// Includes language and environment unless native.
    pub fn label(&self) -> String {
        let language = self.case.language.as_deref();
        let environment = Some(self.case.environment.as_str()).filter(|e| *e != "native");
        let parts: Vec<&str> = language.into_iter().chain(environment).collect();
        let case = &self.case;
        if parts.is_empty() {
            case.to_string()
        } else {
            format!("{case} ({})", parts.join(", "))
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
    fn of_one(&self, name: &str, value: u64) -> u128 {
        let [high, low] = &self.0;
        (u128::from(high.hash_one((name, value))) << 64) | u128::from(low.hash_one((name, value)))
    }

    fn of_all<'a>(&self, params: impl Iterator<Item = (&'a str, u64)>) -> u128 {
        params.fold(0, |sum, (name, value)| {
            sum.wrapping_add(self.of_one(name, value))
        })
    }
}

/// Of two or more values. A record is in one series for each of its parameters.
pub fn series(run: &Run) -> Vec<Series<'_>> {
    let calm = Panel::of(run).calm;
    let sets = Sets([RandomState::new(), RandomState::new()]);
    let mut groups: IndexMap<Key, Vec<(u64, &Record)>> = IndexMap::new();
    // Fits are of times.
    let timed = |record: &&Record| {
        record.role == Role::Asked && !matches!(record.outcome, Outcome::Counted(_))
    };
    for record in run.records.iter().filter(timed) {
        for (key, value) in keys(&record.case, &sets) {
            let group = groups.entry(key).or_default();
            if group.last().is_none_or(|(last, _)| *last != value) {
                group.push((value, record));
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
    let sum = sets.of_all(all.clone());
    let (operation, environment) = (case.operation.as_str(), case.environment.as_str());
    let (name, language) = (case.name.as_deref(), case.language.as_deref());
    all.map(move |(parameter, value)| {
        let others = sum.wrapping_sub(sets.of_one(parameter, value));
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

/// Of several records with the same value, the first is used.
fn one_series<'a>(key: Key, mut group: Vec<(u64, &'a Record)>, calm: &Calm) -> Option<Series<'a>> {
    group.sort_by_key(|(value, _)| *value);
    group.dedup_by_key(|(value, _)| *value);
    let (_, first) = group.first().filter(|_| group.len() >= 2)?;
    let mut case = first.case.clone();
    case.params.remove(key.parameter);
    case.defaults.remove(key.parameter);
    let points = group
        .into_iter()
        .map(|(value, record)| point(value, record, calm))
        .collect();
    Some(Series {
        case,
        parameter: key.parameter.to_string(),
        points,
    })
}

fn point<'a>(value: u64, record: &'a Record, calm: &Calm) -> Point<'a> {
    let (cost, measurement) = match &record.outcome {
        Outcome::Failed(_) | Outcome::Counted(_) => (None, None),
        Outcome::Published(figure) => (
            Some(PointCost {
                ns: figure.time.0,
                interval: None,
                block_ns: vec![],
            }),
            None,
        ),
        Outcome::Measured(m) => {
            let m = calm.only(m);
            (measured(&m), Some(m))
        }
    };
    Point {
        value,
        cost: cost.filter(|cost| Nanos(cost.ns).is_cost()),
        measurement,
    }
}

fn measured(m: &Measurement) -> Option<PointCost> {
    let estimate = stats::estimate(m)?;
    Some(PointCost {
        ns: estimate.median.0,
        interval: estimate.interval,
        block_ns: stats::block_medians(m),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let labels: Vec<(String, usize)> = series(&run)
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
