//! Writes documents and tables in every format; knows no subject.

mod ascii;
pub mod csv;
pub mod html;
mod json;
mod markdown;
pub mod markup;
mod screen;
pub mod text;

pub use ascii::ascii;
#[cfg(feature = "schema")]
pub use json::json_schema;
pub use json::{write_json, write_json_line};
pub use screen::{Format, Screen};
pub use text::{fit, fits, pages, text_width, write_lines};

use crate::{Block, Document, Table};
use anyhow::Result;
use model::JsonDocument;
use std::io::Write;

/// Writes `answer` as JSON; in other formats, writes its document, which is made only then.
pub fn write_answer<T: JsonDocument, D: Into<Document>>(
    answer: &T,
    document: impl FnOnce() -> D,
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Json => write_json(answer, out),
        _ => write_document(&document().into(), format, screen, out),
    }
}

/// Writes the blocks of a document, or for CSV its records. JSON documents are written by [`write_answer`].
pub fn write_document(
    document: &Document,
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    if format == Format::Csv {
        return csv::write(&document.records, out);
    }
    let width = if format == Format::Text {
        screen.width
    } else {
        None
    };
    let parts = document
        .blocks
        .iter()
        .flat_map(|block| parts(block, format, width));
    in_characters_of(screen, format, out, |out| {
        for (i, part) in parts.enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            write_block(&part, format, screen, out)?;
        }
        Ok(())
    })
}

/// What `write` writes, in ASCII if the screen has nothing else.
fn in_characters_of(
    screen: Screen,
    format: Format,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    if !screen.ascii || format != Format::Text {
        return write(out);
    }
    let mut text = Vec::new();
    write(&mut text)?;
    Ok(out.write_all(ascii(&String::from_utf8_lossy(&text)).as_bytes())?)
}

fn parts(block: &Block, format: Format, width: Option<u16>) -> Vec<Block> {
    match block {
        Block::Message(_) if format == Format::Text => Vec::new(),
        Block::Message(lines)
        | Block::Cautions(lines)
        | Block::Notes(lines)
        | Block::Code { lines, .. }
            if lines.is_empty() =>
        {
            Vec::new()
        }
        Block::Pages(table) => pages(table, width).into_iter().map(Block::Table).collect(),
        block => vec![block.clone()],
    }
}

fn write_block(block: &Block, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match block {
        Block::Table(table) | Block::Pages(table) => write_table(table, format, screen, out),
        Block::Message(lines) | Block::Notes(lines) => write_notes(lines, format, screen, out),
        Block::Cautions(lines) => write_notes(
            &lines
                .iter()
                .map(|text| format!("caution: {text}"))
                .collect::<Vec<_>>(),
            format,
            screen,
            out,
        ),
        Block::Heading { title, what } if format == Format::Markdown => {
            markdown::write_heading(title, what, out)
        }
        Block::Heading { title, what } => text::write_heading(title, what, screen, out),
        Block::Facts(facts) if format == Format::Markdown => markdown::write_facts(facts, out),
        Block::Facts(facts) => text::write_facts(facts, screen, out),
        Block::Tree { titles, branches } if format == Format::Markdown => {
            markdown::write_code("", "text", &text::tree_lines(titles, branches, None), out)
        }
        Block::Tree { titles, branches } => {
            write_lines(text::tree_lines(titles, branches, screen.width), out)
        }
        Block::Code {
            title,
            language,
            lines,
        } if format == Format::Markdown => markdown::write_code(title, language, lines, out),
        Block::Code { title, lines, .. } => write_lines(
            Some(title)
                .filter(|title| !title.is_empty())
                .into_iter()
                .chain(lines),
            out,
        ),
    }
}

/// Not for JSON, for which commands write documents of their own.
pub fn write_table(
    table: &Table,
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Markdown => markdown::write(table, out),
        Format::Csv => csv::write(table.records(), out),
        Format::Text | Format::Json => {
            in_characters_of(screen, format, out, |out| text::write(table, screen, out))
        }
    }
}

/// Writes lines such as warnings in the style of the format, wrapped to the screen.
pub fn write_notes(
    lines: &[String],
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Markdown => markdown::write_notes(lines, out),
        _ => text::write_notes(lines, screen, out),
    }
}
