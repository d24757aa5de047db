//! Runs side by side, and machines over time.

pub mod cautions;
pub mod conditions;
mod csv;
mod history;
mod metric;
pub mod notes;
mod plan;
pub mod row;
mod table;

pub use csv::write_comparison_csv;
pub use history::{write_history, write_history_csv};
pub use metric::{metric_growth_lines, write_metric};
pub use notes::growth_lines;
pub use plan::plan_table;
pub use table::write_comparison;
