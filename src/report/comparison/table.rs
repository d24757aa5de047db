//! The tables of a comparison. For two files, a row has both costs and the ratio; for more, costs and ratios are
//! separate tables, which are split on narrow screens. Each scale of a study has its own table, as in its article.

use crate::compare::{AreaMean, ComparedRow, Comparison, CountRatio, Mark, Verdict};
use crate::model::{Combination, Scale, Unit};
use crate::report::comparison::cautions;
use crate::report::comparison::gate;
use crate::report::comparison::notes::notes;
use crate::report::comparison::row::{self as words, Names};
use crate::report::numbers::thousands;
use crate::report::{Cell, Format, Screen, Spec, Style, Table, pages, write_notes, write_table};
use anyhow::Result;
use indexmap::IndexMap;
use std::collections::HashSet;
use std::io::Write;

/// Writes a comparison for people: cautions, tables, notes. CSV and JSON have their own functions.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_comparison(comparison: &Comparison, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    // On a terminal the verdict is a message, which a Markdown page would lack.
    if format == Format::Markdown {
        write_notes(&gate::verdict(comparison), format, screen, out)?;
    }
    write_notes(&cautions(comparison), format, screen, out)?;
    let width = screen.width.filter(|_| format == Format::Text);
    let tables = tables(comparison);
    for (i, table) in tables.iter().enumerate() {
        // The table of two files leaves out columns to fit; all others are split.
        let pair = table.columns().iter().any(|column| column.expendable > 0);
        let parts = if pair { vec![table.clone()] } else { pages(table, width) };
        for (j, part) in parts.iter().enumerate() {
            if i + j > 0 {
                writeln!(out)?;
            }
            write_table(part, format, screen, out)?;
        }
    }
    let notes = notes(comparison);
    if !notes.is_empty() && !tables.is_empty() {
        writeln!(out)?;
    }
    write_notes(&notes, format, screen, out)
}

/// The cautions, followed by an empty line if there are any.
fn cautions(comparison: &Comparison) -> Vec<String> {
    let lines = cautions::lines(comparison).into_iter().map(|caution| format!("caution: {caution}"));
    let end = (!comparison.cautions.is_empty()).then(String::new);
    lines.chain(end).collect()
}

/// All tables of `comparison`, in order.
pub fn tables(comparison: &Comparison) -> Vec<Table> {
    let names = Names::of(comparison);
    let groups = groups(comparison, &names);
    let table = if comparison.columns.len() == 2 { pair_table } else { cost_table };
    let mut tables: Vec<Table> = groups.iter().map(|(key, group)| table(comparison, key, group)).collect();
    if comparison.columns.len() > 2 && !comparison.rows.is_empty() {
        tables.push(ratio_table(comparison, &names));
    }
    if !comparison.areas.is_empty() {
        tables.push(mean_table(comparison));
    }
    tables
}

/// What the rows of one table are in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Group {
    Nanoseconds,
    Instructions,
    /// Calls and unit of a scale.
    Scaled(u64, String),
}

/// A row of the tables of costs.
struct Line<'a> {
    name: Cell,
    /// One for each file.
    costs: Vec<Cell>,
    /// One for each file; empty for derived rows.
    verdicts: &'a [Verdict],
}

/// The rows by unit; derived rows come last.
fn groups<'a>(comparison: &'a Comparison, names: &Names) -> IndexMap<Group, Vec<Line<'a>>> {
    let key = |scale: Option<&Scale>| {
        scale.map_or(Group::Nanoseconds, |scale| Group::Scaled(scale.calls, scale.unit.clone()))
    };
    let files = 0..comparison.columns.len();
    let counted = comparison.rows.iter().filter(|row| row.is_in_instructions());
    let emulated: HashSet<&str> = counted.map(|row| row.key.environment.as_str()).collect();
    let mut groups: IndexMap<Group, Vec<Line>> = IndexMap::new();
    for row in &comparison.rows {
        let scale = words::scale(comparison, row);
        let costs = files.clone().map(|file| words::cost(row, file, scale)).collect();
        let line = Line { name: names.row(row).into(), costs, verdicts: &row.verdicts };
        // What failed stands with the others of its environment.
        let failed_there = row.is_without_time() && emulated.contains(row.key.environment.as_str());
        let group = if failed_there { Group::Instructions } else { key(scale) };
        groups.entry(group).or_default().push(line);
    }
    for row in &comparison.derived {
        // A ratio has no unit: it belongs to the table of the rows that it is derived from.
        let first = comparison.study.as_ref().and_then(|study| study.scale(&row.of[0]));
        let scale = if row.combination == Combination::Ratio { first } else { row.scale.as_ref() };
        let costs = files.clone().map(|file| words::derived(row, file)).collect();
        let line = Line { name: Cell::styled(names.derived(row), Style::Heading), costs, verdicts: &[] };
        let group = if row.unit == Unit::Instructions { Group::Instructions } else { key(scale) };
        groups.entry(group).or_default().push(line);
    }
    groups
}

