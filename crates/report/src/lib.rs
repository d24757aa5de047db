//! Output for people and programs: the only module that knows about columns and colours. It reads no clock and makes
//! no system call; it formats values that other crates have measured.
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
pub mod html;
pub mod numbers;
mod profile;
mod race;
mod rows;
mod run;
mod study;
pub mod svg;
pub mod top;

pub use attribution::{WhyDocument, WhyView, time_figure, why_document};
pub use comparison::{
    Finding, Outcome, comparison_document, exceeded_line, finding_lines, findings,
    profile_findings, profiles_document,
};
pub use explain::{
    KernelView, SMALL_CALLS, kernel_diff_document, kernel_difference, kernel_document,
    kernel_flame, kernel_stacks, kernel_versus_document,
};
pub use explain::{explanation_document, program_document};
pub use export::{RunFormat, write_go_benchmark};
pub use profile::{
    ProfileDocument, Weight, cautions, flame_difference, flame_figure, latency_histograms,
    lost_events, profile_latency_document, profile_table, sampled_table, slowest_table,
    stacks_document, together_table, tracer_line,
};
pub use race::race_document;
pub use rows::write_rows;
pub use run::{
    Portrait, RunView, Sort, SummaryDocument, ViewKind, cmpthese_blocks, figures, latency_figure,
    run_document, start_up,
};
// Re-exported because nearly every view and command uses them.
pub use document::write::{
    Format, Screen, ascii, pages, write_answer, write_document, write_json, write_json_line,
    write_lines, write_notes, write_table,
};
pub use document::{Align, Cell, Column, Columns, Records, Style, Table};

/// The text as a terminal of unlimited width shows it.
#[cfg(test)]
fn as_text(document: impl Into<document::Document>) -> String {
    let mut out = Vec::new();
    write_document(&document.into(), Format::Text, Screen::PLAIN, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
