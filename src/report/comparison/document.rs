//! Comparisons and plans as JSON documents.

use crate::compare::{Comparison, Plan};
use crate::write::JsonDocument;

impl JsonDocument for Comparison {
    const SCHEMA: &'static str = "syscost.comparison/2";
}

impl JsonDocument for Plan {
    const SCHEMA: &'static str = "syscost.comparison-plan/1";
}
