//! Unit costs from a run: what one call of a class takes there, in nanoseconds. Pure.

pub use super::prices::{Basis, Interpolation, Price, UnitCost};
use super::prices::{MeasuredOperation, PriceList};
use super::speed::Machine;
use super::spread::Z;
use crate::model::{Nanos, Outcome, Record, Run};
use crate::summary::{Row, RowCost, summarize};
use std::collections::BTreeSet;
use std::ops::Deref;

/// The operations of a run that were timed in one environment.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Where they are from: host, kernel and environment, or the title of the article.
    pub label: String,
    prices: PriceList,
    /// How many threads ran each operation at once.
    pub threads: u64,
    /// Whether any cost has an interval: published results have none.
    pub has_intervals: bool,
    pub(super) machine: Machine,
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

impl Costs {
    /// The unit costs of `environment`; by default `native`, or the only one there is.
    ///
    /// # Errors
    /// When the run has no such environment, or several of which none is `native`.
    pub fn from_run(run: &Run, environment: Option<&str>) -> Result<Costs, NoCosts> {
        let environment = Environments::of(run).timed(environment)?;
        let prices = price_list(run, &environment);
        let has_intervals = prices.all().any(|cost| cost.log_sd > 0.0);
        let (label, threads, machine) = (label(run, &environment), prices.threads(), Machine::from_run(run));
        Ok(Costs { label, prices, threads, has_intervals, machine })
    }
}

impl Deref for Costs {
    type Target = PriceList;

    fn deref(&self) -> &PriceList {
        &self.prices
    }
}

/// The operations of `environment` that have a cost.
fn price_list(run: &Run, environment: &str) -> PriceList {
    let summary = summarize(run);
    let rows = summary.rows.iter().chain(&summary.baselines);
    // Programs make most of their calls in loops: cold costs are upper bounds, see METHOD.md.
    let warm = rows.filter(|row| row.case.cold().is_none());
    let own = warm.filter(|row| row.case.language.is_none() && row.case.environment == environment);
    PriceList::new(own.filter_map(|row| Some((row.case.operation.clone(), point(row, unit_cost(row)?)))))
}

fn point(row: &Row, cost: UnitCost) -> MeasuredOperation {
    let entries = row.entries.as_ref().map(|entries| entries.total());
    // Faults enter the kernel without a system call.
    let is_fault = row.case.operation.starts_with("mem.fault_");
    let enters = entries.is_none_or(|entries| entries > 0.0) || is_fault;
    MeasuredOperation { params: row.case.effective_params(), cost, entries, enters }
}

/// The cost of a row; `None` where it has none.
fn unit_cost(row: &Row) -> Option<UnitCost> {
    let figure = row.cost()?;
    let Nanos(ns) = Some(figure.net.unwrap_or(figure.median)).filter(|ns| ns.is_cost())?;
    let (log_sd, in_run_sd) = own_sd(row, figure);
    Some(UnitCost { ns, log_sd, in_run_sd }.less_certain(figure.median.0 / ns))
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

/// The environments of a run, by what their figures are.
struct Environments {
    timed: Vec<String>,
    counted: Vec<String>,
}

impl Environments {
    fn of(run: &Run) -> Environments {
        let is_counted = |record: &&Record| matches!(record.outcome, Outcome::Counted(_));
        let counted = environments(run.records.iter().filter(is_counted));
        let mut timed = environments(run.records.iter());
        timed.retain(|name| !counted.contains(name));
        Environments { timed, counted }
    }

    fn timed(self, wanted: Option<&str>) -> Result<String, NoCosts> {
        let default = if let [only] = &self.timed[..] { only.as_str() } else { "native" };
        let name = wanted.unwrap_or(default).to_string();
        if self.timed.contains(&name) {
            Ok(name)
        } else {
            Err(NoCosts { wanted: wanted.map(str::to_string), present: self.timed, counted: self.counted })
        }
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
