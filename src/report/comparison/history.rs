//! Machines over time: a table of changes for each machine, with notes; and the same as CSV.

use crate::compare::ColumnInfo;
use crate::compare::history::{Change, Machine, Series};
use crate::document::params;
use crate::report::comparison::row::{number, share};
use crate::report::conditions::host_change;
use crate::report::numbers::{date, nanoseconds};
use crate::report::{Cell, Format, Records, Screen, Spec, Style, Table, write_notes, write_table};
use crate::stats::FEWEST_RUNS;
use anyhow::Result;
use std::io::Write;

/// Writes the changes of `machines` for people. `margin` is the share that they were made with: smaller changes are
/// missing.
///
/// # Errors
/// If `out` cannot be written.
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
        match table.rows().is_empty() {
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
    let mut found: Vec<Found> = Found::all(machine).collect();
    found.sort_by_key(|found| found.change.run);
    let specs = [
        Spec::left("since (UTC)", |c: &Found| date(c.run().started_unix_s).into()),
        Spec::left("operation", |c: &Found| name(machine, c.series).into()),
        Spec::right("before ns", |c: &Found| nanoseconds(c.change.before_ns).into()),
        Spec::right("after ns", |c: &Found| nanoseconds(c.change.after_ns).into()),
        Spec::right("ratio", |c: &Found| ratio(c.change)),
        Spec::left("what changed there", |c: &Found| what_changed(c.change).into()).wrapping(),
    ];
    Table::of(&specs, &found).titled(title(machine)).noted(notes(machine, margin))
}

/// A change with its machine and series.
struct Found<'a> {
    machine: &'a Machine,
    series: &'a Series,
    change: &'a Change,
}

impl<'a> Found<'a> {
    fn all(machine: &'a Machine) -> impl Iterator<Item = Found<'a>> {
        let of = move |series: &'a Series| series.changes.iter().map(move |change| Found { machine, series, change });
        machine.series.iter().flat_map(of)
    }

    /// The first run with the new cost.
    fn run(&self) -> &'a ColumnInfo {
        &self.machine.runs[self.change.run]
    }
}

fn ratio(change: &Change) -> Cell {
    Cell::styled(number(change.ratio), if change.ratio > 1.0 { Style::Bad } else { Style::Good })
}

fn what_changed(change: &Change) -> String {
    match change.host_changes.is_empty() {
        true => "nothing known".to_string(),
        false => host_changes(change),
    }
}

fn host_changes(change: &Change) -> String {
    change.host_changes.iter().map(host_change).collect::<Vec<_>>().join("; ")
}

/// With the environment if the machine has several.
fn name(machine: &Machine, series: &Series) -> String {
    let own = &series.key.environment;
    match machine.series.iter().all(|other| other.key.environment == *own) {
        true => series.key.to_string(),
        false => format!("{} ({own})", series.key),
    }
}

fn notes(machine: &Machine, margin: f64) -> Vec<String> {
    let (drifting, sought): (Vec<&Series>, Vec<&Series>) =
        machine.series.iter().partition(|series| series.depends_on_history);
    let (long, short): (Vec<&Series>, Vec<&Series>) = sought.into_iter().partition(|series| series.enough_runs);
    let still = long.iter().filter(|series| series.changes.is_empty()).count();
    let mut notes = Vec::new();
    if machine.counted_rows > 0 {
        notes.push(format!(
            "left out: {} rows of instructions, which have no noise: compare two files instead",
            machine.counted_rows
        ));
    }
    if long.is_empty() {
        notes.push(format!("too few runs to find changes: {FEWEST_RUNS} of one operation are needed; measure more"));
        return notes;
    }
    notes.push(format!(
        "no change of more than {}: {still} of {} operations (E-divisive, permutation test at 1% for each change)",
        share(margin),
        long.len()
    ));
    if !short.is_empty() {
        notes.push(format!("too few runs, {FEWEST_RUNS} are needed: {} operations", short.len()));
    }
    if !drifting.is_empty() {
        let count = drifting.len();
        notes.push(format!(
            "no changes sought where the cost depends on earlier file system activity: {count} operations"
        ));
    }
    notes
}

/// Writes one line per change: exact numbers, times in seconds since 1970-01-01 UTC.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_history_csv(machines: &[Machine], out: &mut dyn Write) -> Result<()> {
    let specs = [
        Spec::hidden()
            .text("host", |c: &Found| c.machine.host.clone())
            .text("name", |c| c.series.key.label.clone())
            .text("language", |c| c.series.key.language.clone())
            .text("environment", |c| c.series.key.environment.clone())
            .text("params", |c| params(&c.series.key.params))
            .text("file", |c| c.run().label.clone())
            .count("started_unix_s", |c| c.run().started_unix_s),
        Spec::hidden()
            .number("before_ns", |c: &Found| c.change.before_ns)
            .number("after_ns", |c| c.change.after_ns)
            .number("ratio", |c| c.change.ratio)
            .text("host_changes", |c| host_changes(c.change)),
    ];
    let found: Vec<Found> = machines.iter().flat_map(Found::all).collect();
    crate::write::csv::write(&Records::of(&specs, &found), out)
}
