//! A profile as a table: what `strace -c` tells, with time on the CPU and blocked apart, quantiles, and the kernel's own
//! accounting below. `cli::show` and `cli::trace` call it by `write_profile`.

use super::numbers::{significant, thousands};
use super::{Cell, Column, Format, Screen, Style, Table, class_words, profile_words, write_table};
use crate::model::{By, CallCount, Profile, Total};
use anyhow::Result;
use std::io::Write;

/// Writes a profile with rows told apart `by`. JSON is `syscost.profile-summary/1`, which has them all.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_profile(profile: &Profile, by: By, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Json => super::json_profile::write(profile, out),
        format => write_table(&profile_table(profile, by), format, screen, out),
    }
}

/// One row a call (or class, or process and call), the dearest first, and a line of totals.
pub fn profile_table(profile: &Profile, by: By) -> Table {
    let totals = profile.totals(by);
    let mut rows: Vec<Vec<Cell>> = totals.iter().map(|total| row(profile, by, total)).collect();
    if !rows.is_empty() {
        let all = Total { process: String::new(), count: CallCount { call: "total".into(), ..profile.all_calls() } };
        let heading = |cell: Cell| Cell { style: Style::Heading, ..cell };
        rows.push(row(profile, by, &all).into_iter().map(heading).collect());
    }
    let table = Table { title: profile_words::title(profile), columns: columns(by), rows, notes: vec![] };
    Table { notes: profile_words::notes(profile), ..table }
}

fn columns(by: By) -> Vec<Column> {
    let mut columns = match by {
        By::Call => vec![Column::left("call")],
        By::Class => vec![Column::left("call"), Column::left("class")],
        By::Process => vec![Column::left("process"), Column::left("call")],
    };
    columns.extend([
        Column::right("calls"),
        Column::right("errors").expendable(1),
        Column::right("on CPU s"),
        Column::right("blocked s"),
        Column::right("mean us").expendable(3),
        Column::right("p50 us").expendable(4),
        Column::right("p99 us").expendable(5),
        Column::right("% wall"),
    ]);
    columns
}

fn row(profile: &Profile, by: By, total: &Total) -> Vec<Cell> {
    let count = &total.count;
    let mut cells: Vec<Cell> = match by {
        By::Call => vec![count.call.as_str().into()],
        By::Class => vec![count.call.as_str().into(), class_words::class(&count.class).into()],
        By::Process => vec![total.process.as_str().into(), count.call.as_str().into()],
    };
    let quantile = |share| (by == By::Call).then(|| profile.duration_ns(&count.call, share))?;
    cells.extend([
        Cell::number(thousands(count.calls as f64), count.calls as f64),
        failures(count.failures()),
        seconds(count.on_cpu_ns),
        seconds(count.blocked_ns),
        micros(count.mean_ns()),
        micros(quantile(0.5)),
        micros(quantile(0.99)),
        share(count.elapsed_ns(), profile.usage.wall_ns),
    ]);
    cells
}

fn failures(count: u64) -> Cell {
    let text = if count == 0 { String::new() } else { thousands(count as f64) };
    Cell::number(text, count as f64)
}

fn seconds(ns: Option<u64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(format!("{:.4}", ns as f64 / 1e9), ns as f64 / 1e9))
}

fn micros(ns: Option<f64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(significant(ns / 1e3), ns / 1e3))
}

fn share(elapsed_ns: Option<u64>, wall_ns: Option<u64>) -> Cell {
    let (Some(elapsed), Some(wall)) = (elapsed_ns, wall_ns.filter(|wall| *wall > 0)) else { return Cell::default() };
    let percent = 100.0 * elapsed as f64 / wall as f64;
    Cell::number(format!("{percent:.1}"), percent)
}
