//! Writes documents and tables in every format; knows no subject.

pub mod controls;
pub mod csv;
pub mod html;
mod json;
mod markdown;
pub mod markup;
mod screen;
pub mod text;

pub use json::{JsonDocument, json_schema, write_json, write_json_line};
pub use screen::{Format, Screen};
pub use text::{fit, fits, pages, text_width, write_lines};

use crate::document::{Block, Document, Table};
use anyhow::Result;
use std::io::Write;

/// Writes `document` in any format except JSON, for which commands serialize what they found.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_document(document: &Document, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    if format == Format::Csv {
        return csv::write(&document.records, out);
    }
    let width = screen.width.filter(|_| format == Format::Text);
    let parts = document.blocks.iter().flat_map(|block| parts(block, format, width));
    for (i, part) in parts.enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match part {
            Part::Lines(lines) => write_notes(&lines, format, screen, out)?,
            Part::Table(table) => write_table(&table, format, screen, out)?,
        }
    }
    Ok(())
}

/// What has an empty line before and behind it.
enum Part {
    Lines(Vec<String>),
    Table(Table),
}

fn parts(block: &Block, format: Format, width: Option<u16>) -> Vec<Part> {
    let lines = |lines: Vec<String>| if lines.is_empty() { Vec::new() } else { vec![Part::Lines(lines)] };
    match block {
        Block::Message(_) if format == Format::Text => Vec::new(),
        Block::Message(text) | Block::Notes(text) => lines(text.clone()),
        Block::Cautions(cautions) => lines(cautions.iter().map(|caution| format!("caution: {caution}")).collect()),
        Block::Tables(tables) => tables.iter().flat_map(|table| pages(table, width)).map(Part::Table).collect(),
    }
}

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
