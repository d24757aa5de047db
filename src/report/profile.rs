//! Profiles: what a workload called, how often, and for how long.

pub mod class;
pub mod notes;
mod table;

pub use table::{profile_table, write_profile};
