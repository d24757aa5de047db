//! The table of a run.

use super::environment_table::{MOST_ENVIRONMENTS, environment_table, environments, failures};
use super::figures::case_name;
use super::numbers::{entries, nanoseconds, percent, rate, three_figures};
use super::study_words::{self, Scaled};
use super::{Cell, Column, Style, Table};
use crate::derive::DerivedRow;
use crate::model::{EntriesStatus, Host, THREADS};
use crate::stats::UserShare;
use crate::summary::{Figure, Row, Summary};
use indexmap::IndexMap;

/// In which order rows stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Sort {
    /// As they were asked for.
    #[default]
    Asked,
    /// By name.
    Name,
    /// The cheapest first; failures last.
    Cost,
}

/// The table of `summary`, with its warnings below: a row a record, or, where they are of several environments, a row a
/// case.
pub fn summary_table(summary: &Summary, host: &Host, sort: Sort) -> Table {
    let rows = sorted(&summary.rows, sort);
    let environments = environments(summary).len();
    let (table, failures) = match environments {
        0..=1 => (plain_table(summary, &rows), Vec::new()),
        2..=MOST_ENVIRONMENTS => (environment_table(summary, &rows), failures(&rows)),
        _ => (long_table(summary, &rows), vec![too_many(environments)]),
    };
    let notes = study_words::notes(summary).into_iter().chain(failures).chain(notes(summary, environments)).collect();
    Table { title: study_words::title(summary, title(host)), notes, ..table }
}

pub(super) fn plain_table(summary: &Summary, rows: &[&Row]) -> Table {
    let snippets = summary.rows.iter().any(|row| row.case.language.is_some());
    let scaled = Scaled::of(summary);
    let mut columns = vec![
        Column::left("operation"),
        Column::right("ns/op"),
        Column::right("95% interval").expendable(1),
        Column::right("±"),
        Column::right("net").expendable(if snippets { 0 } else { 5 }),
        Column::right("best").expendable(3),
        Column::right("calls/s").expendable(4),
        Column::right("usr/sys %").expendable(2),
        Column::left("kernel entries").wrapping(),
        Column::right("x call"),
    ];
    let mut lines: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row)).collect();
    lines.extend(summary.derived.iter().map(derived_cells));
    if let Some(scaled) = scaled {
        columns.insert(SCALED, Column::right(&scaled.heading()));
        let cells = rows.iter().map(|row| scaled.row(row)).chain(summary.derived.iter().map(|row| scaled.derived(row)));
        lines.iter_mut().zip(cells).for_each(|(line, cell)| line.insert(SCALED, cell));
    }
    Table { title: String::new(), columns, rows: lines, notes: Vec::new() }
}

/// A row a record, each with its environment.
fn long_table(summary: &Summary, rows: &[&Row]) -> Table {
    let mut table = plain_table(summary, rows);
    table.rows.iter_mut().zip(rows).for_each(|(line, row)| line[0] = Cell::from(case_name(&row.case)));
    table
}

fn too_many(environments: usize) -> String {
    format!(
        "{environments} environments are more than the {MOST_ENVIRONMENTS} that stand side by side: each record has a row"
    )
}

/// Where the column of scaled costs stands: behind the cost and its precision.
const SCALED: usize = 4;

fn derived_cells(row: &DerivedRow) -> Vec<Cell> {
    let [value, interval, half] = study_words::derived_figures(row);
    let mut cells = vec![study_words::derived_name(row), value, interval, half];
    cells.extend(std::iter::repeat_n(Cell::default(), 4));
    cells.extend([study_words::derived_entries(row), Cell::default()]);
    cells
}

fn sorted(rows: &[Row], sort: Sort) -> Vec<&Row> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    let cost = |row: &Row| row.figure.as_ref().map_or(f64::INFINITY, |f| f.median.0);
    match sort {
        Sort::Asked => {}
        Sort::Name => rows.sort_by_cached_key(|row| row.case.to_string()),
        Sort::Cost => rows.sort_by(|a, b| cost(a).total_cmp(&cost(b))),
    }
    rows
}

/// Costs and rates of several threads are those of the one that is timed.
fn per_thread(summary: &Summary) -> Option<String> {
    let threaded = |row: &Row| row.case.params.get(THREADS).is_some_and(|threads| *threads > 1);
    let note = "threads=N: ns/op and calls/s are those of one thread while the others do the same";
    summary.rows.iter().any(threaded).then(|| note.to_string())
}

