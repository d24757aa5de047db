//! One cost as the questions need it: of which case, where, and when. Made from the rows of runs.

use super::Group;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was measured, the same on every host.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaseName {
    pub operation: String,
    pub params: String,
    pub environment: String,
    pub language: String,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub host: String,
    /// Columns of rows that hosts are grouped by: `cpu`, `kernel`, `label_pool`. What is not known is missing.
    pub columns: BTreeMap<String, String>,
}

/// A case of one run: its cost in nanoseconds, positive.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub case: Arc<CaseName>,
    pub place: Arc<Place>,
    pub started_unix_s: Option<i64>,
    pub ns: f64,
}

impl Place {
    /// The value of `column`; empty if it is not known.
    pub fn column(&self, column: &str) -> &str {
        match column {
            "host" => &self.host,
            _ => self.columns.get(column).map_or("", String::as_str),
        }
    }
}

impl Observation {
    /// The case and the values of `columns`.
    pub fn group(&self, columns: &[String]) -> Group {
        (self.case.clone(), columns.iter().map(|column| self.place.column(column).to_string()).collect())
    }
}
