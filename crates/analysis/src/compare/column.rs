//! A run condensed to what a comparison needs: results, launch medians and facts, without the samples.

use super::cell::Cell;
use crate::derive::DerivedRow;
use crate::summary::{self, Panel, Row, RunWarning, Summary};
use model::{Case, EnvironmentFacts, Host, REFERENCE, Record, Role, Run, SPIN, Source, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Deviation, Launches};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    pub info: ColumnInfo,
    /// Rows that were not requested are last.
    pub rows: Vec<Cell>,
    pub derived: Vec<DerivedRow>,
    pub panel: Vec<PanelCosts>,
    pub machine: Deviation,
}

/// Nanoseconds by operation, in one run.
pub type PanelCosts = BTreeMap<String, f64>;

/// Facts about the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ColumnInfo {
    /// The heading of the column.
    pub label: String,
    pub host: Host,
    pub tool: Tool,
    /// The origin of the results if this tool did not measure them.
    pub source: Option<Source>,
    /// When the run began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The seed of every random order in the run.
    pub seed: u64,
    /// Wall time that the rounds were given, in seconds.
    pub budget_s: f64,
    /// Wall time that the whole run was given, in seconds; null if it was not limited.
    pub whole_s: Option<f64>,
    /// Target half-width of the 95% interval, in percent of the median.
    pub precision_percent: f64,
    /// False if the run was interrupted.
    pub complete: bool,
    /// Warnings about the run as a whole.
    pub warnings: Vec<RunWarning>,
    /// Number of runs; the facts above are those of the first.
    pub runs: usize,
    /// Facts that differ between the files of this column.
    pub mixed: Vec<&'static str>,
    /// Facts about the environments; absent from documents if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<EnvironmentFacts>,
    /// The user's labels of the run, by key; for a column of several files, those that all of them have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip)]
    pub(super) starts: Vec<(u64, u64)>,
}

impl Column {
    /// Computing the costs takes most of the time.
    pub fn new(label: &str, run: &Run) -> Column {
        Column::from_summary(label, run, &summary::summarize(run))
    }

    pub fn from_summary(label: &str, run: &Run, summary: &Summary) -> Column {
        let mut shown: HashMap<&Case, &Row> = HashMap::new();
        for row in summary.rows.iter().chain(&summary.baselines) {
            shown.entry(&row.case).or_insert(row);
        }
        let panels: Vec<Panel> = run.runs().map(Panel::new).collect();
        let (asked, others): (Vec<_>, Vec<_>) = run
            .records
            .iter()
            .enumerate()
            .partition(|(_, r)| r.role == Role::Asked);
        let rows = asked
            .into_iter()
            .chain(others)
            .filter_map(|(index, record)| {
                let runs = run.runs().zip(&panels);
                let launches = runs
                    .map(|(one, panel)| launches(one.records.get(index)?, panel))
                    .collect();
                Some(Cell::new(record, shown.get(&record.case)?, launches))
            })
            .collect();
        let info = ColumnInfo::new(label, run, summary.warnings.clone());
        let panel = panels.into_iter().map(|panel| panel.costs_ns).collect();
        let derived = summary.derived.clone();
        Column {
            info,
            rows,
            derived,
            panel,
            machine: summary::run_deviation(run),
        }
    }

    /// Natively if it was measured there.
    pub fn reference(&self) -> Option<&Cell> {
        self.operation(REFERENCE)
    }

    /// Natively if it was measured there.
    pub fn spin(&self) -> Option<&Cell> {
        self.operation(SPIN)
    }

    pub(super) fn operation(&self, operation: &str) -> Option<&Cell> {
        let rows = || self.rows.iter().filter(|row| row.case.is_plain(operation));
        rows()
            .find(|row| row.case.environment == "native")
            // A run without native rows has its reference in another environment, but never as instructions.
            .or_else(|| rows().find(|row| row.instructions().is_none()))
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
            seed: run.plan.seed,
            budget_s: run.plan.budget_s,
            whole_s: run.plan.whole_s,
            precision_percent: run.plan.precision_percent,
            complete: run.complete,
            warnings,
            runs: run.runs().count(),
            mixed: Vec::new(),
            environments: run.environments.clone(),
            labels: run.labels.clone(),
            starts: run
                .runs()
                .map(|one| (one.started_unix_s, one.plan.seed))
                .collect(),
        }
    }

    /// The most of any of its runs; `None` if none was disturbed all the time.
    pub fn disturbed_percent(&self) -> Option<f64> {
        let percents = self.warnings.iter().filter_map(|warning| match warning {
            RunWarning::Disturbed(disturbed) => disturbed.slower_percent,
            _ => None,
        });
        percents.reduce(f64::max)
    }

    /// A fact missing from a published result is unknown.
    pub fn is_measured(&self) -> bool {
        self.source.is_none()
    }
}

fn launches(record: &Record, panel: &Panel) -> Option<Launches> {
    // How far cold costs scatter from run to run is not known, and it is far: no verdict.
    let is_cold = record.case.is_displaced();
    if is_cold {
        return None;
    }
    summary::launches(record, panel)
}
