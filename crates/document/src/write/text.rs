//! Aligned columns that fit the screen: narrow screens lose the most expendable columns, then wrap the last ones.

use crate::write::screen::Screen;
use crate::{Align, Branch, Style, Table};
use anyhow::Result;
use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width};
use model::clean;
use model::prose::wrapped;
use std::io::Write;

const LONGEST_CELL: usize = 200;
pub const LONGEST_NOTE: usize = 4000;

/// A table fitted to the screen; a note names the columns that were dropped.
pub fn write(table: &Table, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let whole = table;
    let table = &fit(whole, screen.width);
    let head: Vec<String> = Some(&table.title)
        .filter(|title| !title.is_empty())
        .into_iter()
        .chain(&table.cautions)
        .cloned()
        .collect();
    write_notes(&head, screen, out)?;
    let continues = !table.rows().is_empty() || !table.notes.is_empty();
    if continues && !head.is_empty() {
        writeln!(out)?;
    }
    if !table.rows().is_empty() {
        for line in draw(table, screen).to_string().lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    if !table.notes.is_empty() && !table.rows().is_empty() {
        writeln!(out)?;
    }
    let hidden = hidden(whole, table);
    // Legends of columns that are not shown.
    let notes = table.notes.iter().filter(|note| {
        let mut hidden = hidden.iter();
        !hidden.any(|title| {
            note.strip_prefix(title)
                .is_some_and(|rest| rest.starts_with(':'))
        })
    });
    write_notes(&notes.cloned().collect::<Vec<_>>(), screen, out)?;
    write_notes(&left_out(whole, &hidden), screen, out)
}

fn hidden<'a>(whole: &'a Table, shown: &Table) -> Vec<&'a str> {
    let titles = whole.columns().iter().map(|column| column.title.as_str());
    titles
        .filter(|title| {
            !title.is_empty() && !shown.columns().iter().any(|column| column.title == **title)
        })
        .collect()
}

fn left_out(whole: &Table, titles: &[&str]) -> Vec<String> {
    let titles = titles.join(", ");
    let all: Vec<usize> = (0..whole.columns().len()).collect();
    let width = total(&all, |i| comfortable(whole, i));
    let note = format!("Not shown for lack of room: {titles} (COLUMNS={width} shows all).");
    if titles.is_empty() {
        Vec::new()
    } else {
        vec![note]
    }
}

pub fn write_notes(lines: &[String], screen: Screen, out: &mut dyn Write) -> Result<()> {
    lines
        .iter()
        .try_for_each(|note| write_note(note, screen.width, out))
}

pub fn write_heading(title: &str, what: &str, screen: Screen, out: &mut dyn Write) -> Result<()> {
    write_lines(
        wrapped(
            &format!("{title}: {what}"),
            screen.width.map_or(usize::MAX, usize::from),
            "",
            "",
        ),
        out,
    )
}

/// Labels in a column of their own, with the texts wrapped beside them.
pub fn write_facts(facts: &[(&str, String)], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let label = facts
        .iter()
        .map(|(label, _)| label.chars().count() + 2)
        .max()
        .unwrap_or(0);
    let width = screen.width.map_or(usize::MAX, |width| {
        usize::from(width).max(label + NARROWEST)
    });
    write_lines(
        facts.iter().flat_map(|(name, text)| {
            wrapped(text, width, &format!("{name:label$}"), &" ".repeat(label))
        }),
        out,
    )
}

/// Line ends inside a line are replaced.
pub fn write_lines(
    lines: impl IntoIterator<Item = impl AsRef<str>>,
    out: &mut dyn Write,
) -> Result<()> {
    lines
        .into_iter()
        .try_for_each(|line| Ok(writeln!(out, "{}", clean::line(line.as_ref()))?))
}

const NARROWEST_TREE: usize = 40;
/// Width of a number, and the most levels that are indented.
const NUMBER: usize = 8;
const DEEPEST: usize = 24;

/// A name that is too long is cut, what stands behind it is not.
pub fn tree_lines(titles: &[&str], branches: &[Branch], width: Option<u16>) -> Vec<String> {
    let width = width.map_or(usize::MAX, |width| usize::from(width).max(NARROWEST_TREE));
    let numbers: String = titles
        .iter()
        .map(|title| format!("{title:>NUMBER$}"))
        .collect();
    let mut lines = vec![format!("{numbers}  name")];
    branches
        .iter()
        .for_each(|branch| add_lines(branch, 0, width, &mut lines));
    lines
}

