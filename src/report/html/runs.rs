//! The single runs of a file that holds several: a table with a column for each, and their trend with its thresholds.

use crate::report::numbers::{nanoseconds, percent};
use crate::report::run::detail::Detail;
use crate::report::run::figures::name;
use crate::report::svg::trend;
use crate::report::{Align, Cell, Spec, Table};
use crate::stats::OverRuns;
use crate::summary::Row;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// Runs that have a column each.
const MOST_RUNS: usize = 8;

/// What the band and the colours of a trend are.
pub const THRESHOLDS: &str = "Trend: each run in its order; the band is where 95 of 100 next runs will be, and runs outside of it are \
                              orange.";

/// Writes the runs, if there are several.
pub fn write(html: &mut Markup, detail: &Detail) {
    let of = |row: &Row| row.over_runs.as_ref().map_or(0, |over| over.medians_ns.len());
    let rows: Vec<&Row> = detail.summary.rows.iter().filter(|row| of(row) > 1).collect();
    let runs = rows.iter().map(|row| of(row)).max().unwrap_or(0);
    if runs == 0 {
        return;
    }
    html.raw("<h3>Each run</h3>");
    let table = table(&rows, runs);
    cells::open(html, "Medians of each run, in nanoseconds per operation", "ops");
    let titles = table.columns().iter().map(|column| (column.title.as_str(), column.align));
    cells::head(html, titles.chain([("trend", Align::Left)]));
    for (row, line) in rows.iter().zip(table.rows()) {
        html.raw("<tr>");
        cells::row(html, line, table.columns());
        let medians = row.over_runs.as_ref().map_or(&[][..], |over| &over.medians_ns);
        let band = row.cost().and_then(|cost| cost.next_run).map(|next| (next.low, next.high));
        cell(html, medians, band);
        html.raw("</tr>");
    }
    cells::close(html);
    html.raw("<p class=\"rule\">").raw(THRESHOLDS).raw("</p>");
}

/// The cell with a trend.
pub fn cell(html: &mut Markup, values: &[Option<f64>], band: Option<(f64, f64)>) {
    let words = |value: &Option<f64>| value.map_or("?".to_string(), nanoseconds);
    let title = values.iter().map(words).collect::<Vec<_>>().join(", ");
    html.raw("<td class=\"w\">").add(&trend(values, band, &title)).raw("</td>");
}

fn table(rows: &[&Row], runs: usize) -> Table {
    fn over<'a>(row: &&'a Row) -> Option<&'a OverRuns> {
        row.over_runs.as_ref()
    }
    let ns = |value: Option<f64>| value.map_or(Cell::default(), |ns| Cell::number(nanoseconds(ns), ns));
    let mut specs = vec![
        Spec::left("operation", |row: &&Row| name(row).into()),
        Spec::right("mean", move |row: &&Row| ns(row.cost().map(|cost| cost.median.0))),
        Spec::right("deviation", |row: &&Row| {
            let deviation = over(row).and_then(|over| over.deviation_percent);
            deviation.map_or(Cell::default(), |value| Cell::number(percent(value) + "%", value))
        }),
    ];
    for run in (0..runs).take_while(|_| runs <= MOST_RUNS) {
        let of = move |row: &&Row| over(row).and_then(|over| over.medians_ns.get(run).copied().flatten());
        specs.push(Spec::right(&format!("run {}", run + 1), move |row: &&Row| ns(of(row))));
    }
    Table::of(&specs, rows)
}
