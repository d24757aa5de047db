//! What a comparison holds of each row: what it is known by, what each run says of it, what that means. Plain data.

use super::column::ColumnRow;
use super::verdict::Verdict;
use crate::model::{Case, Entries, Failure, OrError, Size};
use crate::stats::Launches;
use crate::summary::RowCost;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a row is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Key {
    /// The name that a study gives it, else the operation.
    #[serde(rename = "name")]
    pub label: String,
    /// The label as tables show it; that of an unnamed snippet has its language before it.
    #[serde(skip)]
    pub title: String,
    pub language: Option<String>,
    pub environment: String,
    /// All parameters that any of its columns names, defaults included.
    pub params: BTreeMap<String, u64>,
    /// Those that were asked for; they stand beside the label.
    #[serde(skip)]
    pub asked: BTreeMap<String, u64>,
    /// Those that some column has by default.
    #[serde(skip)]
    pub(super) by_default: BTreeSet<String>,
}

impl Key {
    pub(super) fn of(case: &Case) -> Key {
        Key {
            label: case.label().to_string(),
            title: Case { params: BTreeMap::new(), ..case.clone() }.to_string(),
            language: case.language.clone(),
            environment: case.environment.clone(),
            params: case.effective_params(),
            asked: case.params.clone(),
            by_default: case.defaults.keys().cloned().collect(),
        }
    }
}

/// One row over all columns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRow {
    #[serde(flatten)]
    pub key: Key,
    /// The operation of the first column that has the row; of a snippet its body.
    pub operation: String,
    /// The operation's area; of a snippet its language; `other` where no column tells.
    pub area: String,
    /// Whether the text of a snippet is another in some column, though it has the same name.
    pub other_code: bool,
    /// `None` where the run does not have the row. Boxed, so that what many runs do not have takes little.
    #[serde(rename = "costs")]
    pub cells: Vec<Option<Box<Cell>>>,
    /// Each column against the baseline; none before they are judged.
    pub verdicts: Vec<Verdict>,
}

/// What one run says of a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    #[serde(flatten, with = "OrError::<RowCost, Failure>")]
    pub figure: Result<RowCost, Failure>,
    /// `None` where they are not known.
    pub entries: Option<Entries>,
    /// Whether the cost depends on what was done to the file system before the run.
    #[serde(skip)]
    pub depends_on_history: bool,
    #[serde(skip)]
    pub(super) launches: Option<Launches>,
}

impl Cell {
    pub(super) fn of(row: &ColumnRow) -> Box<Cell> {
        Box::new(Cell {
            figure: row.figure.clone(),
            entries: row.entries.clone(),
            depends_on_history: row.depends_on_history,
            launches: row.launches.clone(),
        })
    }

    /// Nanoseconds per iteration; `None` for failures, and for figures that are no costs.
    pub fn cost_ns(&self) -> Option<f64> {
        Some(self.figure.as_ref().ok()?.median).filter(|ns| ns.is_cost()).map(|ns| ns.0)
    }
}

impl ComparedRow {
    /// Whether no two runs need agree on the cost.
    pub fn depends_on_history(&self) -> bool {
        self.cells.iter().flatten().any(|cell| cell.depends_on_history)
    }

    pub fn cost_ns(&self, column: usize) -> Option<f64> {
        self.cells.get(column)?.as_ref()?.cost_ns()
    }
}

/// `file.lstat depth=4`, as a run's own table has it.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        self.asked.iter().try_for_each(|(name, value)| write!(f, " {name}={}", Size(*value)))
    }
}

/// The area of what has none, as the operations of articles.
pub(super) const OTHER: &str = "other";

/// `file` of `file.lstat`; of a snippet its language.
pub fn area(case: &Case) -> &str {
    match (&case.language, case.operation.split_once('.')) {
        (Some(language), _) => language,
        (None, Some((area, rest))) if !area.is_empty() && !rest.contains(' ') && !area.contains(' ') => area,
        _ => OTHER,
    }
}
