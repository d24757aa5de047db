//! Runs side by side, and machines over time.

pub mod answer;
mod cautions;
mod csv;
mod document;
pub mod gate;
mod history;
pub mod notes;
mod otava;
mod plan;
pub mod profiles;
pub mod row;
mod table;
mod within;

pub use document::HistoryDocument;
pub use gate::findings;
pub use history::history_document;
pub use otava::{write_otava, write_otava_config};
pub use plan::plan_table;
pub use profiles::{exceeded_line, profile_findings, profiles_document};
pub use table::comparison_document;
pub use within::{within_findings, within_table};
