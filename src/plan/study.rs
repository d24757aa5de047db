//! Studies: TOML files that name cases.

use anyhow::{Context, Result};
use serde::Deserialize;

/// A named investigation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// One line above its table.
    pub title: String,
    /// Patterns of operations.
    pub cases: Vec<String>,
}

/// The study that runs where nothing else is asked for.
///
/// # Errors
/// When its file is not a study.
pub fn tour() -> Result<Study> {
    toml::from_str(include_str!("../../studies/tour.toml")).context("studies/tour.toml")
}
