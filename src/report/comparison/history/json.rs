//! Machines over time as one JSON document, schema `syscost.history/1`. FORMAT.md documents it; fields are only ever added.

use crate::compare::history::{Change, Machine, Series};
use crate::report::comparison::conditions::host_change;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// What `compare --history --format json` prints.
#[derive(Serialize, JsonSchema)]
pub struct HistoryDocument {
    /// `syscost.history/1`
    schema: &'static str,
    /// Changes of up to this share are none.
    margin: f64,
    /// By host name.
    machines: Vec<MachineDocument>,
}

#[derive(Serialize, JsonSchema)]
struct MachineDocument {
    /// Host name; `unknown` where the files do not tell.
    host: String,
    /// The oldest first.
    runs: Vec<RunDocument>,
    series: Vec<SeriesDocument>,
}

#[derive(Serialize, JsonSchema)]
struct RunDocument {
    /// The file, in the directory.
    file: String,
    /// Seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    kernel: Option<String>,
    complete: bool,
}

/// One operation over the runs.
#[derive(Serialize, JsonSchema)]
struct SeriesDocument {
    /// The name that a study gives it, else the operation.
    name: String,
    area: String,
    language: Option<String>,
    environment: String,
    params: BTreeMap<String, u64>,
    /// Whether it has the runs that finding a change takes.
    enough_runs: bool,
    points: Vec<PointDocument>,
    changes: Vec<ChangeDocument>,
}

#[derive(Serialize, JsonSchema)]
struct PointDocument {
    /// Index in `runs`.
    run: usize,
    median_ns: f64,
}

#[derive(Serialize, JsonSchema)]
struct ChangeDocument {
    /// Index in `runs` of the first run with the new cost.
    run: usize,
    /// Medians over the runs of both states.
    before_ns: f64,
    after_ns: f64,
    /// The second over the first.
    ratio: f64,
    /// What changed from the run before to this one, in words.
    host_changes: Vec<String>,
}

/// Writes the document of `machines`.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_history_json(machines: &[Machine], margin: f64, out: &mut dyn Write) -> Result<()> {
    let machines = machines.iter().map(machine).collect();
    let document = HistoryDocument { schema: "syscost.history/1", margin, machines };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    Ok(writeln!(out)?)
}

/// The JSON Schema of the document.
pub fn history_schema() -> serde_json::Value {
    schemars::schema_for!(HistoryDocument).to_value()
}

fn machine(machine: &Machine) -> MachineDocument {
    let run = |info: &crate::compare::ColumnInfo| RunDocument {
        file: info.label.clone(),
        started_unix_s: info.started_unix_s,
        kernel: info.host.kernel.clone(),
        complete: info.complete,
    };
    MachineDocument {
        host: machine.host.clone(),
        runs: machine.runs.iter().map(run).collect(),
        series: machine.series.iter().map(series).collect(),
    }
}

fn series(series: &Series) -> SeriesDocument {
    let key = &series.key;
    let points = series.points.iter().map(|point| PointDocument { run: point.run, median_ns: point.cost_ns });
    SeriesDocument {
        name: key.label.clone(),
        area: series.area.clone(),
        language: key.language.clone(),
        environment: key.environment.clone(),
        params: key.params.clone(),
        enough_runs: series.is_long_enough(),
        points: points.collect(),
        changes: series.changes.iter().map(change).collect(),
    }
}

fn change(change: &Change) -> ChangeDocument {
    ChangeDocument {
        run: change.run,
        before_ns: change.before_ns,
        after_ns: change.after_ns,
        ratio: change.ratio(),
        host_changes: change.host_changes.iter().map(host_change).collect(),
    }
}