/// `s for 67,108,864 calls`, `ns/op`, or `instr/op`.
fn unit(group: &Group) -> String {
    match group {
        Group::Scaled(calls, unit) => format!("{unit} for {} calls", thousands(*calls as f64)),
        Group::Nanoseconds => "ns/op".to_string(),
        Group::Instructions => "instr/op".to_string(),
    }
}

fn label(comparison: &Comparison, column: usize) -> &str {
    &comparison.columns[column].label
}

/// Costs by file.
fn cost_table(comparison: &Comparison, group: &Group, lines: &[Line]) -> Table {
    let mut specs = vec![Spec::left("operation", |line: &Line| line.name.clone())];
    specs.extend((0..comparison.columns.len()).map(|column| cost_column(comparison, column)));
    Table::of(&specs, lines).titled(unit(group))
}

fn cost_column<'l>(comparison: &Comparison, column: usize) -> Spec<'static, Line<'l>> {
    Spec::right(label(comparison, column), move |line: &Line| line.costs[column].clone())
}

/// Both costs, the ratio and the verdict.
fn pair_table(comparison: &Comparison, group: &Group, lines: &[Line]) -> Table {
    if *group == Group::Instructions {
        return pair_of_counts(comparison, group, lines);
    }
    let other = 1 - comparison.baseline;
    let relative =
        |verdict: &Verdict| verdict.relative().map_or(Cell::default(), |r| Cell::number(words::number(r), r));
    let said = |line: &Line, cell: &dyn Fn(&Verdict) -> Cell| line.verdicts.get(other).map_or(Cell::default(), cell);
    let specs = [
        Spec::left("operation", |line: &Line| line.name.clone()).wrapping(),
        cost_column(comparison, comparison.baseline).yielding(1),
        cost_column(comparison, other).yielding(1),
        Spec::right("ratio", |line: &Line| said(line, &words::ratio)),
        Spec::right("95% interval", |line: &Line| said(line, &words::interval)).expendable(2),
        Spec::left("verdict", |line: &Line| said(line, &words::mark)),
        Spec::right("/getppid", |line: &Line| said(line, &relative))
            .expendable(1)
            .shown_if(reference_moved(comparison, other)),
    ];
    Table::of(&specs, lines).titled(unit(group))
}

/// Both counts and their difference, which has no interval.
fn pair_of_counts(comparison: &Comparison, group: &Group, lines: &[Line]) -> Table {
    let other = 1 - comparison.baseline;
    let of = move |line: &Line, cell: fn(&CountRatio) -> Cell| {
        line.verdicts.get(other).and_then(Verdict::counts).map_or(Cell::default(), cell)
    };
    let said = move |line: &Line| line.verdicts.get(other).map_or(Cell::default(), words::mark);
    let specs = [
        Spec::left("operation", |line: &Line| line.name.clone()).wrapping(),
        cost_column(comparison, comparison.baseline).yielding(1),
        cost_column(comparison, other).yielding(1),
        Spec::right("difference", move |line: &Line| of(line, words::difference)),
        Spec::right("percent", move |line: &Line| of(line, words::difference_percent)).expendable(1),
        Spec::left("verdict", said),
    ];
    Table::of(&specs, lines).titled(unit(group))
}

/// Whether the cost of the reference call certainly differs between `column` and the baseline.
fn reference_moved(comparison: &Comparison, column: usize) -> bool {
    matches!(comparison.reference[column].mark(), Some(Mark::Faster | Mark::Slower))
}

fn others(comparison: &Comparison) -> impl Iterator<Item = usize> + Clone {
    let baseline = comparison.baseline;
    (0..comparison.columns.len()).filter(move |column| *column != baseline)
}

