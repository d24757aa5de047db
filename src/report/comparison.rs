//! Runs side by side, and machines over time.

pub mod cautions;
pub mod conditions;
mod csv;
mod history;
pub mod notes;
mod plan;
pub mod row;
mod table;

pub use csv::write_comparison_csv;
pub use history::{write_history, write_history_csv};
pub use notes::growth_lines;
pub use plan::plan_table;
pub use table::write_comparison;
