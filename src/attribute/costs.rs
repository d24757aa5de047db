//! Unit costs out of a run: what one call of a class costs there. Pure.

use super::spread::{PER_DOUBLING, Z};
use super::units::{NULL_CALLS, Per, UNITS, Unit, unit_of};
use crate::model::{Class, Nanos, Run, Size};
use crate::summary::{Row, summarize};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The operations of a run that were measured in one environment.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Where they are from, in a few words: kernel and environment, or the article.
    pub label: String,
    /// By operation, in the order of the run.
    points: HashMap<String, Vec<Point>>,
    /// The cost over each parameter that prices classes, by operation and parameter: made once, as a profile may have as many
    /// classes as a run has points.
    lines: HashMap<(&'static str, &'static str), Vec<(u64, Cost)>>,
    /// In how many threads at once the operations were measured.
    pub threads: u64,
    /// Whether any cost has an interval: published figures have none.
    pub has_intervals: bool,
}

/// An operation at one set of parameters.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    params: BTreeMap<String, u64>,
    cost: Cost,
    /// System calls per iteration, if they were counted.
    entries: Option<f64>,
    /// False where it is known that the kernel was not entered.
    enters: bool,
}

/// What one call costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub ns: f64,
    /// Standard deviation of its logarithm, from the interval; 0 of a published figure, which has none.
    pub log_sd: f64,
}

/// The unit cost of a call, and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub cost: Cost,
    /// What the class lies beyond the measured parameters, as a standard deviation of the logarithm.
    pub beyond: f64,
    /// In words: `io.read_file size=4K`, `nearest io.read_zero size=1`.
    pub from: String,
}

/// The parameter of operations that were measured in several threads at once.
const THREADS: &str = "threads";

impl Point {
    fn threads(&self) -> u64 {
        self.params.get(THREADS).copied().unwrap_or(1)
    }
}

impl Costs {
    /// The unit costs of `environment`; without one those of `native`, or of the only one there is.
    ///
    /// # Errors
    /// Where the run has no such environment, or several and none is `native`.
    pub fn of(run: &Run, environment: Option<&str>) -> Result<Costs, String> {
        let environment = choose(run, environment)?;
        let summary = summarize(run);
        let rows = summary.rows.iter().chain(&summary.baselines);
        let own = rows.filter(|row| row.case.language.is_none() && row.case.environment == environment);
        let mut points: HashMap<String, Vec<Point>> = HashMap::new();
        let mut seen = HashSet::new();
        for (operation, point) in own.filter_map(|row| Some((&row.case.operation, point(row)?))) {
            if seen.insert((operation, point.params.clone())) {
                points.entry(operation.clone()).or_default().push(point);
            }
        }
        let threads = points.values().flatten().map(Point::threads).min().unwrap_or(1);
        // Of operations in one thread and in several the former are taken: they are what one call costs.
        points.values_mut().for_each(|points| points.retain(|point| point.threads() == threads));
        let has_intervals = points.values().flatten().any(|point| point.cost.log_sd > 0.0);
        let lines = lines(&points);
        Ok(Costs { label: label(run, &environment), points, lines, threads, has_intervals })
    }

    /// The bare crossing of the boundary, and which call measured it.
    pub fn null_call(&self) -> Option<Price> {
        NULL_CALLS.iter().find_map(|operation| self.price_of(operation))
    }

    /// The cost of `operation` at its defaults, or at the parameters nearest to them that the run has.
    pub fn price_of(&self, operation: &str) -> Option<Price> {
        self.at(operation, None)
    }

    /// The cost of the first of `operations` that the run has.
    pub fn first_of(&self, operations: &[&str]) -> Option<Price> {
        operations.iter().find_map(|operation| self.price_of(operation))
    }

    /// The unit cost of a call of a class; `None` where no operation of the run is like it.
    pub fn price(&self, call: &str, class: &Class) -> Option<Price> {
        let unit = unit_of(call, class)?;
        unit.operations.iter().find_map(|operation| self.by(unit, operation, class))
    }

    /// Prices `call` in both by the same operation, so that their ratio means something.
    pub fn prices(&self, other: &Costs, call: &str, class: &Class) -> Option<(Price, Price)> {
        let unit = unit_of(call, class)?;
        unit.operations.iter().find_map(|op| Some((self.by(unit, op, class)?, other.by(unit, op, class)?)))
    }

    /// The cost of an operation that does not enter the kernel, such as a clock read by the vDSO; `None` where it does.
    pub fn user_mode(&self, operation: &str) -> Option<Cost> {
        self.points_of(operation).iter().find(|point| !point.enters).map(|point| point.cost)
    }

