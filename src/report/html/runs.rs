//! The single runs of a file that holds several: a table with a column for each.

use crate::report::numbers::{nanoseconds, percent};
use crate::report::run::detail::Detail;
use crate::report::run::figures::name;
use crate::report::{Cell, Spec, Table};
use crate::stats::OverRuns;
use crate::summary::Row;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// Runs that have a column each.
const MOST_RUNS: usize = 8;

/// Writes the runs, if there are several.
pub fn write(html: &mut Markup, detail: &Detail) {
    let of = |row: &Row| row.over_runs.as_ref().map_or(0, |over| over.medians_ns.len());
    let rows: Vec<&Row> = detail.summary.rows.iter().filter(|row| of(row) > 1).collect();
    let runs = rows.iter().map(|row| of(row)).max().unwrap_or(0);
    if runs == 0 {
        return;
    }
    html.raw("<h3>Each run</h3>");
    cells::plain(html, &table(&rows, runs), "Medians of each run, in nanoseconds per operation");
}

fn table(rows: &[&Row], runs: usize) -> Table {
    fn over<'a>(row: &&'a Row) -> Option<&'a OverRuns> {
        row.over_runs.as_ref()
    }
    let ns = |value: Option<f64>| Cell::known(value, nanoseconds);
    let mut specs = vec![
        Spec::left("operation", |row: &&Row| name(row).into()),
        Spec::right("mean", move |row: &&Row| ns(row.cost().map(|cost| cost.median.0))),
        Spec::right("deviation", |row: &&Row| {
            Cell::known(over(row).and_then(|over| over.deviation_percent), |value| percent(value) + "%")
        }),
    ];
    for run in (0..runs).take_while(|_| runs <= MOST_RUNS) {
        let of = move |row: &&Row| over(row).and_then(|over| over.medians_ns.get(run).copied().flatten());
        specs.push(Spec::right(&format!("run {}", run + 1), move |row: &&Row| ns(of(row))));
    }
    Table::of(&specs, rows)
}
