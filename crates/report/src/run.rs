//! One run: its table and warnings, its figures, the format of Perl's Benchmark, and the parts of its page.

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
pub mod start_up;
mod table;
mod view;
pub mod warnings;

pub use cmpthese::{ViewKind, cmpthese_blocks};
pub use latency::figure as latency_figure;
pub use portrait::Portrait;
pub use table::{Sort, summary_table};
pub use view::{RunView, SummaryDocument, run_document};