    fn by(&self, unit: &Unit, operation: &str, class: &Class) -> Option<Price> {
        let price = self.at(operation, unit.per.of(class).filter(|_| unit.per != Per::Flat))?;
        let less: Vec<Price> = unit.less.iter().filter_map(|operation| self.price_of(operation)).collect();
        let off = less.iter().map(|price| price.cost.ns).sum::<f64>() + self.other_crossings_ns(unit, operation);
        // A difference of nothing means that the run cannot tell; the whole is then the nearest there is.
        let ns = if off < price.cost.ns { price.cost.ns - off } else { price.cost.ns };
        let from =
            if unit.less.is_empty() { price.from } else { format!("{} less {}", price.from, unit.less.join(", ")) };
        Some(Price { cost: Cost { ns: ns / unit.count, ..price.cost }, from, ..price })
    }

    /// The bare crossings of those calls of an iteration that are other calls than the unit's: a program that is traced makes
    /// them too, and they are counted there. `less` has taken off those of its own operations.
    fn other_crossings_ns(&self, unit: &Unit, operation: &str) -> f64 {
        let entries = |name: &str| self.points_of(name).first()?.entries;
        let less: Option<f64> = unit.less.iter().map(|name| entries(name)).sum();
        let others = entries(operation).zip(less).map_or(0.0, |(all, less)| (all - less - unit.count).max(0.0));
        others * self.null_call().map_or(0.0, |null| null.cost.ns)
    }

    /// The cost of `operation` where one parameter has this value, along a line between logarithms.
    fn at(&self, operation: &str, parameter: Option<(&str, u64)>) -> Option<Price> {
        let first = self.points_of(operation).iter().find(|point| point.enters)?;
        let line = parameter.and_then(|(name, value)| Some((name, value, self.lines.get(&(operation, name))?)));
        match line {
            None => Some(Price { cost: first.cost, beyond: 0.0, from: operation.to_string() }),
            Some((name, value, line)) => Some(on_line(operation, name, line, value)),
        }
    }

    fn points_of(&self, operation: &str) -> &[Point] {
        self.points.get(operation).map_or(&[], Vec::as_slice)
    }
}

/// The costs over their parameter of all operations that price by one, none of them empty.
fn lines(points: &HashMap<String, Vec<Point>>) -> HashMap<(&'static str, &'static str), Vec<(u64, Cost)>> {
    let mut lines = HashMap::new();
    for (unit, name) in UNITS.iter().filter_map(|unit| Some((unit, unit.per.parameter()?))) {
        for operation in unit.operations {
            let entering = points.get(*operation).into_iter().flatten().filter(|point| point.enters);
            let line = series(&entering.collect::<Vec<_>>(), name);
            if !line.is_empty() {
                lines.insert((*operation, name), line);
            }
        }
    }
    lines
}

/// The points that differ in `name` alone, ascending: of the sets of other parameters the one with most points, of equal
/// ones the smallest.
fn series(points: &[&Point], name: &str) -> Vec<(u64, Cost)> {
    let mut sets: BTreeMap<BTreeMap<&str, u64>, BTreeMap<u64, Cost>> = BTreeMap::new();
    for point in points {
        let Some(value) = point.params.get(name) else { continue };
        let others = point.params.iter().filter(|(other, _)| *other != name).map(|(n, v)| (n.as_str(), *v)).collect();
        sets.entry(others).or_default().insert(*value, point.cost);
    }
    let most = sets.values().map(BTreeMap::len).max().unwrap_or(0);
    let best = sets.into_values().find(|set| set.len() == most).unwrap_or_default();
    best.into_iter().collect()
}

/// The cost at `value` on the line through ascending points; beyond their ends that of the end, and less certain.
fn on_line(operation: &str, name: &str, line: &[(u64, Cost)], value: u64) -> Price {
    let x = |value: u64| (value.max(1) as f64).ln();
    let (first, last) = (line[0], line[line.len() - 1]);
    if let Some(end) =
        [first, last].into_iter().find(|end| (end.0 == first.0 && value <= end.0) || value >= last.0 && end.0 == last.0)
    {
        let doublings = (x(value) - x(end.0)).abs() / std::f64::consts::LN_2;
        let nearest = if doublings > 0.0 { "nearest " } else { "" };
        return Price {
            cost: end.1,
            beyond: PER_DOUBLING * doublings,
            from: format!("{nearest}{operation} {name}={}", Size(end.0)),
        };
    }
    let above = line.partition_point(|point| point.0 <= value).min(line.len() - 1);
    let ((a, low), (b, high)) = (line[above - 1], line[above]);
    let share = (x(value) - x(a)) / (x(b) - x(a)).max(f64::MIN_POSITIVE);
    let ns = (low.ns.ln() + share * (high.ns.ln() - low.ns.ln())).exp();
    let between = if share > 0.0 { format!(" ({name}={} to {})", Size(a), Size(b)) } else { String::new() };
    let from = format!("{operation} {name}={}{between}", Size(value));
    Price { cost: Cost { ns, log_sd: low.log_sd.max(high.log_sd) }, beyond: 0.0, from }
}

