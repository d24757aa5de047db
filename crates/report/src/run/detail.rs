//! What pages show of a run.

use crate::Table;
use crate::figure::{Curve, Distribution, Figure};
use analysis::summary::Summary;

/// Without samples.
#[derive(Clone, Debug)]
pub struct Detail {
    pub summary: Summary,
    /// For each row of the summary.
    pub distributions: Vec<Option<Distribution>>,
    /// With enough values for a table.
    pub parameters: Vec<ByParameter>,
    /// `None` if none were timed.
    pub singles: Option<Singles>,
    /// In seconds.
    pub elapsed_s: f64,
    pub budget_s: f64,
}

/// A curve for each row that has one.
#[derive(Clone, Debug)]
pub struct Singles {
    pub table: Table,
    pub curves: Vec<Curve>,
}

#[derive(Clone, Debug)]
pub struct ByParameter {
    pub table: Table,
    pub figure: Figure,
}
