//! Attributions: where a workload's time went, what could be saved, and what its calls would cost elsewhere.

mod advice;
mod csv;
mod document;
mod elsewhere;
mod notes;
mod why;

pub use advice::advice_lines;
pub use document::AttributionDocument;
pub use why::why_document;
