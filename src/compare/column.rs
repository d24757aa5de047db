//! A run condensed to what a comparison needs: results, launch medians and facts, without the samples.

use crate::derive::DerivedRow;
use crate::model::{Case, Entries, Failure, Host, Outcome, REFERENCE, Record, Role, Run, SPIN, Source, Tool};
use crate::stats::{self, Launches};
use crate::summary::{self, Row, RowCost, RunWarning, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

/// One run, as one column of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub info: ColumnInfo,
    /// The requested records in the order of the run, then the baselines that were not requested.
    pub rows: Vec<ColumnRow>,
    /// The derived rows of the run's study.
    pub derived: Vec<DerivedRow>,
}

/// Facts about the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ColumnInfo {
    /// The heading of the column.
    pub label: String,
    pub host: Host,
    pub tool: Tool,
    /// Where the results come from if this tool did not measure them.
    pub source: Option<Source>,
    pub started_unix_s: u64,
    pub seed: u64,
    /// Wall time budget for measuring, in seconds.
    pub budget_s: f64,
    /// Target half-width of the 95% interval, in percent of the median.
    pub precision_percent: f64,
    pub complete: bool,
    /// Warnings about the run as a whole.
    pub warnings: Vec<RunWarning>,
}

/// One record of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRow {
    pub case: Case,
    /// Whether it was requested; otherwise it is one of the baselines that every run measures.
    pub asked: bool,
    pub figure: Result<RowCost, Failure>,
    /// `None` for failures and published values, and if no sample is above 0.
    pub launches: Option<Launches>,
    /// `None` if they are not known.
    pub entries: Option<Entries>,
    /// Whether the cost depends on changes to the file system before the run.
    pub depends_on_history: bool,
}

impl Column {
    /// Condenses `run`, with the derived rows of its study.
    pub fn new(label: &str, run: &Run) -> Column {
        Column::of(label, run, &summary::summarize(run))
    }

    /// The same with a `summary` of `run` that was made before.
    pub fn of(label: &str, run: &Run, summary: &Summary) -> Column {
        let (range, _) = summary::steady_range(run);
        let mut shown: HashMap<&Case, &Row> = HashMap::new();
        for row in summary.rows.iter().chain(&summary.baselines) {
            shown.entry(&row.case).or_insert(row);
        }
        let row = |record: &Record| Some(condensed(record, shown.get(&record.case)?, &range));
        let (asked, others): (Vec<_>, Vec<_>) = run.records.iter().partition(|r| r.role == Role::Asked);
        let rows = asked.into_iter().chain(others).filter_map(row).collect();
        let info = ColumnInfo::new(label, run, summary.warnings.clone());
        Column { info, rows, derived: summary.derived.clone() }
    }

    /// The record of the reference system call in the native environment.
    pub fn reference(&self) -> Option<&ColumnRow> {
        self.operation(REFERENCE)
    }

    /// The record of the work in user mode that every run measures.
    pub fn spin(&self) -> Option<&ColumnRow> {
        self.operation(SPIN)
    }

    fn operation(&self, operation: &str) -> Option<&ColumnRow> {
        let is_it = |row: &&ColumnRow| row.case.is_plain(operation);
        let native = |row: &&ColumnRow| row.case.environment == "native";
        let rows = || self.rows.iter().filter(is_it);
        rows().find(native).or_else(|| rows().next())
    }
}

impl ColumnInfo {
    fn new(label: &str, run: &Run, warnings: Vec<RunWarning>) -> ColumnInfo {
        ColumnInfo {
            label: label.to_string(),
            host: run.host.clone(),
            tool: run.tool.clone(),
            source: run.source.clone(),
            started_unix_s: run.started_unix_s,
            seed: run.seed,
            budget_s: run.budget_s,
            precision_percent: run.precision_percent,
            complete: run.complete,
            warnings,
        }
    }

    /// Whether this tool measured the run; in articles, a missing fact is unknown.
    pub fn is_measured(&self) -> bool {
        self.source.is_none()
    }
}

fn condensed(record: &Record, shown: &Row, steady: &Range<usize>) -> ColumnRow {
    let launches = match &record.outcome {
        // How far cold costs scatter from run to run is not known, and it is far: no verdict.
        Outcome::Measured(_) if record.case.cold().is_some_and(|bytes| bytes > 0) => None,
        Outcome::Measured(m) => stats::launches(m, steady.clone()).or_else(|| stats::launches(m, 0..usize::MAX)),
        Outcome::Failed(_) | Outcome::Published(_) => None,
    };
    ColumnRow {
        case: record.case.clone(),
        asked: record.role == Role::Asked,
        figure: shown.figure.clone(),
        launches,
        entries: record.entries.clone(),
        depends_on_history: shown.depends_on_history(),
    }
}

impl ColumnRow {
    /// Nanoseconds per iteration; `None` for failures and for values that cannot be divided by.
    pub fn cost_ns(&self) -> Option<f64> {
        let ns = self.figure.as_ref().ok()?.median.0;
        (ns.is_finite() && ns > 0.0).then_some(ns)
    }
}
