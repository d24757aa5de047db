//! Output for people and programs: the only module that knows about columns and colours. It reads no clock and makes
//! no call of the kernel: what it takes from `explain` is what was found.
//!
//! One folder per subject: `run`, `rows`, `comparison`, `profile`, `attribution`, `explain`, `study`, `fit`. They share
//! `Table`, which `format` writes, and `Figure`, which `svg` draws. `html` makes a page, `export` writes runs for other
//! programs.

mod attribution;
mod comparison;
mod conditions;
mod explain;
mod export;
pub mod figure;
mod fit;
mod fleet;
mod gate;
pub mod html;
mod kernels;
pub mod numbers;
mod profile;
pub mod rows;
mod run;
mod study;
pub mod svg;
pub mod top;

pub use attribution::{AttributionDocument, Top, needs_lines, write_attribution};
pub use comparison::{
    HistoryDocument, comparison_document, exceeded_line, findings, plan_table, profile_findings, within_findings,
    write_history, write_history_csv, write_otava, write_otava_config, write_profiles, write_within,
};
pub use explain::{KernelView, kernel_flame, write_kernel, write_kernel_versus};
pub use explain::{variant_table, variants_answer, write_explanation};
pub use export::{EXPORTS, ExportFormat, RunFormat, left_out, write_export, write_profile_export};
pub use fit::{parameter_table, plot};
pub use fleet::fleet_table;
pub use gate::{Finding, Outcome, failed_lines, not_judged_lines, write_junit};
pub use kernels::write_kernel_steps;
pub use profile::{
    ProfileDocument, Weight, flame_figure, latency_histograms, percent_of_wall, profile_latency_table, profile_table,
    slowest_table, time_figure, unknown_overhead, write_profile, write_profile_latency, write_stacks,
};
pub use run::{
    Portrait, Sort, SummaryDocument, ViewKind, figures, first_run_note, latency_figure, latency_table, summary_table,
    summary_tables, write_bars, write_cmpthese, write_counters, write_distributions, write_latency,
};
// What views and commands name on nearly every page.
pub use crate::document::{Align, Cell, Column, Records, Spec, Style, Table};
pub use crate::write::{
    Format, JsonDocument, Screen, json_schema, pages, write_document, write_json, write_json_line, write_lines,
    write_notes, write_table,
};
