//! Comparisons, plans and histories as JSON documents.

use crate::compare::history::Machine;
use crate::compare::{Comparison, Plan};
use crate::write::JsonDocument;
use schemars::JsonSchema;
use serde::Serialize;

impl JsonDocument for Comparison {
    const SCHEMA: &'static str = "syscost.comparison/2";
}

impl JsonDocument for Plan {
    const SCHEMA: &'static str = "syscost.comparison-plan/1";
}

/// Machines over time.
#[derive(Serialize, JsonSchema)]
pub struct HistoryDocument<'a> {
    /// Changes of up to this share are ignored.
    pub margin: f64,
    /// By host name.
    pub machines: &'a [Machine],
}

impl JsonDocument for HistoryDocument<'_> {
    const SCHEMA: &'static str = "syscost.history/2";
}
