//! One run: its table and warnings, its figures, Perl's view of it, and all that a page says of it.

mod cmpthese;
pub mod columns;
mod counters;
pub mod distribution;
pub mod environments;
pub mod figures;
pub mod instructions;
pub mod latency;
pub mod names;
pub mod portrait;
mod table;
mod view;
pub mod warnings;

pub use cmpthese::{ViewKind, cmpthese_blocks};
pub use latency::{figure as latency_figure, latency_document, latency_table};
pub use portrait::Portrait;
pub use table::{Sort, first_run_note, summary_table, summary_tables};
pub use view::{RunView, SummaryDocument, run_document};
