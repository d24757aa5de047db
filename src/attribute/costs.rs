//! Unit costs from a run: what one call of a class costs there. Pure.

use super::speed::Machine;
use super::spread::{MODEL_SD, PER_DOUBLING, Seconds, Z};
use super::units::{Ending, NULL_CALLS, UNITS, Unit, endings, units_of};
use crate::model::{CallCount, Class, Nanos, Outcome, Record, Run};
use crate::summary::{Row, RowCost, summarize};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The operations of a run that were measured in one environment.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Where they are from: host, kernel and environment, or the title of the article.
    pub label: String,
    /// By operation, in the order of the run.
    points: HashMap<String, Vec<MeasuredOperation>>,
    /// Ascending costs over each parameter that prices classes, by operation and parameter. Made once, because a profile may
    /// have as many classes as a run has records.
    lines: HashMap<(&'static str, &'static str), Vec<(u64, UnitCost)>>,
    /// How many threads ran each operation at once.
    pub threads: u64,
    /// Whether any cost has an interval: published results have none.
    pub has_intervals: bool,
    pub(super) machine: Machine,
}

/// An operation at one set of parameters.
#[derive(Clone, Debug, PartialEq)]
struct MeasuredOperation {
    params: BTreeMap<String, u64>,
    cost: UnitCost,
    /// System calls per iteration, if they were counted.
    entries: Option<f64>,
    /// False where it is known that the kernel was not entered.
    enters: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitCost {
    /// Nanoseconds.
    pub ns: f64,
    /// Standard deviation of its logarithm, without what moves all costs of the run; 0 for a published result.
    pub log_sd: f64,
    /// The part of it that differs between cases of one run.
    pub in_run_sd: f64,
}

impl UnitCost {
    /// As it compares with another one of the same run: what moves a case from run to run moves both.
    pub fn in_one_run(self) -> UnitCost {
        UnitCost { log_sd: self.in_run_sd, ..self }
    }

    /// With its errors multiplied.
    fn less_certain(self, factor: f64) -> UnitCost {
        UnitCost { log_sd: self.log_sd * factor, in_run_sd: self.in_run_sd * factor, ..self }
    }

    /// The cost of this many calls, if the logarithm of a call's true cost over the unit cost has the standard deviation
    /// `model_sd`.
    pub fn times(self, calls: u64, model_sd: f64) -> Seconds {
        Seconds::within(calls as f64 * self.ns / 1e9, model_sd.hypot(self.log_sd))
    }
}

/// The unit cost of a call, and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub cost: UnitCost,
    /// Error from the distance of the class to the measured parameters, as a standard deviation of the logarithm.
    pub beyond: f64,
    pub basis: Basis,
}

impl Price {
    fn with_ns(self, ns: f64) -> Price {
        Price { cost: UnitCost { ns, ..self.cost }, ..self }
    }

    /// The cost of this many calls, with the model's error.
    pub fn times(&self, calls: u64) -> Seconds {
        self.cost.times(calls, MODEL_SD.hypot(self.beyond))
    }
}

/// What a price was made from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Basis {
    pub operation: String,
    /// `None` where the operation has one cost.
    pub at: Option<Interpolation>,
    /// Operations whose cost was subtracted.
    pub less: &'static [&'static str],
}

/// A value of the parameter that sets a price, and the measured values around it: both are the nearest one where that was
/// taken, and the value itself where it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interpolation {
    pub parameter: &'static str,
    pub value: u64,
    pub low: u64,
    pub high: u64,
}

/// The run has no unit costs of the wanted environment or, if none was named, several environments but not `native`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCosts {
    pub wanted: Option<String>,
    /// The environments of the run whose figures are times.
    pub present: Vec<String>,
    /// Those whose figures are numbers of instructions.
    pub counted: Vec<String>,
}

/// The parameter of operations that run in several threads at once.
const THREADS: &str = "threads";

impl MeasuredOperation {
    fn threads(&self) -> u64 {
        self.params.get(THREADS).copied().unwrap_or(1)
    }
}

