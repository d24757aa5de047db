//! Machines over time: a table of changes for each machine, below it what else must be known; and the same as CSV.

use super::comparison_words::{number, share};
use super::condition_words::host_change;
use super::numbers::{date, nanoseconds};
use super::{Cell, Column, Format, Screen, Style, Table, write_notes, write_table};
use crate::compare::history::{Change, Machine, Series};
use crate::stats::FEWEST_RUNS;
use anyhow::Result;
use std::io::Write;

/// Writes the changes of `machines` for people; those up to `margin` (a share) were left out when they were made.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_history(
    machines: &[Machine],
    margin: f64,
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    for (i, machine) in machines.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        let table = table(machine, margin);
        match table.rows.is_empty() {
            false => write_table(&table, format, screen, out)?,
            true => {
                write_notes(&[table.title, String::new()], format, screen, out)?;
                write_notes(&table.notes, format, screen, out)?;
            }
        }
    }
    Ok(())
}

/// `vm: 24 runs, 2026-01-01 10:00 to 2026-03-01 10:00`
fn title(machine: &Machine) -> String {
    let ends = [machine.runs.first(), machine.runs.last()];
    let [first, last] = ends.map(|run| run.map_or(String::new(), |run| date(run.started_unix_s)));
    let runs = machine.runs.len();
    format!("{}: {runs} run{}, {first} to {last} UTC", machine.host, if runs == 1 { "" } else { "s" })
}

fn table(machine: &Machine, margin: f64) -> Table {
    let mut changes: Vec<(&Series, &Change)> =
        machine.series.iter().flat_map(|series| series.changes.iter().map(move |change| (series, change))).collect();
    changes.sort_by_key(|(_, change)| change.run);
    let columns = vec![
        Column::left("since (UTC)"),
        Column::left("operation"),
        Column::right("before ns"),
        Column::right("after ns"),
        Column::right("ratio"),
        Column::left("what changed there").wrapping(),
    ];
    let rows = changes.iter().map(|(series, change)| row(machine, series, change)).collect();
    Table { title: title(machine), columns, rows, notes: notes(machine, margin) }
}

fn row(machine: &Machine, series: &Series, change: &Change) -> Vec<Cell> {
    let style = if change.ratio() > 1.0 { Style::Bad } else { Style::Good };
    let what = match change.host_changes.is_empty() {
        true => "nothing that is known".to_string(),
        false => host_changes(change),
    };
    vec![
        Cell::from(date(machine.runs[change.run].started_unix_s)),
        Cell::from(name(machine, series)),
        Cell::from(nanoseconds(change.before_ns)),
        Cell::from(nanoseconds(change.after_ns)),
        Cell::styled(number(change.ratio()), style),
        Cell::from(what),
    ]
}

fn host_changes(change: &Change) -> String {
    change.host_changes.iter().map(host_change).collect::<Vec<_>>().join("; ")
}

/// With its environment where the machine has several.
fn name(machine: &Machine, series: &Series) -> String {
    let own = &series.key.environment;
    match machine.series.iter().all(|other| other.key.environment == *own) {
        true => series.key.to_string(),
        false => format!("{} ({own})", series.key),
    }
}

fn notes(machine: &Machine, margin: f64) -> Vec<String> {
    let long: Vec<&Series> = machine.series.iter().filter(|series| series.is_long_enough()).collect();
    let short = machine.series.len() - long.len();
    let still = long.iter().filter(|series| series.changes.is_empty()).count();
    let mut notes = Vec::new();
    if long.is_empty() {
        notes.push(format!("too few runs to find changes: {FEWEST_RUNS} of one operation are needed; measure more"));
        return notes;
    }
    notes.push(format!(
        "no change of more than {}: {still} of {} operations (E-divisive, permutation test at 1% for each change)",
        share(margin),
        long.len()
    ));
    if short > 0 {
        notes.push(format!("too few runs, {FEWEST_RUNS} are needed: {short} operations"));
    }
    notes
}

/// Writes a line for each change, exact numbers; times in seconds since 1970-01-01 UTC.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_history_csv(machines: &[Machine], out: &mut dyn Write) -> Result<()> {
    let names = [
        "host",
        "name",
        "language",
        "environment",
        "params",
        "file",
        "started_unix_s",
        "before_ns",
        "after_ns",
        "ratio",
        "host_changes",
    ];
    let line = |machine: &Machine, series: &Series, change: &Change| -> Vec<Cell> {
        let key = &series.key;
        let params: Vec<String> = key.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let run = &machine.runs[change.run];
        let numbers = [change.before_ns, change.after_ns, change.ratio()].map(|value| value.to_string());
        let texts = [
            machine.host.clone(),
            key.label.clone(),
            key.language.clone().unwrap_or_default(),
            key.environment.clone(),
            params.join(" "),
            run.label.clone(),
            run.started_unix_s.to_string(),
        ];
        let last = host_changes(change);
        texts.into_iter().chain(numbers).chain([last]).map(Cell::from).collect()
    };
    let mut rows = Vec::new();
    for machine in machines {
        for series in &machine.series {
            rows.extend(series.changes.iter().map(|change| line(machine, series, change)));
        }
    }
    let columns = names.iter().map(|name| Column::left(name)).collect();
    write_table(&Table { columns, rows, ..Table::default() }, Format::Csv, Screen::PLAIN, out)
}
