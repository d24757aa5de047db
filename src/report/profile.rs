//! Profiles: what a workload called, how often, and for how long.

pub mod class;
mod json;
pub mod notes;
mod table;

pub use json::schema as profile_summary_schema;
pub use table::{profile_table, write_profile};
