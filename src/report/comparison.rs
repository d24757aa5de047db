//! Runs side by side, and machines over time.

pub mod cautions;
mod conditions;
mod csv;
mod history;
mod json;
mod notes;
pub mod row;
mod table;

pub use csv::write_comparison_csv;
pub use history::{HistoryDocument, history_schema, write_history, write_history_csv, write_history_json};
pub use json::{ComparisonDocument, comparison_schema, write_comparison_json};
pub use notes::growth_lines;
pub use table::write_comparison;
