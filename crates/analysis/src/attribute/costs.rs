//! Unit costs from a run: what one call of a class takes there, in nanoseconds.

use super::units::{Ending, NULL_CALLS, UNITS, Unit, endings, units_of};
use crate::summary::{Row, summarize};
use model::{CallCount, Class, Outcome, Record, Run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

struct MeasuredOperation {
    params: BTreeMap<String, u64>,
    ns: f64,
    entries: Option<f64>,
    enters: bool,
}

pub struct Costs {
    pub label: String,
    points: HashMap<String, Vec<MeasuredOperation>>,
    /// Made once, because a profile may have as many classes as a run has records.
    lines: HashMap<(&'static str, &'static str), Vec<(u64, f64)>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub ns: f64,
    pub basis: Basis,
}

/// The operations that a price was made from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Basis {
    /// The operation that prices the calls.
    pub operation: String,
    /// Operations whose cost was subtracted.
    pub less: Vec<&'static str>,
}

/// No unit costs of the wanted environment or, if none was named, several environments but not `native`.
#[derive(Debug)]
pub struct NoCosts {
    pub wanted: Option<String>,
    /// Environments with times.
    pub present: Vec<String>,
}

const THREADS: &str = "threads";

impl MeasuredOperation {
    fn threads(&self) -> u64 {
        self.params.get(THREADS).copied().unwrap_or(1)
    }
}

impl Costs {
    /// `environment` defaults to `native`, or to the only one there is.
    pub fn from_run(run: &Run, environment: Option<&str>) -> Result<Costs, NoCosts> {
        let environment = timed_environment(run, environment)?;
        Ok(Costs::new(
            label(run, &environment),
            measured(run, &environment),
        ))
    }

    /// The first of equal operations counts. One in a single thread is preferred to the same in several: it is the cost of one call.
    fn new(label: String, measured: Vec<(String, MeasuredOperation)>) -> Costs {
        let mut points: HashMap<String, Vec<MeasuredOperation>> = HashMap::new();
        let mut seen = HashSet::new();
        for (operation, point) in measured {
            if seen.insert((operation.clone(), point.params.clone())) {
                points.entry(operation).or_default().push(point);
            }
        }
        for points in points.values_mut() {
            let fewest = points.iter().map(MeasuredOperation::threads).min();
            points.retain(|point| Some(point.threads()) == fewest);
        }
        Costs {
            label,
            lines: lines(&points),
            points,
        }
    }

    /// The cost of a null call in nanoseconds, by the first of the usual operations that was measured.
    pub fn null_ns(&self) -> Option<f64> {
        let mut calls = NULL_CALLS.split(' ');
        calls.find_map(|operation| Some(self.price_of(operation)?.ns))
    }

    /// At its defaults, or at the parameters nearest to them that the run has.
    pub fn price_of(&self, operation: &str) -> Option<Price> {
        self.price_at(operation, None)
    }

    /// The cost of a null call here and in `other`, in nanoseconds, by the same operation.
    pub fn null_calls(&self, other: &Costs) -> Option<(f64, f64)> {
        NULL_CALLS.split(' ').find_map(|operation| {
            Some((self.price_of(operation)?.ns, other.price_of(operation)?.ns))
        })
    }

    /// The prices of these calls here and in `other`, by the same operations, so that their ratio means something. The basis is that of most
    /// calls. `None` if no operation that both measured resembles them.
    pub fn prices(&self, other: &Costs, count: &CallCount) -> Option<(Price, Price)> {
        let all: Vec<(u64, _)> = endings(count)
            .into_iter()
            .filter_map(|(ending, calls)| Some((calls, self.by_ending(other, count, ending)?)))
            .collect();
        let whole: f64 = all.iter().map(|(calls, _)| *calls as f64).sum();
        let means = all
            .iter()
            .fold((0.0, 0.0), |(here, there), (calls, (a, b))| {
                let share = *calls as f64 / whole;
                (here + share * a.ns, there + share * b.ns)
            });
        let (_, (a, b)) = all.into_iter().max_by_key(|(calls, _)| *calls)?;
        Some((Price { ns: means.0, ..a }, Price { ns: means.1, ..b }))
    }

    fn by_ending(
        &self,
        other: &Costs,
        count: &CallCount,
        ending: Ending,
    ) -> Option<(Price, Price)> {
        let class = &count.class;
        let units = units_of(&count.call, class, ending);
        let mut ways = self.ways(other, units).into_iter();
        ways.find_map(|(unit, op)| Some((self.by(unit, op, class)?, other.by(unit, op, class)?)))
    }

    /// The best first: before all others those of which both runs have all that is subtracted.
    fn ways(
        &self,
        other: &Costs,
        units: impl Iterator<Item = &'static Unit>,
    ) -> Vec<(&'static Unit, &'static str)> {
        let all = units.flat_map(|unit| unit.operations().map(move |operation| (unit, operation)));
        let (mut ways, rest): (Vec<_>, Vec<_>) = all.partition(|(unit, _)| {
            unit.less_operations().all(|operation| {
                [self, other]
                    .iter()
                    .all(|costs| !costs.points_of(operation).is_empty())
            })
        });
        ways.extend(rest);
        ways
    }

    fn by(&self, unit: &Unit, operation: &str, class: &Class) -> Option<Price> {
        let price = self.price_at(operation, unit.per.value_in(class))?;
        let less: f64 = unit
            .less_operations()
            .filter_map(|operation| Some(self.price_of(operation)?.ns))
            .sum();
        let off = less + self.other_crossings(unit, operation);
        let basis = Basis {
            less: unit.less_operations().collect(),
            ..price.basis
        };
        // If nothing would be left, the run cannot separate the parts: the whole is then the best estimate.
        let off = if off < price.ns { off } else { 0.0 };
        Some(Price {
            ns: (price.ns - off) / unit.count,
            basis,
        })
    }

