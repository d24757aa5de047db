//! The result of one row in one column.

use crate::summary::{Instructions, Row, RowCost, RowFigure};
use model::{Case, Entries, EntriesStatus, Failure, OrError, Record, Role};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Launches, Quantity};

/// One run's result for a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    #[serde(skip)]
    pub case: Case,
    /// Otherwise it is one of the baselines that every run measures.
    #[serde(skip)]
    pub asked: bool,
    #[serde(flatten, with = "OrError::<RowFigure, Failure>")]
    pub figure: Result<RowFigure, Failure>,
    /// `None` if they are not proven.
    pub entries: Option<Entries>,
    #[serde(skip)]
    pub depends_on_history: bool,
    #[serde(skip)]
    pub is_traced: bool,
    /// One per run; `None` unless a cost above 0 was measured.
    #[serde(skip)]
    pub(super) runs: Vec<Option<Launches>>,
}

impl Cell {
    pub(super) fn new(record: &Record, shown: &Row, runs: Vec<Option<Launches>>) -> Cell {
        Cell {
            case: record.case.clone(),
            asked: record.role == Role::Asked,
            figure: shown.figure.clone(),
            runs,
            entries: if record.entries_status == EntriesStatus::Verified {
                record.entries.clone()
            } else {
                None
            },
            depends_on_history: shown.depends_on_history(),
            is_traced: shown.is_traced(),
        }
    }

    /// `None` for a failure.
    pub fn quantity(&self) -> Option<Quantity> {
        self.figure.as_ref().ok().map(RowFigure::quantity)
    }

    /// In any of its runs.
    pub fn is_disturbed(&self) -> bool {
        let mut runs = self.runs.iter().flatten();
        runs.any(|run| run.disturbed_ln > 0.0)
    }

    /// The cost, if the row is a time.
    pub fn cost(&self) -> Option<&RowCost> {
        self.figure.as_ref().ok()?.cost()
    }

    /// The median cost in nanoseconds; `None` for failures and for values that cannot be divided by.
    pub fn cost_ns(&self) -> Option<f64> {
        Some(self.cost()?.median)
            .filter(|ns| ns.is_cost())
            .map(|ns| ns.0)
    }

    /// The instructions, if the row was counted in an emulated kernel.
    pub fn instructions(&self) -> Option<&Instructions> {
        self.figure.as_ref().ok()?.instructions()
    }
}