impl Costs {
    /// The unit costs of `environment`; by default `native`, or the only one there is.
    ///
    /// # Errors
    /// When the run has no such environment, or several of which none is `native`.
    pub fn from_run(run: &Run, environment: Option<&str>) -> Result<Costs, NoCosts> {
        let environment = choose(run, environment)?;
        let summary = summarize(run);
        let rows = summary.rows.iter().chain(&summary.baselines);
        // Programs make most of their calls in loops: cold costs are upper bounds, see METHOD.md.
        let warm = rows.filter(|row| row.case.cold().is_none());
        let own = warm.filter(|row| row.case.language.is_none() && row.case.environment == environment);
        let mut points: HashMap<String, Vec<MeasuredOperation>> = HashMap::new();
        let mut seen = HashSet::new();
        for (operation, point) in own.filter_map(|row| Some((&row.case.operation, point(row)?))) {
            if seen.insert((operation, point.params.clone())) {
                points.entry(operation.clone()).or_default().push(point);
            }
        }
        // An operation in one thread is preferred to the same in several: it is what one call costs.
        let fewest = |points: &[MeasuredOperation]| points.iter().map(MeasuredOperation::threads).min().unwrap_or(1);
        for points in points.values_mut() {
            let own = fewest(points);
            points.retain(|point| point.threads() == own);
        }
        let threads = points.values().map(|points| fewest(points)).max().unwrap_or(1);
        let has_intervals = points.values().flatten().any(|point| point.cost.log_sd > 0.0);
        let lines = lines(&points);
        Ok(Costs {
            label: label(run, &environment),
            points,
            lines,
            threads,
            has_intervals,
            machine: Machine::from_run(run),
        })
    }

    /// The bare crossing of the user-kernel boundary, and which call measured it.
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

    /// The unit cost of a call that succeeds; `None` where no operation of the run resembles it.
    pub fn price(&self, call: &str, class: &Class) -> Option<Price> {
        self.by_ending(self, (call, class), None).map(|(price, _)| price)
    }

    /// The unit cost of one of these calls, successes and failures together; `None` as above.
    pub fn price_of_calls(&self, count: &CallCount) -> Option<Price> {
        self.prices(self, count).map(|(price, _)| price)
    }

    /// Prices calls in both by the same operations, so that their ratio means something. The basis is that of most calls.
    pub fn prices(&self, other: &Costs, count: &CallCount) -> Option<(Price, Price)> {
        let one = |(ending, calls)| Some((calls, self.by_ending(other, (&count.call, &count.class), ending)?));
        let all: Vec<(u64, (Price, Price))> = endings(count).into_iter().filter_map(one).collect();
        let whole: f64 = all.iter().map(|(calls, _)| *calls as f64).sum();
        let mean = |side: fn(&(Price, Price)) -> f64| -> f64 {
            all.iter().map(|(calls, prices)| *calls as f64 / whole * side(prices)).sum()
        };
        let means = (mean(|prices| prices.0.cost.ns), mean(|prices| prices.1.cost.ns));
        let (_, (a, b)) = all.into_iter().max_by_key(|(calls, _)| *calls)?;
        Some((a.with_ns(means.0), b.with_ns(means.1)))
    }

    fn by_ending(&self, other: &Costs, (call, class): (&str, &Class), ending: Ending) -> Option<(Price, Price)> {
        let mut ways = self.ways(other, (call, class), ending).into_iter();
        ways.find_map(|(unit, op)| Some((self.by(unit, op, class)?, other.by(unit, op, class)?)))
    }

    /// What prices the call, the best first: before all others those of which both runs have all that is subtracted.
    fn ways(&self, other: &Costs, (call, class): (&str, &Class), ending: Ending) -> Vec<(&'static Unit, &'static str)> {
        let has = |operation: &&str| [self, other].iter().all(|costs| !costs.points_of(operation).is_empty());
        let units = units_of(call, class, ending);
        let all = units.flat_map(|unit| unit.operations.iter().map(move |operation| (unit, *operation)));
        let (mut ways, rest): (Vec<_>, Vec<_>) = all.partition(|(unit, _)| unit.less.iter().all(&has));
        ways.extend(rest);
        ways
    }

    /// The cost of an operation that does not enter the kernel, such as a clock read by the vDSO; `None` where it does.
    pub fn user_mode(&self, operation: &str) -> Option<UnitCost> {
        self.points_of(operation).iter().find(|point| !point.enters).map(|point| point.cost)
    }

