//! Unit costs from a run: what one call of a class takes there, in nanoseconds. Pure.

pub use super::prices::{Basis, Interpolation, Price};
use super::prices::{MeasuredOperation, PriceList};
use crate::model::{Nanos, Outcome, Record, Run};
use crate::summary::{Row, summarize};
use std::collections::BTreeSet;
use std::ops::Deref;

/// The operations of a run that were timed in one environment.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Where they are from: host, kernel and environment, or the title of the article.
    pub label: String,
    prices: PriceList,
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
        Ok(Costs { label: label(run, &environment), prices: price_list(run, &environment) })
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
    PriceList::new(own.filter_map(|row| Some((row.case.operation.clone(), point(row, unit_ns(row)?)))))
}

fn point(row: &Row, ns: f64) -> MeasuredOperation {
    let entries = row.entries.as_ref().map(|entries| entries.total());
    // Faults enter the kernel without a system call.
    let is_fault = row.case.operation.starts_with("mem.fault_");
    let enters = entries.is_none_or(|entries| entries > 0.0) || is_fault;
    MeasuredOperation { params: row.case.effective_params(), ns, entries, enters }
}

/// The cost of a row; `None` where it has none.
fn unit_ns(row: &Row) -> Option<f64> {
    let figure = row.cost()?;
    let Nanos(ns) = Some(figure.net.unwrap_or(figure.median)).filter(|ns| ns.is_cost())?;
    Some(ns)
}

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
