//! A row of a comparison: its key, a cell per run, and the verdicts.

use super::cell::Cell;
use super::verdict::Verdict;
use model::{Case, parameter_value};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The identity of a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Key {
    /// The name given by a study, or else the operation.
    #[serde(rename = "name")]
    pub label: String,
    /// For an unnamed snippet, with the language in front.
    #[serde(skip)]
    pub title: String,
    /// Language of a snippet.
    pub language: Option<String>,
    /// How the probe is built and started.
    pub environment: String,
    /// All parameters of any of its columns, defaults included.
    pub params: BTreeMap<String, u64>,
    #[serde(skip)]
    pub asked: BTreeMap<String, u64>,
    #[serde(skip)]
    pub(super) by_default: BTreeSet<String>,
}

impl Key {
    pub(super) fn from_case(case: &Case) -> Key {
        Key {
            label: case.label().to_string(),
            title: Case {
                params: BTreeMap::new(),
                ..case.clone()
            }
            .to_string(),
            language: case.language.clone(),
            environment: case.environment.clone(),
            params: case.effective_params(),
            asked: case.params.clone(),
            by_default: case.defaults.keys().cloned().collect(),
        }
    }
}

/// One row over all columns.
#[derive(Serialize, JsonSchema)]
pub struct ComparedRow {
    #[serde(flatten)]
    pub key: Key,
    /// The operation in the first column that has the row; for a snippet, its body.
    pub operation: String,
    /// The operation's area; for a snippet, its language; `other` if unknown.
    pub area: String,
    /// Whether a snippet's text differs between columns although its name is the same.
    pub other_code: bool,
    /// `None` if the run lacks the row. Boxed, so that missing cells take little memory.
    #[serde(rename = "costs")]
    pub cells: Vec<Option<Box<Cell>>>,
    /// Each column compared with the baseline; empty before `judge` fills it in.
    pub verdicts: Vec<Verdict>,
    /// Index of the column from which on the row has been slower or faster than in the first; absent if that is not clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<usize>,
}

impl ComparedRow {
    pub fn has(&self, is: fn(&Cell) -> bool) -> bool {
        self.cells.iter().flatten().any(|cell| is(cell))
    }

    pub fn is_counted(&self) -> bool {
        self.cells
            .iter()
            .flatten()
            .any(|cell| cell.instructions().is_some())
    }

    pub fn is_in_instructions(&self) -> bool {
        self.is_counted() && self.is_without_time()
    }

    pub fn is_without_time(&self) -> bool {
        !(0..self.cells.len()).any(|column| self.cost_ns(column).is_some())
    }

    pub fn cost_ns(&self, column: usize) -> Option<f64> {
        self.cells.get(column)?.as_ref()?.cost_ns()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        self.asked
            .iter()
            .try_for_each(|(name, value)| write!(f, " {name}={}", parameter_value(name, *value)))
    }
}

pub(super) const OTHER: &str = "other";

/// `file` for `file.lstat`; for a snippet, its language.
pub fn area(case: &Case) -> &str {
    match (&case.language, case.operation.split_once('.')) {
        (Some(language), _) => language,
        (None, Some((area, rest)))
            if !area.is_empty() && !rest.contains(' ') && !area.contains(' ') =>
        {
            area
        }
        _ => OTHER,
    }
}