    fn by(&self, unit: &Unit, operation: &str, class: &Class) -> Option<Price> {
        let price = self.at(operation, unit.per.value_in(class))?;
        let less: f64 = unit.less.iter().filter_map(|operation| Some(self.price_of(operation)?.cost.ns)).sum();
        let off = less + self.other_crossings_ns(unit, operation);
        // If nothing would be left, the run cannot separate the parts: the whole is then the best estimate.
        let ns = if off < price.cost.ns { price.cost.ns - off } else { price.cost.ns };
        let basis = Basis { less: unit.less, ..price.basis };
        // Its error stays the same in nanoseconds when a part is subtracted.
        let cost = price.cost.less_certain(price.cost.ns / ns);
        Some(Price { cost: UnitCost { ns: ns / unit.count, ..cost }, basis, ..price })
    }

    /// The bare crossings of other calls than the unit's that an iteration makes: a traced program makes them too, and they
    /// are counted there. Those of the operations in `less` are already subtracted.
    fn other_crossings_ns(&self, unit: &Unit, operation: &str) -> f64 {
        let entries = |name: &str| self.points_of(name).first()?.entries;
        let less: Option<f64> = unit.less.iter().map(|name| entries(name)).sum();
        let others = entries(operation).zip(less).map_or(0.0, |(all, less)| (all - less - unit.count).max(0.0));
        others * self.null_call().map_or(0.0, |null| null.cost.ns)
    }

    /// The cost of `operation` where one parameter has this value, along a line between logarithms.
    fn at(&self, operation: &str, parameter: Option<(&'static str, u64)>) -> Option<Price> {
        let first = self.points_of(operation).iter().find(|point| point.enters)?;
        let line = parameter.and_then(|(name, value)| Some((name, value, self.lines.get(&(operation, name))?)));
        let operation = operation.to_string();
        Some(match line {
            None => Price { cost: first.cost, beyond: 0.0, basis: Basis { operation, at: None, less: &[] } },
            Some((parameter, value, line)) => {
                let (cost, beyond, (value, low, high)) = on_line(line, value);
                let at = Some(Interpolation { parameter, value, low, high });
                Price { cost, beyond, basis: Basis { operation, at, less: &[] } }
            }
        })
    }

    fn points_of(&self, operation: &str) -> &[MeasuredOperation] {
        self.points.get(operation).map_or(&[], Vec::as_slice)
    }
}

/// The costs over its parameter of each operation that is priced by one; none of them is empty.
fn lines(
    points: &HashMap<String, Vec<MeasuredOperation>>,
) -> HashMap<(&'static str, &'static str), Vec<(u64, UnitCost)>> {
    let mut lines = HashMap::new();
    for (unit, name) in UNITS.iter().filter_map(|unit| Some((unit, unit.per.parameter()?))) {
        for operation in unit.operations {
            let line = series(points.get(*operation).map_or(&[], Vec::as_slice), name);
            if !line.is_empty() {
                lines.insert((*operation, name), line);
            }
        }
    }
    lines
}

/// The points that enter the kernel and differ in `name` alone, ascending. Among the sets of other parameters, the one with
/// most points is taken; of equal ones the smallest.
fn series(points: &[MeasuredOperation], name: &str) -> Vec<(u64, UnitCost)> {
    let mut sets: BTreeMap<BTreeMap<&str, u64>, BTreeMap<u64, UnitCost>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.enters) {
        let Some(value) = point.params.get(name) else { continue };
        let others = point.params.iter().filter(|(other, _)| *other != name).map(|(n, v)| (n.as_str(), *v)).collect();
        sets.entry(others).or_default().insert(*value, point.cost);
    }
    let most = sets.values().map(BTreeMap::len).max().unwrap_or(0);
    let best = sets.into_values().find(|set| set.len() == most).unwrap_or_default();
    best.into_iter().collect()
}