fn add_lines(branch: &Branch, depth: usize, width: usize, lines: &mut Vec<String>) {
    let numbers: String = branch
        .numbers
        .iter()
        .map(|number| format!("{number:>NUMBER$}"))
        .collect();
    let before = format!("{numbers}  {}", "  ".repeat(depth.min(DEEPEST)));
    let room = width
        .saturating_sub(before.len() + branch.times.len())
        .max(NUMBER);
    lines.push(format!(
        "{before}{}{}",
        clean::cut(&clean::line(&branch.name), room),
        branch.times
    ));
    branch
        .below
        .iter()
        .for_each(|below| add_lines(below, depth + 1, width, lines));
}

/// First expendable columns go until wrapping ones are comfortably wide, then yielding ones until each has its least width.
pub fn fit(table: &Table, width: Option<u16>) -> Table {
    let mut keep: Vec<usize> = (0..table.columns().len()).collect();
    let Some(width) = width.map(usize::from) else {
        return table.select(&keep);
    };
    let columns = table.columns();
    leave_out(
        &mut keep,
        0,
        |keep| total(keep, |i| comfortable(table, i)) > width,
        |i| columns[i].expendable,
    );
    // Several wrapping columns are prose, which is not dropped to fit the screen.
    if keep.iter().filter(|i| columns[**i].wraps).count() <= 1 {
        leave_out(
            &mut keep,
            FEWEST_COLUMNS,
            |keep| total(keep, |i| least(table, i)) > width,
            |i| 1 + columns[i].yields,
        );
    }
    table.select(&keep)
}

/// Each part has the first column; cautions come first, notes last. A table with expendable columns loses those instead.
pub fn pages(table: &Table, width: Option<u16>) -> Vec<Table> {
    if table.columns().iter().any(|column| column.expendable > 0) {
        return vec![table.clone()];
    }
    let limit = width.map_or(usize::MAX, usize::from);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for column in 1..table.columns().len() {
        let needs = widest(table, column) + 2;
        if used.saturating_add(needs) > limit || parts.is_empty() {
            parts.push(vec![0]);
            used = widest(table, 0);
        }
        used += needs;
        parts
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|part| part.push(column));
    }
    let last = parts.len().saturating_sub(1);
    parts
        .iter()
        .enumerate()
        .map(|(i, part)| {
            let page = table.select(part);
            let page = if i == 0 {
                page
            } else {
                page.cautioned([""; 0])
            };
            if i == last { page } else { page.noted([""; 0]) }
        })
        .collect()
}

/// Whether it fits without dropping any but expendable columns.
pub fn fits(table: &Table, width: u16) -> bool {
    text_width(table) <= width.into()
}

/// The least width of the columns that are never dropped.
pub fn text_width(table: &Table) -> usize {
    let keep: Vec<usize> = (0..table.columns().len())
        .filter(|i| table.columns()[*i].expendable == 0)
        .collect();
    total(&keep, |i| least(table, i))
}

const FEWEST_COLUMNS: usize = 2;

/// The column of the highest rank goes, the rightmost of several; never one of rank 0 or the first, which names the rows.
fn leave_out(
    keep: &mut Vec<usize>,
    fewest: usize,
    is_too_wide: impl Fn(&[usize]) -> bool,
    rank: impl Fn(usize) -> u8,
) {
    while keep.len() > fewest && is_too_wide(keep) {
        let Some(last) = keep
            .iter()
            .copied()
            .skip(1)
            .filter(|i| rank(*i) > 0)
            .max_by_key(|i| (rank(*i), *i))
        else {
            break;
        };
        keep.retain(|i| *i != last);
    }
}

fn total(keep: &[usize], width: impl Fn(usize) -> usize) -> usize {
    keep.iter()
        .map(|i| width(*i) + 2)
        .sum::<usize>()
        .saturating_sub(2)
}

/// Wrapping columns are not made narrower than this to keep an expendable one.
const NARROWEST: usize = 18;

fn comfortable(table: &Table, i: usize) -> usize {
    if table.columns()[i].wraps {
        widest(table, i).min(NARROWEST).max(least(table, i))
    } else {
        widest(table, i)
    }
}

/// Names in the first column are broken only if they are longer than this; other wrapping columns have room for an
/// entry and its count, such as `openat x1`.
const LONGEST_NAME: usize = 30;
const LEAST_WRAPPED: usize = 14;

