//! Attributions: where a workload's time went, and what other unit costs would change.

mod advice;
mod csv;
mod document;
mod needs;
mod notes;
mod table;
mod verdict;
mod warnings;
mod why;

pub use document::AttributionDocument;
pub use needs::needs_lines;
pub use table::{Top, advice_lines, attribution_document, attribution_tables};
pub use why::why_document;