/// The cost at `value` on the line through ascending points, its error as a standard deviation of the logarithm, and the
/// value with the measured values around it. Beyond these it is the cost at the nearest one, with an error that grows with
/// the distance.
fn on_line(line: &[(u64, UnitCost)], value: u64) -> (UnitCost, f64, (u64, u64, u64)) {
    let x = |value: u64| (value.max(1) as f64).ln();
    let (first, last) = (line[0], line[line.len() - 1]);
    let end = if value <= first.0 { Some(first) } else { Some(last).filter(|last| value >= last.0) };
    if let Some((at, cost)) = end {
        let doublings = (x(value) - x(at)).abs() / std::f64::consts::LN_2;
        return (cost, PER_DOUBLING * doublings, (if doublings > 0.0 { value } else { at }, at, at));
    }
    let above = line.partition_point(|point| point.0 <= value).min(line.len() - 1);
    let ((a, low), (b, high)) = (line[above - 1], line[above]);
    let share = (x(value) - x(a)) / (x(b) - x(a)).max(f64::MIN_POSITIVE);
    let ns = (low.ns.ln() + share * (high.ns.ln() - low.ns.ln())).exp();
    let (log_sd, in_run_sd) = (low.log_sd.max(high.log_sd), low.in_run_sd.max(high.in_run_sd));
    (UnitCost { ns, log_sd, in_run_sd }, 0.0, (value, a, if share > 0.0 { b } else { a }))
}

/// A row as a point; `None` where it has no cost.
fn point(row: &Row) -> Option<MeasuredOperation> {
    let figure = row.cost()?;
    let Nanos(ns) = Some(figure.net.unwrap_or(figure.median)).filter(|ns| ns.is_cost())?;
    let entries = row.entries.as_ref().map(|entries| entries.total());
    // Faults enter the kernel without a system call.
    let is_fault = row.case.operation.starts_with("mem.fault_");
    let enters = entries.is_none_or(|entries| entries > 0.0) || is_fault;
    let (log_sd, in_run_sd) = own_sd(row, figure);
    let cost = UnitCost { ns, log_sd, in_run_sd }.less_certain(figure.median.0 / ns);
    Some(MeasuredOperation { params: row.case.effective_params(), cost, entries, enters })
}

/// Standard deviation of the logarithm of a median, without what moves the whole run, and the part of it that its launches show;
/// where these are not known, that of the interval within the run.
fn own_sd(row: &Row, figure: &RowCost) -> (f64, f64) {
    let listed = BETWEEN_RUNS_SD.iter().find(|(start, _)| row.case.operation.starts_with(start)).map(|(_, sd)| *sd);
    let between = listed.unwrap_or(if row.depends_on_history() { HISTORY_SD } else { 0.0 });
    let within = figure.half_width_percent().map(|percent| percent / 100.0 / Z);
    let in_run = figure.moves.map(|moves| moves.case.in_session().as_normal()).or(within).unwrap_or(0.0);
    let own = figure.moves.map(|moves| moves.case.error().as_normal()).or(within);
    (own.map_or(0.0, |sd| sd.hypot(between)), in_run)
}

/// Standard deviation, on the log scale, of what moves these operations from run to run and no launch of one run shows: where the
/// scheduler places the threads that take turns, and how long the device takes. By the start of their names; the first counts.
/// From seven runs on one machine (METHOD.md).
const BETWEEN_RUNS_SD: &[(&str, f64)] = &[
    ("process.vfork_wait", 0.7),
    ("process.thread", 0.7),
    ("process.clone_thread", 0.7),
    ("process.waitid_nothing", 0.0),
    ("process.vfork_exec", 0.06),
    ("process.posix_spawn", 0.06),
    ("process.", 0.12),
    ("ipc.", 0.6),
    ("sync.futex_pingpong", 0.7),
    ("sync.cond_pingpong", 0.7),
    ("io.fsync", 0.2),
    ("io.fdatasync", 0.2),
    ("mem.brk", 0.05),
];

/// Standard deviation of the logarithm of a cost that depends on what was done to the file system before, from run to run
/// (METHOD.md).
const HISTORY_SD: f64 = 0.08;

fn choose(run: &Run, wanted: Option<&str>) -> Result<String, NoCosts> {
    let is_counted = |record: &&Record| matches!(record.outcome, Outcome::Counted(_));
    let counted = environments(run.records.iter().filter(is_counted));
    let mut present = environments(run.records.iter());
    present.retain(|name| !counted.contains(name));
    let default = if let [only] = &present[..] { only.as_str() } else { "native" };
    let name = wanted.unwrap_or(default).to_string();
    match present.contains(&name) {
        true => Ok(name),
        false => Err(NoCosts { wanted: wanted.map(str::to_string), present, counted }),
    }
}

/// The environments of `records` by name.
fn environments<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let names: BTreeSet<&str> = records.map(|record| record.case.environment.as_str()).collect();
    names.into_iter().map(str::to_string).collect()
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
mod tests;