    /// The bare crossings of other calls that an iteration makes: a traced program's are counted there.
    fn other_crossings(&self, unit: &Unit, operation: &str) -> f64 {
        let entries = |name: &str| self.points_of(name).first()?.entries;
        let less: Option<f64> = unit.less_operations().map(entries).sum();
        let others = entries(operation)
            .zip(less)
            .map_or(0.0, |(all, less)| (all - less - unit.count).max(0.0));
        others * self.null_ns().unwrap_or(0.0)
    }

    /// On a line between logarithms.
    fn price_at(&self, operation: &str, parameter: Option<(&'static str, u64)>) -> Option<Price> {
        let mut points = self.points_of(operation).iter();
        let first = points.find(|point| point.enters)?;
        let ns = parameter
            .and_then(|(name, value)| Some(on_line(self.lines.get(&(operation, name))?, value)));
        Some(Price {
            ns: ns.unwrap_or(first.ns),
            basis: Basis {
                operation: operation.to_string(),
                less: Vec::new(),
            },
        })
    }

    fn points_of(&self, operation: &str) -> &[MeasuredOperation] {
        self.points.get(operation).map_or(&[], Vec::as_slice)
    }
}

fn lines(
    points: &HashMap<String, Vec<MeasuredOperation>>,
) -> HashMap<(&'static str, &'static str), Vec<(u64, f64)>> {
    let mut lines = HashMap::new();
    for unit in UNITS {
        let Some(name) = unit.per.parameter() else {
            continue;
        };
        for operation in unit.operations() {
            let line = series(points.get(operation).map_or(&[], Vec::as_slice), name);
            if !line.is_empty() {
                lines.insert((operation, name), line);
            }
        }
    }
    lines
}

/// Ascending points that enter the kernel and differ in `name` alone: the largest set with the same other parameters.
fn series(points: &[MeasuredOperation], name: &str) -> Vec<(u64, f64)> {
    let mut sets: BTreeMap<BTreeMap<&str, u64>, BTreeMap<u64, f64>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.enters) {
        let Some(value) = point.params.get(name) else {
            continue;
        };
        let others = point
            .params
            .iter()
            .filter(|(other, _)| *other != name)
            .map(|(n, v)| (n.as_str(), *v))
            .collect();
        sets.entry(others).or_default().insert(*value, point.ns);
    }
    let most = sets.values().map(BTreeMap::len).max().unwrap_or(0);
    sets.into_values()
        .find(|set| set.len() == most)
        .unwrap_or_default()
        .into_iter()
        .collect()
}

/// Between logarithms; beyond the measured values, the cost at the nearest one.
fn on_line(line: &[(u64, f64)], value: u64) -> f64 {
    fn x(value: u64) -> f64 {
        (value.max(1) as f64).ln()
    }

    let above = line.partition_point(|point| point.0 <= value);
    if above == 0 || above == line.len() {
        return line[above.min(line.len() - 1)].1;
    }
    let ((a, low), (b, high)) = (line[above - 1], line[above]);
    let share = (x(value) - x(a)) / (x(b) - x(a)).max(f64::MIN_POSITIVE);
    low * (high / low).powf(share)
}

fn measured(run: &Run, environment: &str) -> Vec<(String, MeasuredOperation)> {
    let summary = summarize(run);
    let rows = summary.rows.iter().chain(&summary.baselines);
    // Programs make most of their calls in loops: cold costs are upper bounds, see METHOD.md.
    rows.filter(|row| row.case.cold().is_none())
        .filter(|row| row.case.language.is_none() && row.case.environment == environment)
        .filter_map(|row| Some((row.case.operation.clone(), point(row, unit_ns(row)?))))
        .collect()
}

fn point(row: &Row, ns: f64) -> MeasuredOperation {
    let entries = row.entries.as_ref().map(|entries| entries.total());
    // Faults enter the kernel without a system call.
    let is_fault = row.case.operation.starts_with("mem.fault_");
    MeasuredOperation {
        params: row.case.effective_params(),
        ns,
        entries,
        enters: entries.is_none_or(|entries| entries > 0.0) || is_fault,
    }
}

fn unit_ns(row: &Row) -> Option<f64> {
    let cost = row.cost()?;
    let ns = cost.net.unwrap_or(cost.median);
    ns.is_cost().then_some(ns.0)
}

fn timed_environment(run: &Run, wanted: Option<&str>) -> Result<String, NoCosts> {
    let counted = environments(
        run.records
            .iter()
            .filter(|record| matches!(record.outcome, Outcome::Counted(_))),
    );
    let mut present = environments(run.records.iter());
    present.retain(|name| !counted.contains(name));
    let first = if present.len() == 1 {
        present.first()
    } else {
        None
    };
    let name = wanted.or(first.copied()).unwrap_or("native");
    if present.contains(name) {
        return Ok(name.to_string());
    }
    Err(NoCosts {
        wanted: wanted.map(str::to_string),
        present: present.into_iter().map(str::to_string).collect(),
    })
}

fn environments<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeSet<&'a str> {
    records
        .map(|record| record.case.environment.as_str())
        .collect()
}

fn label(run: &Run, environment: &str) -> String {
    if let Some(source) = &run.source {
        return source.title.clone();
    }
    let host = &run.host;
    let mut words: Vec<String> = [host.name.clone(), host.system.clone(), host.kernel.clone()]
        .into_iter()
        .flatten()
        .collect();
    if environment != "native" || words.is_empty() {
        words.push(environment.to_string());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests;
