//! The table of a run in several environments: a row a case, a column each for what the environments cost.

use super::numbers::{entries, nanoseconds};
use super::run_columns::{Line, precision_cell};
use super::study_words::{self, Scaled};
use super::{Cell, Spec, Style, Table};
use crate::model::Case;
use crate::summary::{Row, Summary};
use indexmap::{IndexMap, IndexSet};

/// Environments that stand side by side; of more, each record has a row of its own.
pub const MOST_ENVIRONMENTS: usize = 32;

/// The environments of a summary's rows, in their order.
pub fn environments(summary: &Summary) -> Vec<&str> {
    let environments: IndexSet<&str> = summary.rows.iter().map(|row| row.case.environment.as_str()).collect();
    environments.into_iter().collect()
}

/// The lines of one case, or of what is derived, whatever they run in.
type Group<'a> = Vec<Line<'a>>;

/// The table for people, without title and notes; `lines` in the order to be shown.
pub fn environment_table(summary: &Summary, lines: &[Line]) -> Table {
    let scaled = Scaled::of(summary);
    let mut specs = vec![Spec::left("operation", |group: &Group| group.first().map_or(Cell::default(), Line::name))];
    for environment in environments(summary) {
        let there = move |group: &Group, cell: &dyn Fn(&Line) -> Cell| {
            group.iter().find(|line| line.environment() == environment).map_or(Cell::default(), cell)
        };
        specs.push(Spec::right(&format!("{environment} ns/op"), move |group| there(group, &cost)));
        specs.push(Spec::right("±", move |group| there(group, &precision)).expendable(2));
        specs.extend(scaled.as_ref().map(|scaled| {
            let heading = format!("{environment} {}", scaled.heading());
            Spec::right(&heading, move |group| there(group, &|line| scaled.line(line))).expendable(1)
        }));
    }
    specs.push(Spec::left("kernel entries", entries_cell).wrapping());
    Table::of(&specs, &grouped(lines))
}

/// Neighbours or not, those of one case together, in the order of the first of each.
fn grouped<'a>(lines: &[Line<'a>]) -> Vec<Group<'a>> {
    let mut groups: IndexMap<_, Group> = IndexMap::new();
    lines.iter().for_each(|line| groups.entry(key(line)).or_default().push(*line));
    groups.into_values().collect()
}

/// What is equal of lines that differ in their environment alone.
fn key(line: &Line) -> (Option<u8>, Case) {
    match line {
        Line::Record(row) => (None, Case { environment: String::new(), ..row.case.clone() }),
        Line::Derived(row) => (Some(row.combination as u8), study_words::derived_case(row)),
    }
}

fn cost(line: &Line) -> Cell {
    match line {
        Line::Record(row) => match &row.figure {
            Ok(figure) => Cell::number(nanoseconds(figure.median.0), figure.median.0),
            Err(_) => Cell::styled("failed", Style::Bad),
        },
        Line::Derived(row) => study_words::derived_value(row),
    }
}

fn precision(line: &Line) -> Cell {
    match line {
        Line::Record(row) => row.figure.as_ref().map_or(Cell::default(), precision_cell),
        Line::Derived(row) => study_words::derived_precision(row),
    }
}

/// The entries once where all environments agree, else those of each.
fn entries_cell(group: &Group) -> Cell {
    let cells: Vec<(&str, Cell)> =
        group.iter().filter_map(|line| Some((line.environment(), entries_of(line)?))).collect();
    match cells.first() {
        None => Cell::default(),
        Some((_, first)) if cells.iter().all(|(_, cell)| cell == first) => first.clone(),
        Some(_) => {
            let each = cells.iter().map(|(environment, cell)| format!("{environment}: {}", cell.text));
            Cell::from(each.collect::<Vec<_>>().join("; "))
        }
    }
}

/// `None` for a record that failed.
fn entries_of(line: &Line) -> Option<Cell> {
    let Line::Record(row) = line else { return Some(line.entries()) };
    row.figure.as_ref().ok()?;
    let text = row.entries.as_ref().map_or("unverified".to_string(), entries);
    Some(Cell::styled(text.clone(), if text == "none" { Style::Good } else { Style::Plain }))
}

/// Why cases failed, by environment: the cells have no room for it.
pub fn failures(rows: &[&Row]) -> Vec<String> {
    let failed = rows.iter().filter_map(|row| Some((row, row.figure.as_ref().err()?)));
    failed.map(|(row, failure)| format!("{} in {}: {failure}", row.case, row.case.environment)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::run_columns::lines;
    use super::*;
    use crate::model::fixtures::{entering, run};
    use crate::model::{Failure, FailureKind, Outcome, Record};
    use crate::summary::summarize;

    fn record(environment: &str, entries: &[(&str, f64)]) -> Record {
        let mut record = entering("call.getpid", 100, entries);
        record.case.environment = environment.into();
        record
    }

    #[test]
    fn environments_are_columns_and_entries_are_told_apart() {
        let mut failed = record("m32", &[]);
        failed.outcome = Outcome::Failed(Failure::new(FailureKind::Unsupported, "no compiler"));
        let native = record("native", &[("getpid", 1.0)]);
        let summary = summarize(&run(vec![native, record("static", &[("getpid", 2.0)]), failed]));
        let rows: Vec<&Row> = summary.rows.iter().collect();
        let table = environment_table(&summary, &lines(&summary, &rows));
        let text: Vec<&str> = table.rows()[0].iter().map(|cell| cell.text.as_str()).collect();
        let entries = "native: getpid x1; static: getpid x2";
        assert_eq!(text, ["call.getpid", "100.0", "0.0%", "100.0", "0.0%", "failed", "", entries]);
        assert_eq!(table.columns()[5].title, "m32 ns/op");
        assert_eq!(failures(&rows), ["call.getpid in m32: no compiler"]);
        let same = summarize(&run(vec![record("native", &[]), record("static", &[])]));
        let rows: Vec<&Row> = same.rows.iter().collect();
        assert_eq!(environment_table(&same, &lines(&same, &rows)).rows()[0][5].text, "none");
    }
}
