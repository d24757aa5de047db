//! The only place that knows about columns and colours. Reads records and tables; no clock, no kernel.
//!
//! A folder for each subject: `run`, `comparison`, `profile`, `attribution`, `explain`, `study`, `fit`. Their common ground: `Table` is
//! what every command hands over, and `format` writes it; `Figure` is what is drawn, and `svg` draws it. `html` is a page of
//! its own, `export` writes runs for other programs.

mod attribution;
mod comparison;
mod explain;
mod export;
pub mod figure;
mod fit;
mod format;
pub mod html;
pub mod numbers;
mod profile;
mod run;
mod study;
pub mod svg;
mod table;

pub use attribution::{Top, attribution_schema, write_attribution};
pub use comparison::{
    ComparisonDocument, HistoryDocument, comparison_schema, growth_lines, history_schema, write_comparison,
    write_comparison_csv, write_comparison_json, write_history, write_history_csv, write_history_json,
};
pub use explain::{variant_table, variants_answer, write_explanation};
pub use export::{ExportFormat, RunFormat, write_export};
pub use fit::{pages, parameter_table, plot};
pub use format::{Format, Screen, wrapped};
pub use profile::{profile_summary_schema, profile_table, write_profile};
pub use run::{
    Portrait, Sort, SummaryDocument, ViewKind, figures, schema, summary_table, write_bars, write_cmpthese,
    write_distributions, write_summary,
};
pub use table::{Align, Cell, Column, Records, Spec, Style, Table};

use anyhow::Result;
use format::{csv, markdown, text};
use std::io::Write;

/// Writes `table` in a format for people. JSON is not one: commands write their own documents.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_table(table: &Table, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Markdown => markdown::write(table, out),
        Format::Csv => csv::write(table.records(), out),
        Format::Text | Format::Json => text::write(table, screen, out),
    }
}

/// Writes lines of text that are laid out already.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_lines(lines: impl IntoIterator<Item = impl AsRef<str>>, out: &mut dyn Write) -> Result<()> {
    text::write_lines(lines, out)
}

/// Writes `lines` for people, each wrapped as a format needs it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_notes(lines: &[String], format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Markdown => markdown::write_notes(lines, out),
        _ => text::write_notes(lines, screen, out),
    }
}
