//! Profiles: what a workload called, how often, and for how long.

pub mod class;
mod document;
pub mod figures;
pub mod latency;
pub mod notes;
mod slowest;
mod stacks;
mod table;

pub use document::ProfileDocument;
pub use figures::latency_histograms;
pub use latency::{latency_table as profile_latency_table, profile_latency_document};
pub use notes::tracer as tracer_line;
pub use slowest::slowest_table;
pub use stacks::{Weight, flame_difference, flame_figure, stacks_document};
pub use table::{micros, percent_of_wall, profile_table};
