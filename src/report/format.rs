//! Formats for tables and documents of all subjects, and the markup that pages and figures share.

pub mod csv;
pub mod json;
pub mod markdown;
pub mod markup;
pub mod screen;
pub mod text;

pub use screen::{Format, Screen};
pub use text::{fit, fits, text_width, write_lines};

use super::Table;
use anyhow::Result;
use std::io::Write;

/// Writes `table` in any format except JSON, for which commands write documents of their own.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_table(table: &Table, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Markdown => markdown::write(table, out),
        Format::Csv => csv::write(table.records(), out),
        Format::Text | Format::Json => text::write(table, screen, out),
    }
}

/// Writes `lines`, wrapped as the format requires.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_notes(lines: &[String], format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Markdown => markdown::write_notes(lines, out),
        _ => text::write_notes(lines, screen, out),
    }
}
