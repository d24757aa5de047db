//! Attributions: where a workload's time went, and what other unit costs would change.

mod csv;
mod json;
mod notes;
mod table;
mod verdict;

pub use json::schema as attribution_schema;
pub use table::{Top, write_attribution};