/// With this many files or more, intervals would make the table too wide.
const MANY: usize = 5;

fn ratio_table(comparison: &Comparison, names: &Names) -> Table {
    let short = comparison.columns.len() >= MANY;
    let cell = if short { words::short_verdict } else { words::verdict };
    let mut specs = vec![Spec::left("operation", |row: &ComparedRow| names.row(row).into())];
    specs.extend(others(comparison).map(|column| {
        Spec::right(label(comparison, column), move |row: &ComparedRow| cell(&row.verdicts[column])).wrapping()
    }));
    let known = comparison.rows.iter().flat_map(|row| &row.verdicts).any(|verdict| verdict.low_high().is_some());
    let what = match (known, short) {
        (false, _) => "",
        (true, true) => ", '~' where the runs cannot tell",
        (true, false) => ", with 95% interval",
    };
    let title = format!("ratio to {}{what}", label(comparison, comparison.baseline));
    Table::of(&specs, &comparison.rows).titled(title)
}

fn mean_table(comparison: &Comparison) -> Table {
    let number = |ratio: f64| Cell::number(words::number(ratio), ratio);
    let mut specs = vec![
        Spec::left("area", |area: &AreaMean| area.area.clone().unwrap_or("all".to_string()).into()),
        Spec::right("rows", |area: &AreaMean| Cell::number(area.rows.to_string(), area.rows as f64)),
    ];
    specs.extend(others(comparison).map(|column| {
        let cell = move |area: &AreaMean| area.ratios[column].map_or(Cell::default(), number);
        Spec::right(label(comparison, column), cell)
    }));
    let title = format!("geometric mean of the ratios to {}", label(comparison, comparison.baseline));
    Table::of(&specs, &comparison.areas).titled(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::synthetic::column;
    use crate::compare::{Column as Run, Options, compare};
    use crate::model::fixtures::record;
    use crate::model::{Block, Failure, FailureKind, Figure, Measurement, Nanos, Outcome, Record};
    use crate::report::{write_comparison_csv, write_json};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn outcome() -> impl Strategy<Value = Outcome> {
        let ns = prop_oneof![Just(0u64), Just(u64::MAX), 1..1000u64];
        let block = (0..4u32, vec(vec(ns, 0..3), 0..3)).prop_map(|(launch, slots)| Block { launch, slots });
        let measured = (0..3u64, vec(block, 0..14)).prop_map(|(iterations, blocks)| {
            Outcome::Measured(Measurement { iterations, blocks, ..Measurement::default() })
        });
        let figure = |ns| Figure { time: Nanos(ns), ..Figure::default() };
        let published = any::<f64>().prop_map(move |ns| Outcome::Published(figure(ns)));
        let failed = Just(Outcome::Failed(Failure::new(FailureKind::Failed, "no\u{1b}[2J")));
        prop_oneof![4 => measured, 2 => published, 1 => failed]
    }

    /// Every format of the comparison, one after the other.
    fn written(columns: &[Run], options: &Options, width: Option<u16>) -> String {
        let mut comparison = compare(columns, options);
        let mut out = Vec::new();
        for _ in 0..2 {
            for format in [Format::Text, Format::Markdown] {
                write_comparison(&comparison, format, Screen { width, colour: false }, &mut out).unwrap();
            }
            write_comparison_csv(&comparison, &mut out).unwrap();
            write_json(&comparison, &mut out).unwrap();
            comparison.keep_differing();
        }
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_runs_panic(
            runs in vec(vec(("[ab]|\\PC{0,9}", outcome()), 0..6), 0..4),
            labels in vec("\\PC{0,30}", 4),
            baseline in 0..5usize,
            margin in 0.0..2.0f64,
            width in proptest::option::of(40..200u16),
        ) {
            let record = |(operation, outcome): (String, Outcome)| Record { outcome, ..record(&operation, 1) };
            let columns: Vec<Run> = runs
                .into_iter()
                .zip(&labels)
                .map(|(records, label)| column(label, records.into_iter().map(record).collect()))
                .collect();
            let text = written(&columns, &Options { baseline, margin, ..Options::default() }, width);
            prop_assert!(!text.contains('\u{1b}'), "{}", text);
        }
    }
}
