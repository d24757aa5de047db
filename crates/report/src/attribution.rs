//! Attributions: the parts of a workload's time, possible savings, and predictions for other machines.

mod advice;
mod answer;
mod calls;
mod csv;
mod elsewhere;
mod hung;
mod ledger;
mod notes;
mod rings;
mod rows;
mod time;
mod why;

pub use answer::all_lines;
pub use ledger::ledger_table;
pub use time::time_figure;
pub use why::{ALL, WhyDocument, WhyView, why_document};
