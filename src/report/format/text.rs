//! Aligned columns that fit the screen: narrow screens lose the most expendable columns, then wrap the last ones.

use crate::clean;
use crate::report::format::screen::Screen;
use crate::report::{Align, Style, Table};
use anyhow::Result;
use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width};
use std::io::Write;

/// Characters of a cell, and of a note or title, that are shown.
const LONGEST_CELL: usize = 200;
pub const LONGEST_NOTE: usize = 4000;

pub fn write(table: &Table, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let table = &fit(table, screen.width);
    if !table.title.is_empty() {
        write_note(&table.title, screen.width, out)?;
        writeln!(out)?;
    }
    if !table.rows().is_empty() {
        let drawn = draw(table, screen).to_string();
        for line in drawn.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    if !table.notes.is_empty() {
        writeln!(out)?;
    }
    write_notes(&table.notes, screen, out)
}

/// Lines of words, wrapped.
pub fn write_notes(lines: &[String], screen: Screen, out: &mut dyn Write) -> Result<()> {
    lines.iter().try_for_each(|note| write_note(note, screen.width, out))
}

/// Writes lines that are laid out already. A name with a line end in it does not make two of one.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_lines(lines: impl IntoIterator<Item = impl AsRef<str>>, out: &mut dyn Write) -> Result<()> {
    lines.into_iter().try_for_each(|line| Ok(writeln!(out, "{}", clean::line(line.as_ref()))?))
}

/// The table without the columns that must go for its rows to fit `width` unwrapped.
fn fit(table: &Table, width: Option<u16>) -> Table {
    let mut keep: Vec<usize> = (0..table.columns().len()).collect();
    let Some(width) = width else { return table.select(&keep) };
    while natural_width(table, &keep) > usize::from(width) {
        let most = keep.iter().copied().max_by_key(|i| (table.columns()[*i].expendable, *i));
        match most {
            Some(i) if table.columns()[i].expendable > 0 => keep.retain(|k| *k != i),
            _ => break,
        }
    }
    keep.truncate(unbroken(table, &keep, usize::from(width)));
    table.select(&keep)
}

/// Columns that a table has at least.
const FEWEST_COLUMNS: usize = 2;

/// A word of a wrapping column is not broken unless it is longer.
const LONGEST_WORD: usize = 14;

/// How many columns, from the left, leave room for whole words in the one that wraps; all where no number of them does.
/// Several that wrap are prose, which is worth more than the width of the screen.
fn unbroken(table: &Table, keep: &[usize], width: usize) -> usize {
    if keep.iter().filter(|i| table.columns()[**i].wraps).count() != 1 {
        return keep.len();
    }
    let taken = |count: usize| {
        let columns = keep[..count].iter();
        columns
            .map(|i| if table.columns()[*i].wraps { longest_word(table, *i) } else { widest(table, *i) } + 2)
            .sum::<usize>()
    };
    (FEWEST_COLUMNS..=keep.len()).rev().find(|count| taken(*count) <= width + 2).unwrap_or(keep.len())
}

/// Characters of the longest word of a wrapping column, as far as words stay whole.
fn longest_word(table: &Table, i: usize) -> usize {
    let texts = table.rows().iter().map(|row| row[i].text.as_str()).chain([table.columns()[i].title.as_str()]);
    texts.flat_map(str::split_whitespace).map(|word| word.chars().count()).max().unwrap_or(0).min(LONGEST_WORD)
}

/// Characters of the widest cell of a column.
fn widest(table: &Table, i: usize) -> usize {
    let cells = table.rows().iter().map(|row| row[i].text.chars().count().min(LONGEST_CELL));
    cells.chain([table.columns()[i].title.chars().count()]).max().unwrap_or(0)
}

/// A wrapping column is not made narrower than this to keep an expendable one.
const NARROWEST: usize = 18;

/// Columns that the chosen cells take, two spaces between them, where wrapping ones are broken.
fn natural_width(table: &Table, keep: &[usize]) -> usize {
    let width = |i: usize| if table.columns()[i].wraps { widest(table, i).min(NARROWEST) } else { widest(table, i) };
    keep.iter().map(|i| width(*i) + 2).sum::<usize>().saturating_sub(2)
}

fn draw(table: &Table, screen: Screen) -> comfy_table::Table {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(comfy_table::presets::NOTHING);
    drawn.set_content_arrangement(match screen.width {
        Some(_) => ContentArrangement::Dynamic,
        None => ContentArrangement::Disabled,
    });
    if let Some(width) = screen.width {
        drawn.set_width(width);
    }
    // Left to itself the table looks at standard output, and writes bold and empty sequences under NO_COLOR.
    match screen.colour {
        true => drawn.enforce_styling(),
        false => drawn.force_no_tty(),
    };
    drawn.set_header(table.columns().iter().map(|c| cell(&c.title, Style::Heading, c.align)));
    for row in table.rows() {
        drawn.add_row(row.iter().zip(table.columns()).map(|(c, column)| cell(&c.text, c.style, column.align)));
    }
    let last = table.columns().len().saturating_sub(1);
    for (i, column) in drawn.column_iter_mut().enumerate() {
        let padding = if i == last { 0 } else { 2 };
        column.set_constraint(match table.columns()[i].wraps {
            true => ColumnConstraint::LowerBoundary(Width::Fixed((longest_word(table, i) + padding) as u16)),
            false => ColumnConstraint::ContentWidth,
        });
        column.set_padding((0, padding as u16));
    }
    drawn
}

fn cell(text: &str, style: Style, align: Align) -> comfy_table::Cell {
    let cell = comfy_table::Cell::new(shown(text)).set_alignment(match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    });
    match style {
        Style::Plain => cell,
        Style::Heading => cell.add_attribute(Attribute::Bold),
        Style::Good => cell.fg(Color::Green),
        Style::Warning => cell.fg(Color::Yellow),
        Style::Bad => cell.fg(Color::Red),
        Style::Faint => cell.add_attribute(Attribute::Dim),
    }
}

/// What is shown of a cell: longer names are for programs, which read them from CSV and JSON.
fn shown(cell: &str) -> String {
    clean::line(&clean::cut(cell, LONGEST_CELL))
}

/// Wraps a note at words, its continuation lines indented by two.
fn write_note(note: &str, width: Option<u16>, out: &mut dyn Write) -> Result<()> {
    let note = clean::line(&clean::cut(note, LONGEST_NOTE));
    let lines = wrapped(&note, usize::from(width.unwrap_or(u16::MAX)), "  ");
    lines.iter().try_for_each(|line| Ok(writeln!(out, "{line}")?))
}

/// Lines of at most `width` characters, broken between words; those after the first begin with `indent`.
pub fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, format!("{indent}{word}")));
        } else {
            line = if line.is_empty() { word.to_string() } else { format!("{line} {word}") };
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(wrapped("one two three", 8, "  "), ["one two", "  three"]);
        assert_eq!(wrapped("clock_nanosleep_absolute x1", 10, "  "), ["clock_nanosleep_absolute", "  x1"]);
    }
}
