//! Makes the figures of a run or a comparison.

use crate::figure::palette::SERIES;
use crate::figure::{Chart, Distribution, Dot, DotRow, Dots, Figure, Group, Kernel};
use crate::numbers::{counted, with_unit};
use crate::run::names::{anywhere, name};
use crate::run::portrait::Detail;
use analysis::compare::{ComparedRow, Comparison, Mark, Verdict, area};
use analysis::summary::{Row, RowCost, RowFigure, Summary};
use indexmap::{IndexMap, IndexSet};
use model::{Case, EntriesStatus, Unit};
use stats::{Quantity, Ranged};
use std::collections::{HashMap, HashSet};

/// Whether the operation makes system calls, only if they were counted.
pub fn kernel(row: &Row) -> Kernel {
    match (&row.entries, &row.entries_status) {
        (Some(entries), EntriesStatus::Verified) if entries.total() == 0.0 => Kernel::Never,
        (Some(_), EntriesStatus::Verified) => Kernel::Enters,
        _ => Kernel::Unknown,
    }
}

/// If it can be on a logarithmic axis.
pub fn cost(row: &Row) -> Option<f64> {
    row.cost()
        .map(|cost| cost.median.0)
        .filter(|ns| *ns > 0.0 && ns.is_finite())
}

/// Keyed by the case in any column.
pub fn by_case(comparison: &Comparison) -> HashMap<&Case, &ComparedRow> {
    let mut by_case = HashMap::new();
    for row in &comparison.rows {
        for cell in row.cells.iter().flatten() {
            by_case.entry(&cell.case).or_insert(row);
        }
    }
    by_case
}

/// Times first; nanoseconds without any.
pub fn units(detail: &Detail) -> Vec<Unit> {
    let [counted, timed] = super::columns::units(&detail.summary);
    [(timed, Unit::Nanoseconds), (counted, Unit::Instructions)]
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, unit)| unit)
        .collect()
}

/// Those of the other columns, or of other environments, are on the same rows.
pub fn costs(label: &str, detail: &Detail, comparison: Option<&Comparison>, unit: Unit) -> Figure {
    let rows = in_unit(detail, unit);
    let (series, groups) = match comparison {
        Some(comparison) => beside_columns(label, &rows, comparison, unit),
        None => beside_environments(&rows),
    };
    let description = extremes(groups.iter().flat_map(|group| &group.rows), unit);
    let what = match unit {
        Unit::Nanoseconds => "Cost",
        Unit::Instructions => "Instructions",
    };
    Figure {
        title: format!("{what} of each operation, by area"),
        description,
        chart: Chart::Dots(Dots {
            unit: Some(unit),
            series,
            groups,
        }),
    }
}

/// The rows in this unit. Failed rows have no unit: they stand with the other rows of their environment.
fn in_unit(detail: &Detail, unit: Unit) -> Vec<&Row> {
    let rows = &detail.summary.rows;
    let emulated: HashSet<&str> = rows
        .iter()
        .filter(|row| row.instructions().is_some())
        .map(|row| row.case.environment.as_str())
        .collect();
    rows.iter()
        .filter(|row| {
            let failed_there =
                row.failure().is_some() && emulated.contains(row.case.environment.as_str());
            (row.instructions().is_some() || failed_there) == (unit == Unit::Instructions)
        })
        .collect()
}

type Rows = (Vec<String>, Vec<Group>);

fn beside_columns(label: &str, rows: &[&Row], comparison: &Comparison, unit: Unit) -> Rows {
    let mut others: Vec<usize> = comparison.others().collect();
    let labels = others.iter().map(|other| comparison.label(*other));
    let series = [label]
        .into_iter()
        .chain(labels)
        .map(str::to_string)
        .collect();
    // Each series needs a mark of its own.
    others.truncate(SERIES - 1);
    let compared = by_case(comparison);
    let costs = rows.iter().map(|row| {
        let compared_row = compared.get(&row.case).copied();
        let others = others
            .iter()
            .map(|column| in_column(compared_row?, *column, unit));
        let dots = [estimate(row)].into_iter().chain(others);
        (area(&row.case), cost_row(name(row), row, dots))
    });
    (series, grouped(costs))
}

