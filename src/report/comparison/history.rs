//! Machines over time: a table of changes for each machine, with notes; and the same as CSV.

use crate::compare::ColumnInfo;
use crate::compare::history::{Change, Machine, Series};
use crate::document::{Block, Document, params};
use crate::prose::counted;
use crate::report::comparison::row::{number, share};
use crate::report::conditions::host_change;
use crate::report::numbers::{date, nanoseconds};
use crate::report::{Cell, Records, Spec, Style, Table};
use crate::stats::FEWEST_RUNS;

/// A table of changes for each machine. `margin` is the share that they were made with: smaller changes are missing.
pub fn history_document(machines: &[Machine], margin: f64) -> Document {
    let blocks = machines.iter().map(|machine| Block::Table(table(machine, margin))).collect();
    Document { blocks, records: records(machines) }
}

/// `vm: 24 runs, 2026-01-01 10:00 to 2026-03-01 10:00`
fn title(machine: &Machine) -> String {
    let ends = [machine.runs.first(), machine.runs.last()];
    let [first, last] = ends.map(|run| run.map_or(String::new(), |run| date(run.started_unix_s)));
    format!("{}: {}, {first} to {last} UTC", machine.host, counted(machine.runs.len(), "run"))
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
    let table = Table::of(&specs, &found).titled(title(machine)).noted(notes(machine, margin));
    if found.is_empty() { table.without_empty() } else { table }
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

/// One record per change: exact numbers, times in seconds since 1970-01-01 UTC.
fn records(machines: &[Machine]) -> Records {
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
    Records::of(&specs, &found)
}
