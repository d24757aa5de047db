//! What a call of a class costs by the operations of a run: the look-up. Pure; `costs` takes the operations from a run.

use super::spread::{MODEL_SD, PER_DOUBLING, Seconds};
use super::units::{Ending, NULL_CALLS, UNITS, Unit, endings, units_of};
use crate::model::{CallCount, Class};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitCost {
    /// Nanoseconds.
    pub ns: f64,
    /// Standard deviation of its logarithm, without what moves all costs of the run; 0 for a published result.
    pub log_sd: f64,
    /// The part of it that differs between cases of one run.
    pub in_run_sd: f64,
}

/// An operation at one set of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOperation {
    pub params: BTreeMap<String, u64>,
    pub cost: UnitCost,
    /// System calls per iteration, if they were counted.
    pub entries: Option<f64>,
    /// False where it is known that the kernel was not entered.
    pub enters: bool,
}

/// The operations of one environment of a run.
#[derive(Clone, Debug)]
pub struct PriceList {
    /// By operation, in the order of the run.
    points: HashMap<String, Vec<MeasuredOperation>>,
    /// Ascending costs over each parameter that prices classes, by operation and parameter. Made once, because a profile may
    /// have as many classes as a run has records.
    lines: HashMap<(&'static str, &'static str), Vec<(u64, UnitCost)>>,
}

/// The cost of a call, and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub cost: UnitCost,
    /// Error from the distance of the class to the measured parameters, as a standard deviation of the logarithm.
    pub beyond: f64,
    pub basis: Basis,
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

impl UnitCost {
    /// As it compares with another one of the same run: what moves a case from run to run moves both.
    pub fn in_one_run(self) -> UnitCost {
        UnitCost { log_sd: self.in_run_sd, ..self }
    }

    /// With its errors multiplied.
    pub fn less_certain(self, factor: f64) -> UnitCost {
        UnitCost { log_sd: self.log_sd * factor, in_run_sd: self.in_run_sd * factor, ..self }
    }

    /// The cost of this many calls, if the logarithm of a call's true cost over the unit cost has the standard deviation
    /// `model_sd`.
    pub fn times(self, calls: u64, model_sd: f64) -> Seconds {
        Seconds::within(calls as f64 * self.ns / 1e9, model_sd.hypot(self.log_sd))
    }

    /// What is left without `off`, which is less than the whole: its error stays the same in nanoseconds.
    fn without(self, off: f64) -> UnitCost {
        let ns = self.ns - off;
        UnitCost { ns, ..self.less_certain(self.ns / ns) }
    }

    /// One of `count` equal parts.
    fn divided(self, count: f64) -> UnitCost {
        UnitCost { ns: self.ns / count, ..self }
    }

    /// At `share` of the way from one to the other, along a line between logarithms.
    fn between(low: UnitCost, high: UnitCost, share: f64) -> UnitCost {
        let (log_sd, in_run_sd) = (low.log_sd.max(high.log_sd), low.in_run_sd.max(high.in_run_sd));
        let ns = (low.ns.ln() + share * (high.ns.ln() - low.ns.ln())).exp();
        UnitCost { ns, log_sd, in_run_sd }
    }
}

/// The parameter of operations that run in several threads at once.
const THREADS: &str = "threads";

impl MeasuredOperation {
    fn threads(&self) -> u64 {
        self.params.get(THREADS).copied().unwrap_or(1)
    }
}

impl Price {
    /// The cost of this many calls, with the model's error.
    pub fn times(&self, calls: u64) -> Seconds {
        self.cost.times(calls, MODEL_SD.hypot(self.beyond))
    }

    fn with_value(self, value: f64) -> Price {
        Price { cost: self.cost.divided(self.cost.ns / value), ..self }
    }
}

impl PriceList {
    /// Of equal operations the first counts. One in a single thread is preferred to the same in several: it is what one call costs.
    pub fn new(measured: impl Iterator<Item = (String, MeasuredOperation)>) -> PriceList {
        let mut points: HashMap<String, Vec<MeasuredOperation>> = HashMap::new();
        let mut seen = HashSet::new();
        for (operation, point) in measured {
            if seen.insert((operation.clone(), point.params.clone())) {
                points.entry(operation).or_default().push(point);
            }
        }
        for points in points.values_mut() {
            let own = fewest_threads(points);
            points.retain(|point| point.threads() == own);
        }
        PriceList { lines: lines(&points), points }
    }

    /// The most threads that an operation ran in at once.
    pub fn threads(&self) -> u64 {
        self.points.values().map(|points| fewest_threads(points)).max().unwrap_or(1)
    }

    /// All costs.
    pub fn all(&self) -> impl Iterator<Item = UnitCost> {
        self.points.values().flatten().map(|point| point.cost)
    }

    /// The bare crossing of the user-kernel boundary, and which call measured it.
    pub fn null_call(&self) -> Option<Price> {
        self.first_of(NULL_CALLS)
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
    pub fn prices(&self, other: &PriceList, count: &CallCount) -> Option<(Price, Price)> {
        let one = |(ending, calls)| Some((calls, self.by_ending(other, (&count.call, &count.class), ending)?));
        let all: Vec<(u64, _)> = endings(count).into_iter().filter_map(one).collect();
        let whole: f64 = all.iter().map(|(calls, _)| *calls as f64).sum();
        let mean = |side: fn(&(Price, Price)) -> f64| -> f64 {
            all.iter().map(|(calls, prices)| *calls as f64 / whole * side(prices)).sum()
        };
        let means = (mean(|prices| prices.0.cost.ns), mean(|prices| prices.1.cost.ns));
        let (_, (a, b)) = all.into_iter().max_by_key(|(calls, _)| *calls)?;
        Some((a.with_value(means.0), b.with_value(means.1)))
    }

    fn by_ending(&self, other: &PriceList, (call, class): (&str, &Class), ending: Ending) -> Option<(Price, Price)> {
        let mut ways = self.ways(other, units_of(call, class, ending)).into_iter();
        ways.find_map(|(unit, op)| Some((self.by(unit, op, class)?, other.by(unit, op, class)?)))
    }

    /// The costs on both sides of the first of `operations` that both have.
    pub fn first_of_both(&self, other: &PriceList, operations: &[&str]) -> Option<(Price, Price)> {
        operations.iter().find_map(|operation| Some((self.price_of(operation)?, other.price_of(operation)?)))
    }

    /// What prices by these units, the best first: before all others those of which both runs have all that is subtracted.
    fn ways(
        &self,
        other: &PriceList,
        units: impl Iterator<Item = &'static Unit>,
    ) -> Vec<(&'static Unit, &'static str)> {
        let has = |operation: &&str| [self, other].iter().all(|costs| !costs.points_of(operation).is_empty());
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
        let off = less + self.other_crossings(unit, operation);
        let basis = Basis { less: unit.less, ..price.basis };
        // If nothing would be left, the run cannot separate the parts: the whole is then the best estimate.
        let cost = if off < price.cost.ns { price.cost.without(off) } else { price.cost };
        Some(Price { cost: cost.divided(unit.count), basis, ..price })
    }

    /// The bare crossings of other calls than the unit's that an iteration makes: a traced program makes them too, and they
    /// are counted there. Those of the operations in `less` are already subtracted.
    fn other_crossings(&self, unit: &Unit, operation: &str) -> f64 {
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

fn fewest_threads(points: &[MeasuredOperation]) -> u64 {
    points.iter().map(MeasuredOperation::threads).min().unwrap_or(1)
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
    (UnitCost::between(low, high, share), 0.0, (value, a, if share > 0.0 { b } else { a }))
}