/// A row as a point; `None` where it has no cost.
fn point(row: &Row) -> Option<Point> {
    let figure = row.figure.as_ref().ok()?;
    let Nanos(ns) = Some(figure.net.unwrap_or(figure.median)).filter(|ns| ns.is_cost())?;
    let half = figure.interval.map_or(0.0, |interval| (interval.high - interval.low).abs() / 2.0);
    let entries = row.entries.as_ref().map(|entries| entries.total());
    let enters = entries.is_none_or(|entries| entries > 0.0) || is_fault(&row.case.operation);
    let cost = Cost { ns, log_sd: half / Z / ns };
    Some(Point { params: row.case.effective_params(), cost, entries, enters })
}

/// Faults enter the kernel without a system call.
fn is_fault(operation: &str) -> bool {
    operation.starts_with("mem.fault_")
}

fn choose(run: &Run, wanted: Option<&str>) -> Result<String, String> {
    let mut all: Vec<&str> = run.records.iter().map(|record| record.case.environment.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    let named = all.join(", ");
    match (wanted, all.as_slice()) {
        (Some(name), _) if all.contains(&name) => Ok(name.to_string()),
        (Some(name), _) => Err(format!("it has no environment '{name}', only {named}: name one of these behind the @")),
        (None, [only]) => Ok(only.to_string()),
        (None, _) if all.contains(&"native") => Ok("native".to_string()),
        (None, []) => Err("it has no records: measure operations first, by 'syscost run --all --out FILE'".to_string()),
        (None, _) => Err(format!("it has the environments {named}: choose one as FILE@ENVIRONMENT")),
    }
}

fn label(run: &Run, environment: &str) -> String {
    if let Some(source) = &run.source {
        return source.title.clone();
    }
    let host = &run.host;
    let parts = [host.name.clone(), host.system.clone(), host.kernel.clone()];
    let mut words: Vec<String> = parts.into_iter().flatten().collect();
    if environment != "native" || words.is_empty() {
        words.push(environment.to_string());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::synthetic::{Noise, run};
    use crate::model::DescriptorKind;

    fn of_size(size: u64) -> Class {
        Class { size: Some(size), descriptor: Some(DescriptorKind::Device), ..Class::default() }
    }

    /// 100 ns up to 64 bytes, then in proportion to the size: a line between logarithms.
    fn costs() -> Costs {
        let sizes = [1, 64, 4096];
        let cost = |size: u64| 100.0 * (size.max(64) as f64 / 64.0);
        Costs::of(&run(&[("io.read_zero", &sizes, &cost)], 12, Noise::NONE), None).unwrap()
    }

    #[test]
    fn costs_lie_on_the_line_between_logarithms() {
        let at = |size| costs().price("read", &of_size(size)).unwrap();
        for (size, ns) in [(1, 100.0), (8, 100.0), (64, 100.0), (512, 800.0), (4096, 6400.0), (0, 100.0)] {
            assert!((at(size).cost.ns / ns - 1.0).abs() < 1e-6, "{size}: {:?}", at(size));
        }
        assert_eq!(at(512).from, "io.read_zero size=512 (size=64 to 4K)");
        assert_eq!(at(4096).from, "io.read_zero size=4K");
    }

    #[test]
    fn beyond_the_ends_the_nearest_is_taken_and_said_to_be_less_certain() {
        let beyond = costs().price("read", &of_size(16384)).unwrap();
        assert_eq!(beyond.from, "nearest io.read_zero size=4K");
        assert!((beyond.cost.ns - 6400.0).abs() < 1e-6 && (beyond.beyond - 2.0 * PER_DOUBLING).abs() < 1e-6);
    }

    #[test]
    fn both_sides_are_priced_by_the_same_operation() {
        let other = Costs::of(&run(&[("io.pread", &[4096], &|_| 50.0)], 12, Noise::NONE), None).unwrap();
        assert_eq!(costs().prices(&other, "read", &of_size(4096)), None);
        assert!(costs().prices(&costs(), "read", &of_size(4096)).is_some());
    }

    #[test]
    fn environments_are_named_where_there_are_several() {
        let mut run = run(&[("io.read_zero", &[1, 2], &|_| 100.0)], 12, Noise::NONE);
        run.records[0].case.environment = "m32".into();
        run.records[1].case.environment = "gvisor".into();
        assert!(Costs::of(&run, None).unwrap_err().contains("gvisor, m32: choose one as FILE@ENVIRONMENT"));
        assert!(Costs::of(&run, Some("static")).unwrap_err().contains("no environment 'static', only gvisor, m32"));
        assert!(Costs::of(&run, Some("m32")).is_ok());
    }
}
