//! A Markdown table, followed by its notes as a list.

use crate::write::text::write_lines;
use crate::{Align, Table};
use anyhow::Result;
use itertools::Itertools;
use model::clean::{markdown, markdown_line};
use std::io::Write;

/// A table with its title and warnings above it, and its notes below.
pub fn write(table: &Table, out: &mut dyn Write) -> Result<()> {
    if !table.title.is_empty() {
        writeln!(out, "{}\n", markdown_line(&table.title))?;
    }
    if !table.cautions.is_empty() {
        write_notes(&table.cautions, out)?;
        writeln!(out)?;
    }
    if !table.columns().is_empty() {
        line(out, table.columns().iter().map(|c| markdown(&c.title)))?;
        line(
            out,
            table.columns().iter().map(|c| rule(c.align).to_string()),
        )?;
    }
    for row in table.rows() {
        line(out, row.iter().map(|cell| markdown(&cell.text)))?;
    }
    if !table.notes.is_empty() && !table.columns().is_empty() {
        writeln!(out)?;
    }
    write_notes(&table.notes, out)
}

/// A list; empty lines stay empty.
pub fn write_notes(lines: &[String], out: &mut dyn Write) -> Result<()> {
    for note in lines {
        let point = if note.is_empty() {
            String::new()
        } else {
            format!("- {}", markdown_line(note))
        };
        writeln!(out, "{point}")?;
    }
    Ok(())
}

pub fn write_heading(title: &str, what: &str, out: &mut dyn Write) -> Result<()> {
    Ok(writeln!(
        out,
        "## {}\n\n{}",
        markdown(title),
        markdown_line(what)
    )?)
}

pub fn write_facts(facts: &[(&str, String)], out: &mut dyn Write) -> Result<()> {
    facts
        .iter()
        .try_for_each(|(label, text)| Ok(writeln!(out, "- {label}: {}", markdown(text))?))
}

/// A line cannot end the block: those of code begin with spaces, others with what was drawn.
pub fn write_code(
    title: &str,
    language: &str,
    lines: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    if !title.is_empty() {
        writeln!(out, "### {}\n", markdown(title))?;
    }
    writeln!(out, "```{language}")?;
    write_lines(lines, out)?;
    Ok(writeln!(out, "```")?)
}

fn line(out: &mut dyn Write, mut cells: impl Iterator<Item = String>) -> Result<()> {
    Ok(writeln!(out, "| {} |", cells.join(" | "))?)
}

fn rule(align: Align) -> &'static str {
    match align {
        Align::Left => "---",
        Align::Right => "---:",
    }
}
