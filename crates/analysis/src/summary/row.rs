//! The results of a run, and of one record.

use super::cost::RowCost;
use super::figure::{Instructions, RowFigure};
use super::latency::RowLatency;
use super::pairs::ControlRange;
use super::speed::MachineSpeed;
use super::start_up::StartUpCost;
use super::warning::{RunWarning, Warning};
use crate::derive::DerivedRow;
use model::{
    Case, Counters, Entries, EntriesStatus, EnvironmentFacts, Failure, OrError, ShownCase,
    StudyView, Unit,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{OverRuns, Quantity, Ranged};
use std::collections::BTreeMap;

/// The results of a run.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// The rows that were asked for, in the order of the run.
    #[serde(rename = "records")]
    pub rows: Vec<Row>,
    /// The rows that every run measures, whether they were asked for or not.
    pub baselines: Vec<Row>,
    /// The rows that the study, or names on the command line, derive from pairs of rows.
    pub derived: Vec<DerivedRow>,
    /// The study that the run was for.
    pub study: Option<StudyView>,
    /// How fast the machine was; `None` if the run measured too little of the panel.
    pub machine: Option<MachineSpeed>,
    /// The range of native cases divided by themselves, in a run in several environments; `None` in other runs.
    pub control: Option<ControlRange>,
    /// Warnings that concern all rows.
    pub warnings: Vec<RunWarning>,
    /// The runs after the first; absent if there are none. Rows are then over all runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RunStart>,
    /// The cost of starting the environments; absent if that was not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub start_ups: Vec<StartUpCost>,
    #[serde(skip)]
    pub environments: Vec<EnvironmentFacts>,
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
}

impl Summary {
    pub fn other_baselines(&self) -> impl Iterator<Item = &Row> {
        let baselines = self.baselines.iter();
        baselines.filter(|row| !self.rows.iter().any(|asked| asked.case == row.case))
    }

    pub fn is_counted(&self) -> bool {
        let has = |figure: fn(&Row) -> bool| self.rows.iter().any(figure);
        has(|row| row.instructions().is_some()) && !has(|row| row.cost().is_some())
    }

    pub fn unit(&self, environment: &str) -> Unit {
        let mut rows = self.rows.iter().chain(&self.baselines);
        if rows.any(|row| row.case.environment == environment && row.instructions().is_some()) {
            return Unit::Instructions;
        }
        let mut facts = self.environments.iter();
        facts
            .find(|facts| facts.name == environment)
            .map_or(Unit::default(), |facts| facts.unit)
    }
}

/// When a further run began, and how long it took.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct RunStart {
    /// In seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The seed of its random orders.
    pub seed: u64,
    /// From the first launch to the last sample, in seconds.
    pub elapsed_s: f64,
}

/// The result of one record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    #[serde(flatten, with = "ShownCase")]
    pub case: Case,
    #[serde(flatten, with = "OrError::<RowFigure, Failure>")]
    pub figure: Result<RowFigure, Failure>,
    /// Kernel entries per iteration by system call; null if they were not counted.
    pub entries: Option<Entries>,
    #[serde(flatten)]
    pub entries_status: EntriesStatus,
    /// Over how many iterations rare ones were counted; absent if they are frequent or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries_iterations: Option<u64>,
    /// Hardware and software events per iteration, of each launch; absent if they were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Vec<f64>>>")]
    pub counters: Option<Counters>,
    /// Percentiles of single calls; absent if they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<RowLatency>,
    /// Doubts about it.
    pub warnings: Vec<Warning>,
    /// The results of its runs, if there are several. The cost is then over all of them: the geometric mean of their medians, its interval from their scatter; instructions are the median of their medians.
    #[serde(rename = "runs", skip_serializing_if = "Option::is_none")]
    pub over_runs: Option<OverRuns>,
    /// The same case in another environment, if the run has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
}

/// A case's figure divided by that of the same case in the run's first environment of that unit. The interval of costs is paired round by
/// round.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Versus {
    /// The first environment.
    pub environment: String,
    /// The ratio.
    #[serde(flatten)]
    pub ratio: Ranged,
}

impl Row {
    /// `None` if it failed.
    pub fn quantity(&self) -> Option<Quantity> {
        self.figure.as_ref().ok().map(RowFigure::quantity)
    }

    pub fn cost(&self) -> Option<&RowCost> {
        self.figure.as_ref().ok()?.cost()
    }

    pub fn instructions(&self) -> Option<&Instructions> {
        self.figure.as_ref().ok()?.instructions()
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.figure.as_ref().err()
    }

    pub fn is_traced(&self) -> bool {
        self.warnings.contains(&Warning::Traced)
    }

    /// Whether the cost depends on the file system's history, so that two runs need not agree.
    pub fn depends_on_history(&self) -> bool {
        self.warnings.contains(&Warning::DependsOnHistory)
    }
}
