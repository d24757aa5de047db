//! What pages show of a run.

use crate::Table;
use crate::figure::{Curve, Distribution, Figure};
use analysis::summary::Summary;

/// The tables, histograms and figures of a run, without its samples.
#[derive(Clone, Debug)]
pub struct Detail {
    pub summary: Summary,
    /// One for each row of the summary; `None` without samples.
    pub distributions: Vec<Option<Distribution>>,
    /// One for each parameter with enough values for a table.
    pub parameters: Vec<ByParameter>,
    /// Percentiles of single calls; `None` if none were timed.
    pub singles: Option<Singles>,
    /// Wall time of measuring in seconds, and its budget.
    pub elapsed_s: f64,
    pub budget_s: f64,
}

/// Single calls: their table, and a curve for each row that has one.
#[derive(Clone, Debug)]
pub struct Singles {
    pub table: Table,
    pub curves: Vec<Curve>,
}

/// Costs as a function of one parameter.
#[derive(Clone, Debug)]
pub struct ByParameter {
    pub table: Table,
    pub figure: Figure,
}
