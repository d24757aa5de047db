//! One run: its table and warnings, its figures, Perl's view of it, and all that a page says of it.

mod cmpthese;
mod cold;
pub mod columns;
mod counters;
pub mod detail;
pub mod distribution;
mod document;
mod environments;
pub mod figures;
pub mod highlights;
pub mod instructions;
pub mod latency;
pub mod portrait;
mod table;
mod terminal;
pub mod warnings;

pub use cmpthese::{ViewKind, write_cmpthese};
pub use counters::write_counters;
pub use document::SummaryDocument;
pub use latency::{figure as latency_figure, latency_table, write_latency};
pub use portrait::Portrait;
pub use table::{Sort, first_run_note, summary_table, summary_tables};
pub use terminal::{write_bars, write_distributions};
