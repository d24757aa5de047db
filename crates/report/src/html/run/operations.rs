//! All operations of each file: the table that `show --view wide` prints, with the distribution of the samples.

use super::RunsPage;
use crate::figure::{Distribution, Kernel};
use crate::html::page::Part;
use crate::numbers::{counted, in_percent, nanoseconds};
use crate::run::distribution::BINS_RULE;
use crate::run::figures::kernel;
use crate::run::names::{anywhere, name};
use crate::run::portrait::{Detail, Portrait};
use crate::run::{Sort, columns, summary_table};
use crate::{study, svg};
use analysis::compare::area;
use analysis::summary::Row;
use document::write::html::Drawings;
use document::write::markup::Markup;
use document::{Cell, Columns, Filter, Table};
use model::grouped;
use model::prose::more;

/// With more environments, each record has a row.
const MOST_BESIDE: usize = 3;
/// With more environments, the samples of the first are drawn.
const MOST_DRAWN: usize = 2;
const MOST_RUNS: usize = 8;

/// The table of the baseline file, and those of other files folded.
pub fn parts(page: &RunsPage) -> Vec<Part> {
    let main = page.main();
    let mut parts: Vec<Part> = main.iter().flat_map(|main| of_file(main, page)).collect();
    let others = page
        .files
        .iter()
        .filter(|file| main.is_none_or(|main| main.label() != file.label()));
    let (shown, left_out): (Vec<&Portrait>, Vec<&Portrait>) =
        others.partition(|file| file.detail.is_some());
    parts.extend(shown.into_iter().map(|file| {
        Part::Folded(
            format!("All figures of {}", file.label()),
            false,
            of_file(file, page),
        )
    }));
    let only = "more files this page has only costs and ratios, above: make a page of one of them to see its distributions and other figures.";
    let note = more(left_out.len(), only);
    parts.extend(note.map(|note| Part::note(format!("For {note}"))));
    parts
}

fn of_file(file: &Portrait, page: &RunsPage) -> Vec<Part> {
    let Some(detail) = &file.detail else {
        return Vec::new();
    };
    let summary = &detail.summary;
    let mut table = summary_table(summary, &file.column.info.host, Sort::Asked, true);
    let environments = columns::environments(summary).len();
    let is_beside = (2..=MOST_BESIDE).contains(&environments);
    if environments > MOST_BESIDE {
        let lines = columns::lines(summary, &summary.rows.iter().collect::<Vec<_>>());
        table = columns::columns(summary, &lines).table().noted(table.notes);
    }
    let groups = groups(&summary.rows, is_beside);
    table.title = match page.files.len() {
        1 => "Costs, all figures".to_string(),
        _ => format!("Costs of {}, all figures", file.label()),
    };
    // These stand before all results.
    table.cautions.clear();
    let shown_above = study::notes(summary);
    table.notes.retain(|note| !shown_above.contains(note));
    table.notes.push(format!("samples: {BINS_RULE}"));
    let filter = filter(detail, &groups);
    let drawn = drawings(detail, &groups, is_beside);
    vec![
        Part::Drawn(table.filtered(filter), drawn),
        Part::table(each_run(&summary.rows)),
    ]
}

/// The records of each row of the table, by index.
fn groups(rows: &[Row], is_beside: bool) -> Vec<Vec<usize>> {
    if !is_beside {
        return (0..rows.len()).map(|row| vec![row]).collect();
    }
    let cases = rows.iter().map(|row| anywhere(&row.case));
    grouped(cases.zip(0..)).into_values().collect()
}

const KINDS: &[(&str, &str)] = &[
    ("never", "those that make no system call"),
    ("enters", "those that make some"),
    ("noted", "those with warnings"),
    ("failed", "those without a cost"),
];

fn filter(detail: &Detail, groups: &[Vec<usize>]) -> Filter {
    Filter {
        kinds: KINDS,
        rows: groups
            .iter()
            .map(|group| {
                let rows: Vec<&Row> = group.iter().map(|i| &detail.summary.rows[*i]).collect();
                let kinds = [
                    rows.iter().all(|row| kernel(row) == Kernel::Never),
                    rows.iter().any(|row| kernel(row) == Kernel::Enters),
                    rows.iter().any(|row| !row.warnings.is_empty()),
                    rows.iter().any(|row| row.figure.is_err()),
                ];
                let kinds = KINDS
                    .iter()
                    .zip(kinds)
                    .filter(|(_, holds)| *holds)
                    .map(|((kind, _), _)| *kind)
                    .collect();
                (
                    rows.first()
                        .map_or(String::new(), |row| area(&row.case).to_string()),
                    kinds,
                )
            })
            .collect(),
    }
}

/// If environments stand side by side, only the first ones are drawn.
fn drawings(detail: &Detail, groups: &[Vec<usize>], is_beside: bool) -> Vec<Drawings> {
    if !is_beside {
        return vec![histograms(detail, groups, None)];
    }
    let places = columns::environments(&detail.summary);
    let drawn = if places.len() <= MOST_DRAWN {
        places.len()
    } else {
        1
    };
    places
        .into_iter()
        .take(drawn)
        .map(|place| histograms(detail, groups, Some(place)))
        .collect()
}

/// A histogram for each group, from its row in `place` or, if that is `None`, from its first row.
fn histograms(detail: &Detail, groups: &[Vec<usize>], place: Option<&str>) -> Drawings {
    Drawings {
        title: place.map_or("samples".to_string(), |place| format!("samples, {place}")),
        cells: groups
            .iter()
            .map(|group| {
                let mut rows = group.iter();
                let row = rows.find(|i| {
                    place.is_none_or(|place| detail.summary.rows[**i].case.environment == place)
                })?;
                detail.distributions.get(*row)?.as_ref().map(histogram)
            })
            .collect(),
    }
}

fn histogram(one: &Distribution) -> (f64, Markup) {
    let words = format!(
        "{}, {} to {} ns",
        counted(one.samples as u64, "sample"),
        nanoseconds(one.low),
        nanoseconds(one.high)
    );
    (one.high - one.low, svg::spark(one, &words))
}

fn each_run(all: &[Row]) -> Table {
    fn runs(row: &Row) -> usize {
        row.over_runs
            .as_ref()
            .map_or(0, |over| over.medians_ns.len())
    }

    fn ns(value: Option<f64>) -> Cell {
        Cell::known(value, nanoseconds)
    }

    let rows: Vec<&Row> = all.iter().filter(|row| runs(row) > 1).collect();
    let runs = rows.iter().map(|row| runs(row)).max().unwrap_or(0);
    let mut columns = Columns::new(&rows)
        .left("operation", |row| name(row))
        .right("mean", |row| ns(row.cost().map(|cost| cost.median.0)))
        .right("deviation", |row| {
            let over = row.over_runs.as_ref();
            Cell::known(over.and_then(|over| over.deviation_percent), in_percent)
        });
    for run in (0..runs).take_while(|_| runs <= MOST_RUNS) {
        columns = columns.right(&format!("run {}", run + 1), |row| {
            let over = row.over_runs.as_ref();
            ns(over.and_then(|over| *over.medians_ns.get(run)?))
        });
    }
    columns
        .table()
        .titled("Each run: medians in nanoseconds per operation")
}
