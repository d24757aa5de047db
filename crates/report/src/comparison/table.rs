//! A comparison as a document. For two files, a row has both figures and the ratio; for more, figures and ratios are
//! separate tables, which are split on narrow screens. Each scale of a study has its own table, as in its article.

use crate::comparison::notes::notes;
use crate::comparison::row::{self as words, Names};
use crate::comparison::{cautions, csv, gate};
use crate::numbers::{per_operation, thousands};
use analysis::compare::{ComparedDerived, ComparedRow, Comparison, Mark, Verdict};
use document::{Block, Cell, Columns, Document, Filter, Style, Table};
use indexmap::IndexMap;
use model::{Combination, Scale, Unit};
use std::collections::HashSet;

/// The gate's verdict, cautions, tables and notes.
pub fn comparison_document(comparison: &Comparison) -> Document {
    let mut blocks = vec![
        Block::Message(gate::verdict(comparison)),
        Block::Cautions(cautions::lines(comparison)),
    ];
    blocks.extend(tables(comparison).into_iter().map(Block::Pages));
    blocks.push(Block::Notes(notes(comparison)));
    Document {
        blocks,
        records: csv::records(comparison),
    }
}

fn tables(comparison: &Comparison) -> Vec<Table> {
    let names = Names::new(comparison);
    let table = if comparison.columns.len() == 2 {
        pair_table
    } else {
        cost_table
    };
    let groups = groups(comparison, &names);
    let mut tables: Vec<Table> = groups
        .iter()
        .map(|(unit, lines)| table(comparison, unit, lines))
        .collect();
    if comparison.columns.len() > 2 && !comparison.rows.is_empty() {
        tables.push(ratio_table(comparison, &names));
    }
    if !comparison.areas.is_empty() {
        tables.push(mean_table(comparison));
    }
    tables
}

struct Line<'a> {
    name: Cell,
    costs: Vec<Cell>,
    /// `None` for derived rows.
    row: Option<&'a ComparedRow>,
}

impl Line<'_> {
    /// A cell of the verdict on `file`; empty for derived rows.
    fn cell(&self, file: usize, cell: impl Fn(&Verdict) -> Cell) -> Cell {
        self.row.map(|row| cell(&row.verdicts[file])).into()
    }
}

const KINDS: &[(&str, &str)] = &[
    ("slower", "slower"),
    ("faster", "faster"),
    ("other", "other work"),
];

const IS_KIND: [fn(&Verdict) -> bool; 3] = [
    |verdict| verdict.mark().is_some_and(Mark::is_worse),
    |verdict| verdict.mark().is_some_and(Mark::is_better),
    |verdict| matches!(verdict, Verdict::DifferentWork(_)),
];

fn filter<'r>(rows: impl Iterator<Item = Option<&'r ComparedRow>>) -> Filter {
    Filter {
        kinds: KINDS,
        rows: rows
            .map(|row| row.map_or_else(Default::default, |row| (row.area.clone(), kinds(row))))
            .collect(),
    }
}

fn kinds(row: &ComparedRow) -> Vec<&'static str> {
    let kinds = KINDS.iter().zip(IS_KIND);
    let kinds = kinds.filter(|(_, is_kind)| row.verdicts.iter().any(*is_kind));
    kinds.map(|((kind, _), _)| *kind).collect()
}

fn groups<'a>(comparison: &'a Comparison, names: &Names) -> IndexMap<String, Vec<Line<'a>>> {
    let emulated: HashSet<&str> = comparison
        .rows
        .iter()
        .filter(|row| row.is_in_instructions())
        .map(|row| row.key.environment.as_str())
        .collect();
    let measured = comparison.rows.iter().map(|row| {
        // Failed rows have no unit: they stand with the other rows of their environment.
        let failed_there = row.is_without_time() && emulated.contains(row.key.environment.as_str());
        measured_line(comparison, row, names, failed_there)
    });
    let derived = comparison.derived.iter();
    let derived = derived.map(|row| derived_line(comparison, row, names));
    let mut groups: IndexMap<String, Vec<Line>> = IndexMap::new();
    for (group, line) in measured.chain(derived) {
        groups.entry(group).or_default().push(line);
    }
    groups
}

/// `s for 67,108,864 calls`, `ns/op` or `instr/op`.
fn unit(scale: Option<&Scale>, in_instructions: bool) -> String {
    match scale {
        _ if in_instructions => per_operation(Unit::Instructions),
        Some(scale) => format!("{} for {} calls", scale.unit, thousands(scale.calls as f64)),
        None => per_operation(Unit::Nanoseconds),
    }
}