/// One row per case with a dot for each environment or, if there are too many environments, one row for each record.
fn beside_environments(rows: &[&Row]) -> Rows {
    let environments: IndexSet<&str> = rows
        .iter()
        .map(|row| row.case.environment.as_str())
        .collect();
    if environments.len() > SERIES {
        let each = rows
            .iter()
            .map(|row| (area(&row.case), cost_row(name(row), row, [estimate(row)])));
        return (vec![String::new()], grouped(each));
    }
    let cases = by_environment(rows);
    let costs = cases.iter().filter_map(|(case, places)| {
        let dots = environments
            .iter()
            .map(|place| estimate(places.get(place)?));
        let first = environments.first().and_then(|first| places.get(first));
        let row = first.or_else(|| places.values().next())?;
        Some((area(&row.case), cost_row(case.to_string(), row, dots)))
    });
    let series = environments.iter().map(ToString::to_string).collect();
    (series, grouped(costs))
}

fn by_environment<'a>(rows: &[&'a Row]) -> IndexMap<Case, HashMap<&'a str, &'a Row>> {
    let mut cases: IndexMap<Case, HashMap<&str, &Row>> = IndexMap::new();
    for row in rows {
        let places = cases.entry(anywhere(&row.case)).or_default();
        places.insert(&row.case.environment, row);
    }
    cases
}

fn grouped<'a>(rows: impl Iterator<Item = (&'a str, DotRow)>) -> Vec<Group> {
    model::grouped(rows)
        .into_iter()
        .map(|(name, rows)| Group {
            name: name.to_string(),
            rows,
        })
        .collect()
}

/// The cost with the interval for the next run, without changes of the whole machine, or the count with the range of its repeats.
fn drawn(figure: &RowFigure) -> Option<Quantity> {
    let next_run = figure.next_run();
    let low_high = match figure {
        RowFigure::Time(cost) => own_interval(cost),
        RowFigure::Instructions(_) => next_run.low_high,
    };
    Some(Quantity {
        low_high,
        ..next_run
    })
    .filter(|quantity| quantity.value > 0.0 && quantity.value.is_finite())
}

fn own_interval(cost: &RowCost) -> Option<(f64, f64)> {
    let factor = 1.0 + cost.relative_percent()? / 100.0;
    Some((cost.median.0 / factor, cost.median.0 * factor))
}

fn estimate(row: &Row) -> Option<Ranged> {
    let quantity = drawn(row.figure.as_ref().ok()?)?;
    quantity.in_unit(quantity.unit)
}

/// The cost of a compared row in one column, if it has this unit.
pub fn in_column(row: &ComparedRow, column: usize, unit: Unit) -> Option<Ranged> {
    drawn(row.cells[column].as_ref()?.figure.as_ref().ok()?)?.in_unit(unit)
}

fn cost_row(label: String, row: &Row, costs: impl IntoIterator<Item = Option<Ranged>>) -> DotRow {
    DotRow {
        label,
        kernel: Some(kernel(row)),
        dots: costs
            .into_iter()
            .map(|cost| cost.map(|at| Dot { at, decided: true }))
            .collect(),
    }
}

/// `None` without any ratio.
fn ratio_row(label: String, dots: Vec<Option<Dot>>) -> Option<DotRow> {
    if dots.iter().all(Option::is_none) {
        return None;
    }
    Some(DotRow {
        label,
        kernel: None,
        dots,
    })
}

/// `None` if it cannot be on a logarithmic axis.
fn ratio_dot(at: Ranged, decided: bool) -> Option<Dot> {
    Some(Dot { at, decided }).filter(|dot| dot.at.value > 0.0 && dot.at.value.is_finite())
}

