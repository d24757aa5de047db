//! The table of a run in several environments: a row a case, a column each for what the environments cost.

use super::numbers::{entries, nanoseconds, percent};
use super::study_words::{self, Scaled};
use super::{Cell, Column, Style, Table};
use crate::derive::DerivedRow;
use crate::model::{Case, Entries};
use crate::summary::{Row, Summary};
use indexmap::{IndexMap, IndexSet};
use std::hash::Hash;

/// Environments that stand side by side; of more, each record has a row of its own.
pub const MOST_ENVIRONMENTS: usize = 32;

/// The environments of a summary's rows, in their order.
pub fn environments(summary: &Summary) -> Vec<&str> {
    let environments: IndexSet<&str> = summary.rows.iter().map(|row| row.case.environment.as_str()).collect();
    environments.into_iter().collect()
}

/// The table, without title and notes; `rows` in the order to be shown.
pub fn environment_table(summary: &Summary, rows: &[&Row]) -> Table {
    let environments = environments(summary);
    let scaled = Scaled::of(summary);
    let mut columns = vec![Column::left("operation")];
    for environment in &environments {
        columns.push(Column::right(&format!("{environment} ns/op")));
        columns.push(Column::right("±").expendable(2));
        let heading = |scaled: &Scaled| Column::right(&format!("{environment} {}", scaled.heading())).expendable(1);
        columns.extend(scaled.as_ref().map(heading));
    }
    columns.push(Column::left("kernel entries").wrapping());
    let groups = grouped(rows, |row| named(&row.case));
    let mut lines: Vec<Vec<Cell>> = groups.iter().map(|group| line(group, &environments, scaled.as_ref())).collect();
    let derived: Vec<&DerivedRow> = summary.derived.iter().collect();
    let groups = grouped(&derived, |row| (row.name.clone(), row.params.clone(), row.combination as u8));
    lines.extend(groups.iter().map(|group| derived_line(group, &environments, scaled.as_ref())));
    Table { title: String::new(), columns, rows: lines, notes: Vec::new() }
}

/// What is one row: the case whatever it runs in.
fn named(case: &Case) -> Case {
    Case { environment: String::new(), ..case.clone() }
}

/// Neighbours or not, those with one key together, in the order of the first of each.
fn grouped<'a, T, K: Eq + Hash>(items: &[&'a T], key: impl Fn(&T) -> K) -> Vec<Vec<&'a T>> {
    let mut groups: IndexMap<K, Vec<&'a T>> = IndexMap::new();
    items.iter().for_each(|item| groups.entry(key(item)).or_default().push(item));
    groups.into_values().collect()
}

fn line(group: &[&Row], environments: &[&str], scaled: Option<&Scaled>) -> Vec<Cell> {
    let mut cells = vec![Cell::from(group[0].case.to_string())];
    for environment in environments {
        let row = group.iter().find(|row| row.case.environment == *environment);
        cells.extend(figures(row.copied()));
        cells.extend(scaled.map(|scaled| row.map_or(Cell::default(), |row| scaled.row(row))));
    }
    cells.push(entries_cell(group));
    cells
}

fn figures(row: Option<&Row>) -> [Cell; 2] {
    match row.map(|row| &row.figure) {
        None => [Cell::default(), Cell::default()],
        Some(Err(_)) => [Cell::styled("failed", Style::Bad), Cell::default()],
        Some(Ok(figure)) => [
            Cell::number(nanoseconds(figure.median.0), figure.median.0),
            figure.half_width_percent().map_or(Cell::from("?"), |p| Cell::number(format!("{}%", percent(p)), p)),
        ],
    }
}

/// The entries once where all environments agree, else those of each.
fn entries_cell(group: &[&Row]) -> Cell {
    let text = |counted: Option<&Entries>| counted.map_or("unverified".to_string(), entries);
    let measured: Vec<&&Row> = group.iter().filter(|row| row.figure.is_ok()).collect();
    let texts: Vec<String> = measured.iter().map(|row| text(row.entries.as_ref())).collect();
    match texts.first() {
        None => Cell::default(),
        Some(first) if texts.iter().all(|text| text == first) => {
            Cell::styled(first.clone(), if first == "none" { Style::Good } else { Style::Plain })
        }
        Some(_) => {
            let each = measured.iter().zip(&texts).map(|(row, text)| format!("{}: {text}", row.case.environment));
            Cell::from(each.collect::<Vec<_>>().join("; "))
        }
    }
}

fn derived_line(group: &[&DerivedRow], environments: &[&str], scaled: Option<&Scaled>) -> Vec<Cell> {
    let mut cells = vec![study_words::derived_name(group[0])];
    for environment in environments {
        let row = group.iter().find(|row| row.environment == *environment);
        let [value, _, half] = row.map_or_else(Default::default, |row| study_words::derived_figures(row));
        cells.extend([value, half]);
        cells.extend(scaled.map(|scaled| row.map_or(Cell::default(), |row| scaled.derived(row))));
    }
    let texts: Vec<Cell> = group.iter().map(|row| study_words::derived_entries(row)).collect();
    let same = texts.iter().all(|cell| *cell == texts[0]);
    let each = || group.iter().zip(&texts).map(|(row, cell)| format!("{}: {}", row.environment, cell.text));
    cells.push(if same { texts[0].clone() } else { Cell::from(each().collect::<Vec<_>>().join("; ")) });
    cells
}

/// Why cases failed, by environment: the cells have no room for it.
pub fn failures(rows: &[&Row]) -> Vec<String> {
    let failed = rows.iter().filter_map(|row| Some((row, row.figure.as_ref().err()?)));
    failed.map(|(row, failure)| format!("{} in {}: {failure}", row.case, row.case.environment)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Block, EntriesStatus, Failure, FailureKind, Measurement, Outcome, Record, Role};
    use crate::summary::{summarize, tests::run};

    fn record(environment: &str, entries: &[(&str, f64)]) -> Record {
        let block = |_| Block { launch: 0, slots: vec![vec![100]] };
        let blocks = (0..12).map(block).collect();
        Record {
            case: Case { environment: environment.into(), ..Case::native("call.getpid") },
            role: Role::Asked,
            outcome: Outcome::Measured(Measurement { iterations: 1, blocks, ..Measurement::default() }),
            entries: Some(entries.iter().map(|(name, count)| (name.to_string(), *count)).collect()),
            entries_status: EntriesStatus::Verified,
            mode_samples: None,
            warnings: vec![],
        }
    }

    #[test]
    fn environments_are_columns_and_entries_are_told_apart() {
        let mut failed = record("m32", &[]);
        failed.outcome = Outcome::Failed(Failure::new(FailureKind::Unsupported, "no compiler"));
        let native = record("native", &[("getpid", 1.0)]);
        let summary = summarize(&run(vec![native, record("static", &[("getpid", 2.0)]), failed]));
        let rows: Vec<&Row> = summary.rows.iter().collect();
        let table = environment_table(&summary, &rows);
        let text: Vec<&str> = table.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        let entries = "native: getpid x1; static: getpid x2";
        assert_eq!(text, ["call.getpid", "100.0", "0.0%", "100.0", "0.0%", "failed", "", entries]);
        assert_eq!(table.columns[5].title, "m32 ns/op");
        assert_eq!(failures(&rows), ["call.getpid in m32: no compiler"]);
        let same = summarize(&run(vec![record("native", &[]), record("static", &[])]));
        let rows: Vec<&Row> = same.rows.iter().collect();
        assert_eq!(environment_table(&same, &rows).rows[0][5].text, "none");
    }
}