fn measured_line<'a>(
    comparison: &Comparison,
    row: &'a ComparedRow,
    names: &Names,
    in_instructions: bool,
) -> (String, Line<'a>) {
    let scale = words::scale(comparison, row);
    let files = 0..comparison.columns.len();
    let line = Line {
        name: names.row(row).into(),
        costs: files.map(|file| words::cost(row, file, scale)).collect(),
        row: Some(row),
    };
    (unit(scale, in_instructions), line)
}

fn derived_line<'a>(
    comparison: &Comparison,
    row: &ComparedDerived,
    names: &Names,
) -> (String, Line<'a>) {
    // A ratio has no unit: it belongs to the table of the rows that it is derived from.
    let scale = if row.combination == Combination::Ratio {
        let study = comparison.study.as_ref();
        study.and_then(|study| study.scale(&row.pair[0]))
    } else {
        row.scale.as_ref()
    };
    let files = 0..comparison.columns.len();
    let line = Line {
        name: Cell::styled(names.derived(row), Style::Heading),
        costs: files.map(|file| words::derived(row, file)).collect(),
        row: None,
    };
    (unit(scale, row.unit == Unit::Instructions), line)
}

fn cost_table(comparison: &Comparison, unit: &str, lines: &[Line]) -> Table {
    let mut columns = Columns::new(lines).left("operation", |line| &line.name);
    for file in 0..comparison.columns.len() {
        columns = columns.right(comparison.label(file), |line| &line.costs[file]);
    }
    columns
        .table()
        .titled(unit)
        .filtered(filter(lines.iter().map(|line| line.row)))
}

/// Both costs, and the ratio or, of instructions, the difference.
fn pair_table(comparison: &Comparison, unit: &str, lines: &[Line]) -> Table {
    let other = 1 - comparison.baseline;
    let exact = unit == per_operation(Unit::Instructions);
    let moved = comparison.reference[other]
        .mark()
        .is_some_and(Mark::is_change);
    Columns::new(lines)
        .left("operation", |line| &line.name)
        .wrapping()
        .right(comparison.label(comparison.baseline), |line| {
            &line.costs[comparison.baseline]
        })
        .yielding(1)
        .right(comparison.label(other), |line| &line.costs[other])
        .yielding(1)
        .right("ratio", |line| line.cell(other, words::ratio))
        .shown_if(!exact)
        .right("95% interval", |line| line.cell(other, words::interval))
        .expendable(2)
        .shown_if(!exact)
        .right("difference", |line| line.cell(other, words::difference))
        .shown_if(exact)
        .right("percent", |line| {
            line.cell(other, words::difference_percent)
        })
        .expendable(1)
        .shown_if(exact)
        .left("verdict", |line| line.cell(other, words::mark))
        .right("/getppid", |line| {
            line.cell(other, |verdict| {
                Cell::known(verdict.relative(), words::number)
            })
        })
        .expendable(1)
        .shown_if(moved && !exact)
        .table()
        .titled(unit)
        .filtered(filter(lines.iter().map(|line| line.row)))
}

/// With this many files or more, intervals would make the table too wide.
const MANY: usize = 5;

fn ratio_table(comparison: &Comparison, names: &Names) -> Table {
    let short = comparison.columns.len() >= MANY;
    let cell = if short {
        words::short_verdict
    } else {
        words::verdict
    };
    let mut columns = Columns::new(&comparison.rows).left("operation", |row| names.row(row));
    for column in comparison.others() {
        let label = comparison.label(column);
        columns = columns
            .right(label, |row| cell(&row.verdicts[column]))
            .wrapping();
    }
    let known = comparison
        .rows
        .iter()
        .flat_map(|row| &row.verdicts)
        .any(|verdict| verdict.low_high().is_some());
    let what = match (known, short) {
        (false, _) => "",
        (true, true) => ", '~' if too uncertain",
        (true, false) => ", with 95% interval",
    };
    let title = format!("ratio to {}{what}", comparison.label(comparison.baseline));
    columns
        .table()
        .titled(title)
        .filtered(filter(comparison.rows.iter().map(Some)))
}

fn mean_table(comparison: &Comparison) -> Table {
    let mut columns = Columns::new(&comparison.areas)
        .left("area", |area| area.area.as_deref().unwrap_or("all"))
        .right("rows", |area| {
            Cell::number(area.rows.to_string(), area.rows as f64)
        });
    for column in comparison.others() {
        columns = columns.right(comparison.label(column), |area| {
            Cell::known(area.ratios[column], words::number)
        });
    }
    let title = format!(
        "geometric mean of the ratios to {}",
        comparison.label(comparison.baseline)
    );
    columns.table().titled(title)
}