/// Ratios to the first environment of a single run.
pub fn environment_ratios(summary: &Summary) -> Option<Figure> {
    let rows: Vec<&Row> = summary.rows.iter().collect();
    let base = rows.iter().find_map(|row| row.versus.as_ref())?;
    let places: IndexSet<&str> = rows
        .iter()
        .filter(|row| row.versus.is_some())
        .map(|row| row.case.environment.as_str())
        .collect();
    let cases = by_environment(&rows);
    let rows = cases.iter().filter_map(|(case, in_places)| {
        let dots = places
            .iter()
            .map(|place| {
                let at = in_places.get(place)?.versus.as_ref()?.ratio;
                ratio_dot(
                    at,
                    at.low_high
                        .is_some_and(|(low, high)| low > 1.0 || high < 1.0),
                )
            })
            .collect();
        let any = in_places.values().next()?;
        Some((area(&any.case), ratio_row(case.to_string(), dots)?))
    });
    let series = places.iter().map(ToString::to_string).collect();
    Some(ratio_figure(&base.environment, series, grouped(rows)))
}

fn extremes<'a>(rows: impl Iterator<Item = &'a DotRow>, unit: Unit) -> String {
    let mut costs: Vec<(f64, &str)> = rows
        .filter_map(|row| Some((row.first()?.value, row.label.as_str())))
        .collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    match (costs.first(), costs.last()) {
        (Some((low, fastest)), Some((high, slowest))) => format!(
            "Dots with intervals on a logarithmic axis. {}, from {fastest} at {} to {slowest} at {}. The \
        same numbers are in the table.",
            counted(costs.len() as u64, "operation"),
            with_unit(*low, unit),
            with_unit(*high, unit)
        ),
        _ => "No operation has a cost.".to_string(),
    }
}

/// Ratios to the baseline file, by area.
pub fn ratios(comparison: &Comparison) -> Figure {
    let rows = comparison.rows.iter().filter_map(|row| {
        let dots = comparison.others().map(|column| dot(&row.verdicts[column]));
        let row_of = ratio_row(label(comparison, row), dots.collect())?;
        Some((row.area.as_str(), row_of))
    });
    let series = comparison
        .others()
        .map(|column| comparison.label(column).to_string());
    let base = comparison.label(comparison.baseline);
    ratio_figure(base, series.collect(), grouped(rows))
}

fn ratio_figure(base: &str, series: Vec<String>, groups: Vec<Group>) -> Figure {
    let count: usize = groups.iter().map(|group| group.rows.len()).sum();
    Figure {
        title: format!("Cost divided by that of {base}"),
        description: format!(
            "Ratios of {count} operations with their intervals of 95%, on a logarithmic axis around 1. The same numbers \
             are in the table."
        ),
        chart: Chart::Dots(Dots {
            unit: None,
            series,
            groups,
        }),
    }
}

/// With its environment unless that is `native` or each file has another one.
fn label(comparison: &Comparison, row: &ComparedRow) -> String {
    match row.key.environment.as_str() {
        other if other != "native" && comparison.environments().is_none() => {
            format!("{} ({other})", row.key)
        }
        _ => row.key.to_string(),
    }
}

fn dot(verdict: &Verdict) -> Option<Dot> {
    let at = Ranged {
        value: verdict.ranked_ratio()?,
        low_high: verdict.low_high(),
    };
    let mark = verdict.mark();
    ratio_dot(at, mark.is_some_and(Mark::is_change))
}

/// Histograms, one below the other, each on an axis of its own.
pub fn distributions(title: &str, chosen: Vec<Distribution>) -> Figure {
    Figure {
        title: title.to_string(),
        description: format!("Histograms of the samples of {} cases.", chosen.len()),
        chart: Chart::Distributions(chosen),
    }
}
