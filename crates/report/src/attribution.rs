//! Attributions: where a workload's time went, what could be saved, and what its calls would cost elsewhere.

mod advice;
mod csv;
mod elsewhere;
mod hung;
mod ledger;
mod notes;
mod rings;
mod time;
mod why;

pub use advice::advice_lines;
pub use ledger::ledger_table;
pub use time::time_figure;
pub use why::{WhyDocument, why_document};
