//! The only place that knows about columns and colours. Reads records and tables; no clock, no kernel.
//!
//! `Table` is what every command hands over; `text`, `markdown`, `csv` write it. `json` writes summaries of runs,
//! `cmpthese` writes them as Perl's Benchmark does.

mod class_words;
mod cmpthese;
mod csv;
mod environment_table;
mod fit_words;
mod json;
mod json_fits;
mod json_profile;
mod json_study;
mod markdown;
pub mod numbers;
mod parameter_table;
mod plot;
mod profile_table;
mod profile_words;
mod study_words;
mod summary_table;
mod table;
mod text;

pub use cmpthese::{ViewKind, write_cmpthese};
pub use json::{SummaryDocument, schema, write_summary};
pub use json_profile::schema as profile_summary_schema;
pub use parameter_table::{pages, parameter_table};
pub use plot::plot;
pub use profile_table::{profile_table, write_profile};
pub use summary_table::{Sort, summary_table};
pub use table::{Align, Cell, Column, Style, Table};

use anyhow::Result;
use std::io::Write;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for a terminal.
    Text,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values, one header line, raw numbers.
    Csv,
    /// One JSON document; see FORMAT.md.
    Json,
}

/// What the output is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns; `None` for no limit.
    pub width: Option<u16>,
    pub colour: bool,
}

impl Screen {
    /// A pipe or a file: as wide as need be, no colour.
    pub const PLAIN: Screen = Screen { width: None, colour: false };
}

/// Writes `table` in a format for people. JSON is not one: commands write their own documents.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_table(table: &Table, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Markdown => markdown::write(table, out),
        Format::Csv => csv::write(table, out),
        Format::Text | Format::Json => text::write(table, screen, out),
    }
}
