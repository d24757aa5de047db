//! Attributions: where a workload's time went, and what other unit costs would change.

mod advice;
mod csv;
mod notes;
mod table;
mod verdict;
mod warnings;

pub use table::{Top, write_attribution};
