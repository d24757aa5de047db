//! Attributions: where a workload's time went, and what other unit costs would change.

mod csv;
mod needs;
mod notes;
mod table;
mod verdict;
mod warnings;

pub use needs::needs_lines;
pub use table::{Top, write_attribution};