fn least(table: &Table, i: usize) -> usize {
    match (i, table.columns()[i].wraps) {
        (0, _) => longest_word(table, i).min(LONGEST_NAME),
        (_, true) => widest(table, i).min(LEAST_WRAPPED),
        (_, false) => widest(table, i),
    }
}

fn longest_word(table: &Table, i: usize) -> usize {
    table
        .rows()
        .iter()
        .map(|row| row[i].text.as_str())
        .chain([table.columns()[i].title.as_str()])
        .flat_map(str::split_whitespace)
        .map(|word| word.chars().count())
        .max()
        .unwrap_or(0)
}

fn widest(table: &Table, i: usize) -> usize {
    table
        .rows()
        .iter()
        .map(|row| row[i].text.chars().count().min(LONGEST_CELL))
        .chain([table.columns()[i].title.chars().count()])
        .max()
        .unwrap_or(0)
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
    // By default the table inspects standard output, and writes bold and empty sequences under NO_COLOR.
    if screen.colour {
        drawn.enforce_styling()
    } else {
        drawn.force_no_tty()
    };
    drawn.set_header(
        table
            .columns()
            .iter()
            .map(|c| cell(&c.title, Style::Heading, c.align)),
    );
    for row in table.rows() {
        drawn.add_row(
            row.iter()
                .zip(table.columns())
                .map(|(c, column)| cell(&c.text, c.style, column.align)),
        );
    }
    let all: Vec<usize> = (0..table.columns().len()).collect();
    let narrow = screen
        .width
        .is_some_and(|width| total(&all, |i| comfortable(table, i)) > usize::from(width));
    for (i, column) in drawn.column_iter_mut().enumerate() {
        let padding = if i + 1 == all.len() { 0 } else { 2 };
        // Names are broken only if no other column can be narrower.
        column.set_constraint(if table.columns()[i].wraps || (i == 0 && narrow) {
            ColumnConstraint::LowerBoundary(Width::Fixed((least(table, i) + padding) as u16))
        } else {
            ColumnConstraint::ContentWidth
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
    match (style, style.colour()) {
        (_, Some(colour)) => cell.fg(Color::AnsiValue(colour)),
        (Style::Heading, _) => cell.add_attribute(Attribute::Bold),
        (Style::Faint, _) => cell.add_attribute(Attribute::Dim),
        _ => cell,
    }
}

/// CSV and JSON have longer names in full.
fn shown(cell: &str) -> String {
    clean::line(&clean::cut(cell, LONGEST_CELL))
}

fn write_note(note: &str, width: Option<u16>, out: &mut dyn Write) -> Result<()> {
    let note = clean::line(&clean::cut(note, LONGEST_NOTE));
    let lines = wrapped(&note, width.map_or(usize::MAX, usize::from), "", "  ");
    lines
        .iter()
        .try_for_each(|line| Ok(writeln!(out, "{line}")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Columns;

    /// A command that cannot be broken, what races are about, and a legend.
    #[test]
    fn a_narrow_screen_keeps_the_last_column_and_only_legends_of_what_it_shows() {
        let rows = ["python3 /usr/share/project/x.py"];
        let table = Columns::new(&rows)
            .left("command", |row| *row)
            .wrapping()
            .right("wall ms", |_| "25.688")
            .right("peak MB", |_| "21.90")
            .expendable(3)
            .left("time ratio", |_| "0.484 (0.38 .. 0.62) faster")
            .table()
            .noted(["peak MB: at most", "wall: the mean"]);
        let screen = Screen {
            width: Some(66),
            colour: false,
            plots: false,
            ascii: false,
        };
        let mut text = Vec::new();
        write(&table, screen, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("time ratio") && text.contains("wall: the mean"),
            "{text}"
        );
        assert!(
            !text.contains("21.90") && !text.contains("at most"),
            "{text}"
        );
    }

    #[test]
    fn lines_of_a_tree_fit_the_screen_and_keep_what_is_behind_the_name() {
        let below = Branch {
            name: "very_long_".repeat(12),
            times: " x3".into(),
            numbers: vec!["5".into()],
            ..Branch::default()
        };
        let root = Branch {
            name: "run".into(),
            numbers: vec!["12".into()],
            below: vec![below],
            ..Branch::default()
        };
        let lines = tree_lines(&["total"], &[root], Some(60));
        assert_eq!(lines[..2], ["   total  name", "      12  run"]);
        assert!(
            lines[2].chars().count() <= 60
                && lines[2].starts_with("       5    very_")
                && lines[2].ends_with(" x3")
        );
    }
}