/// `AMD EPYC, Linux 6.18, measured on CPU 1`
fn title(host: &Host) -> String {
    let kernel = host.system.iter().chain(&host.kernel).cloned().collect::<Vec<_>>().join(" ");
    let cpu = host.measuring_cpu.map(|cpu| format!("measured on CPU {cpu}"));
    let parts = [host.cpu.clone(), Some(kernel).filter(|k| !k.is_empty()), host.hypervisor.clone(), cpu];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn cells(row: &Row) -> Vec<Cell> {
    let name = Cell::from(row.case.to_string());
    match &row.figure {
        Ok(figure) => {
            let mut cells = vec![name];
            cells.extend(figure_cells(figure));
            cells.extend([entries_cell(row), times_cell(figure)]);
            cells
        }
        Err(failure) => {
            let mut cells = vec![name];
            cells.extend(std::iter::repeat_n(Cell::styled("-", Style::Faint), 7));
            cells.extend([Cell::styled(failure.message.clone(), Style::Bad), Cell::default()]);
            cells
        }
    }
}

fn figure_cells(figure: &Figure) -> [Cell; 7] {
    let median = figure.median.0;
    [
        Cell::number(nanoseconds(median), median),
        interval_cell(figure),
        figure.half_width_percent().map_or(Cell::from("?"), |p| Cell::number(format!("{}%", percent(p)), p)),
        figure.net.map_or(Cell::default(), |net| Cell::number(nanoseconds(net.0), net.0)),
        figure.best.map_or(Cell::default(), |best| Cell::number(nanoseconds(best.0), best.0)),
        Cell::number(rate(1e9 / median), 1e9 / median),
        figure.user_share.map_or(Cell::from(""), split_cell),
    ]
}

fn interval_cell(figure: &Figure) -> Cell {
    let Some(interval) = figure.interval else { return Cell::from("") };
    let text = format!("{} .. {}", nanoseconds(interval.low), nanoseconds(interval.high));
    Cell { raw: Some(format!("{} .. {}", interval.low, interval.high)), ..Cell::from(text) }
}

/// Standard error above which a share is marked: its 95% interval then reaches three points or more to either side.
const DOUBT: f64 = 0.015;

/// `12/88` in whole points, with `~` where they are known to no better than three points either way.
fn split_cell(split: UserShare) -> Cell {
    let user = (split.share * 100.0).round();
    let doubt = if split.standard_error > DOUBT { "~" } else { "" };
    Cell::from(format!("{doubt}{user:.0}/{:.0}", 100.0 - user))
}

fn entries_cell(row: &Row) -> Cell {
    match (&row.entries, &row.entries_status) {
        (Some(counted), EntriesStatus::Verified) if counted.total() == 0.0 => Cell::styled("none", Style::Good),
        (Some(counted), EntriesStatus::Verified) => Cell::from(entries(counted)),
        _ => Cell::styled("unverified", Style::Warning),
    }
}

fn times_cell(figure: &Figure) -> Cell {
    figure.times_empty_call.map_or(Cell::default(), |times| Cell::number(three_figures(times), times))
}

fn notes(summary: &Summary, environments: usize) -> Vec<String> {
    let mut notes: Vec<String> = summary.warnings.iter().map(|w| format!("warning: {w}")).collect();
    let mut by_text: IndexMap<&str, Vec<String>> = IndexMap::new();
    for (row, warning) in summary.rows.iter().flat_map(|row| row.warnings.iter().map(move |w| (row, w))) {
        let detail = if warning.detail.is_empty() { String::new() } else { format!(" ({})", warning.detail) };
        by_text.entry(&warning.text).or_default().push(format!(
            "{}{place}{detail}",
            row.case,
            place = place(environments, row)
        ));
    }
    notes.extend(by_text.iter().map(|(text, names)| format!("{text}: {}", some(names))));
    notes.extend(per_thread(summary));
    notes.extend(yardsticks(summary));
    notes
}

/// ` in m32`, where the rows are of several environments.
fn place(environments: usize, row: &Row) -> String {
    if environments > 1 { format!(" in {}", row.case.environment) } else { String::new() }
}

/// The names that one warning concerns; of many the first few and how many more.
fn some(names: &[String]) -> String {
    const MOST: usize = 6;
    let more = names.len().saturating_sub(MOST);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn yardsticks(summary: &Summary) -> Option<String> {
    let cost = |row: &Row| Some(format!("{} {} ns", row.case, nanoseconds(row.figure.as_ref().ok()?.median.0)));
    let costs: Vec<String> = summary.baselines.iter().filter_map(cost).collect();
    (!costs.is_empty()).then(|| format!("in the same rounds: {}; 'x call' is against call.direct", costs.join(", ")))
}
