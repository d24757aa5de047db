//! Runs side by side.

pub mod answer;
mod cautions;
mod csv;
pub mod gate;
pub mod notes;
pub mod profiles;
pub mod row;
mod table;

pub use gate::{Finding, Outcome, finding_lines, findings};
pub use profiles::{exceeded_line, profile_findings, profiles_document};
pub use table::comparison_document;
