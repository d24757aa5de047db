//! What is shown of a run beyond its figures.

use crate::report::Table;
use crate::report::figure::{Distribution, Figure};
use crate::summary::Summary;

/// What is shown of a run beyond its figures.
#[derive(Clone, Debug)]
pub struct Detail {
    pub summary: Summary,
    /// One for each row of the summary; `None` without samples.
    pub distributions: Vec<Option<Distribution>>,
    /// One for each parameter that has three values or more.
    pub parameters: Vec<ByParameter>,
    /// How long measuring took, and what it was given.
    pub elapsed_s: f64,
    pub budget_s: f64,
}

/// Costs over one parameter.
#[derive(Clone, Debug)]
pub struct ByParameter {
    pub table: Table,
    pub figure: Figure,
}
