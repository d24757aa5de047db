//! The only place that knows about columns and colours. Reads records and tables; no clock, no kernel.
//!
//! `Table` is what every command hands over; `text`, `markdown`, `csv` write it. `json` writes summaries of runs,
//! `cmpthese` writes them as Perl's Benchmark does, `export` for other programs. `html` is a page of its own: `figures` are
//! what it draws, `svg` how.

mod attribution_csv;
mod attribution_table;
mod attribution_verdict;
mod attribution_warnings;
mod attribution_words;
mod axis;
mod caution_words;
mod cell;
mod class_words;
mod cmpthese;
mod comparison_csv;
mod comparison_history;
mod comparison_history_json;
mod comparison_json;
mod comparison_notes;
mod comparison_table;
mod comparison_words;
mod condition_words;
mod csv;
pub mod detail;
mod distribution;
mod environment_table;
mod export;
pub mod figure;
pub mod figures;
mod fit_words;
mod highlights;
pub mod html;
mod json;
mod json_attribution;
mod json_fits;
mod json_profile;
mod json_study;
mod markdown;
pub mod markup;
pub mod numbers;
mod palette;
mod parameter_table;
mod plot;
pub mod portrait;
mod profile_table;
mod profile_words;
mod run_columns;
mod screen;
mod spec;
mod study_words;
mod summary_table;
pub mod svg;
mod table;
mod terminal_figures;
mod text;
mod warning_words;

pub use attribution_table::{Top, write_attribution};
pub use cell::{Align, Cell, Column, Style};
pub use cmpthese::{ViewKind, write_cmpthese};
pub use comparison_csv::write_comparison_csv;
pub use comparison_history::{write_history, write_history_csv};
pub use comparison_history_json::{HistoryDocument, history_schema, write_history_json};
pub use comparison_json::{ComparisonDocument, comparison_schema, write_comparison_json};
pub use comparison_notes::growth_lines;
pub use comparison_table::write_comparison;
pub use export::{ExportFormat, RunFormat, write_export};
pub use json::{SummaryDocument, schema, write_summary};
pub use json_attribution::schema as attribution_schema;
pub use json_profile::schema as profile_summary_schema;
pub use parameter_table::{pages, parameter_table};
pub use plot::plot;
pub use profile_table::{profile_table, write_profile};
pub use screen::{Format, Screen};
pub use spec::{Records, Spec};
pub use summary_table::{Sort, summary_table};
pub use table::Table;
pub use terminal_figures::{write_bars, write_distributions};

use anyhow::Result;
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
