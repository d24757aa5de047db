//! Makes the figures of a run or a comparison.

use crate::figure::palette::SERIES;
use crate::figure::{Bar, Bars, Chart, Distribution, Dot, Figure, Group, Kernel, RatioRow, Ratios};
use crate::numbers::{nanoseconds, with_unit};
use crate::run::detail::Detail;
use analysis::compare::{ComparedRow, Comparison, Verdict, area};
use analysis::summary::{Row, RowCost, RowFigure, Summary};
use indexmap::{IndexMap, IndexSet};
use model::{Case, EntriesStatus, Unit};
use stats::{Quantity, Ranged};
use std::collections::{HashMap, HashSet};

pub fn name(row: &Row) -> String {
    case_name(&row.case)
}

/// With its environment unless that is `native`.
pub fn case_name(case: &Case) -> String {
    match case.environment.as_str() {
        "native" => case.to_string(),
        other => format!("{case} ({other})"),
    }
}

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

/// By the case that they are of in any column.
pub fn by_case(comparison: &Comparison) -> HashMap<&Case, &ComparedRow> {
    let mut found = HashMap::new();
    for row in &comparison.rows {
        row.cells
            .iter()
            .flatten()
            .for_each(|cell| _ = found.entry(&cell.case).or_insert(row));
    }
    found
}

/// Times first; nanoseconds without any.
pub fn units(detail: &Detail) -> Vec<Unit> {
    let [counted, timed] = super::columns::units(&detail.summary);
    let units = [(timed, Unit::Nanoseconds), (counted, Unit::Instructions)];
    units
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, unit)| unit)
        .collect()
}

/// Those of the other columns, or of other environments, are on the same rows.
pub fn bars(label: &str, detail: &Detail, comparison: Option<&Comparison>, unit: Unit) -> Figure {
    let rows = in_unit(detail, unit);
    let (series, groups) = match comparison {
        Some(comparison) => beside_columns(label, &rows, comparison, unit),
        None => beside_environments(&rows),
    };
    let description = extremes(groups.iter().flat_map(|group| &group.rows), unit);
    let title = match unit {
        Unit::Nanoseconds => "Cost of each operation, by area",
        Unit::Instructions => "Instructions of each operation, by area",
    };
    Figure {
        title: title.into(),
        description,
        chart: Chart::Bars(Bars {
            unit,
            series,
            groups,
        }),
    }
}

/// What failed stands with the others of its environment.
fn in_unit(detail: &Detail, unit: Unit) -> Vec<&Row> {
    let is_counted = |row: &&Row| row.instructions().is_some();
    let emulated: HashSet<&str> = detail
        .summary
        .rows
        .iter()
        .filter(is_counted)
        .map(|row| row.case.environment.as_str())
        .collect();
    let in_unit = |row: &&Row| {
        let failed_there =
            row.failure().is_some() && emulated.contains(row.case.environment.as_str());
        (is_counted(row) || failed_there) == (unit == Unit::Instructions)
    };
    detail.summary.rows.iter().filter(in_unit).collect()
}

type Rows = (Vec<String>, Vec<Group<Bar>>);

fn beside_columns(label: &str, rows: &[&Row], comparison: &Comparison, unit: Unit) -> Rows {
    let mut others: Vec<usize> = comparison.others().collect();
    let labels = others
        .iter()
        .map(|other| comparison.label(*other).to_string());
    let series = std::iter::once(label.to_string()).chain(labels).collect();
    // Each series needs a mark of its own.
    others.truncate(SERIES - 1);
    let compared = by_case(comparison);
    let bars = rows.iter().map(|row| {
        let found = compared.get(&row.case).copied();
        let of = |column: &usize| in_column(found?, *column, unit);
        (
            area(&row.case),
            bar(name(row), row, others.iter().map(of).collect()),
        )
    });
    (series, grouped(bars))
}

/// Where there are too many, a row for each.
fn beside_environments(rows: &[&Row]) -> Rows {
    let environments: IndexSet<&str> = rows
        .iter()
        .map(|row| row.case.environment.as_str())
        .collect();
    if environments.len() > SERIES {
        return (vec![String::new()], each_row(rows));
    }
    let first = environments.first().copied().unwrap_or_default();
    let cases = by_environment(rows);
    let bars = cases.iter().filter_map(|(case, places)| {
        let others = environments
            .iter()
            .skip(1)
            .map(|place| estimate(places.get(place)?));
        let of = places.get(first);
        let any = of.or_else(|| places.values().next())?;
        let bar = bar(case.to_string(), any, others.collect());
        Some((
            area(&any.case),
            Bar {
                first: of.and_then(|row| estimate(row)),
                ..bar
            },
        ))
    });
    (
        environments.iter().map(ToString::to_string).collect(),
        grouped(bars),
    )
}

fn each_row(rows: &[&Row]) -> Vec<Group<Bar>> {
    grouped(
        rows.iter()
            .map(|row| (area(&row.case), bar(name(row), row, Vec::new()))),
    )
}

pub fn plain_bars(detail: &Detail, unit: Unit) -> Bars {
    Bars {
        unit,
        series: Vec::new(),
        groups: each_row(&in_unit(detail, unit)),
    }
}

fn by_environment<'a>(rows: &[&'a Row]) -> IndexMap<Case, HashMap<&'a str, &'a Row>> {
    let mut cases: IndexMap<Case, HashMap<&str, &Row>> = IndexMap::new();
    for row in rows {
        let case = Case {
            environment: "native".to_string(),
            ..row.case.clone()
        };
        cases
            .entry(case)
            .or_default()
            .insert(&row.case.environment, row);
    }
    cases
}

fn grouped<'a, T>(rows: impl Iterator<Item = (&'a str, T)>) -> Vec<Group<T>> {
    let groups = model::grouped(rows);
    groups
        .into_iter()
        .map(|(name, rows)| Group {
            name: name.to_string(),
            rows,
        })
        .collect()
}

/// With where the next run will be, without changes of the whole machine, or the range of its
/// repeats.
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
    .filter(|own| own.value > 0.0 && own.value.is_finite())
}

fn own_interval(cost: &RowCost) -> Option<(f64, f64)> {
    let factor = 1.0 + cost.own_percent()? / 100.0;
    Some((cost.median.0 / factor, cost.median.0 * factor))
}

fn estimate(row: &Row) -> Option<Ranged> {
    let Quantity {
        value, low_high, ..
    } = drawn(row.figure.as_ref().ok()?)?;
    Some(Ranged { value, low_high })
}

pub fn in_column(row: &ComparedRow, column: usize, unit: Unit) -> Option<Ranged> {
    drawn(row.cells[column].as_ref()?.figure.as_ref().ok()?)?.in_unit(unit)
}

fn bar(label: String, row: &Row, others: Vec<Option<Ranged>>) -> Bar {
    Bar {
        label,
        first: estimate(row),
        kernel: kernel(row),
        others,
    }
}

pub fn environment_ratios(summary: &Summary) -> Option<Figure> {
    let base = summary
        .rows
        .iter()
        .find_map(|row| row.versus.as_ref())
        .map(|versus| versus.environment.as_str())?;
    let rows: Vec<&Row> = summary.rows.iter().collect();
    let places: IndexSet<&str> = rows
        .iter()
        .filter(|row| row.versus.is_some())
        .map(|row| row.case.environment.as_str())
        .collect();
    let cases = by_environment(&rows);
    let groups = grouped(cases.iter().filter_map(|(case, in_places)| {
        let dots: Vec<Option<Dot>> = places
            .iter()
            .map(|place| versus_dot(in_places.get(place)?))
            .collect();
        let any = in_places.values().next()?;
        dots.iter().any(Option::is_some).then(|| {
            (
                area(&any.case),
                RatioRow {
                    label: case.to_string(),
                    dots,
                },
            )
        })
    }));
    let series = places.iter().map(ToString::to_string).collect();
    Some(ratio_figure(base, Ratios { series, groups }))
}

fn versus_dot(row: &&Row) -> Option<Dot> {
    let ratio = row.versus.as_ref()?.ratio;
    let decided = ratio
        .low_high
        .is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    (ratio.value > 0.0 && ratio.value.is_finite()).then_some(Dot { ratio, decided })
}

fn extremes<'a>(bars: impl Iterator<Item = &'a Bar>, unit: Unit) -> String {
    let mut bars: Vec<(f64, &str)> = bars
        .filter_map(|bar| Some((bar.first?.value, bar.label.as_str())))
        .collect();
    bars.sort_by(|a, b| a.0.total_cmp(&b.0));
    match (bars.first(), bars.last()) {
        (Some((low, fastest)), Some((high, slowest))) => format!(
            "Dots with intervals on a logarithmic axis. {} operations, from {fastest} at {} to {slowest} at {}. The \
        same numbers are in the table.",
            bars.len(),
            with_unit(*low, unit),
            with_unit(*high, unit)
        ),
        _ => "No operation has a cost.".to_string(),
    }
}

pub fn ratios(comparison: &Comparison) -> Figure {
    let others: Vec<usize> = comparison.others().collect();
    let rows = comparison.rows.iter().filter_map(|row| {
        let dots: Vec<Option<Dot>> = others
            .iter()
            .map(|column| dot(&row.verdicts[*column]))
            .collect();
        let label = label(comparison, row);
        dots.iter()
            .any(Option::is_some)
            .then_some((row.area.as_str(), RatioRow { label, dots }))
    });
    let series = others
        .iter()
        .map(|column| comparison.label(*column).to_string())
        .collect();
    ratio_figure(
        comparison.label(comparison.baseline),
        Ratios {
            series,
            groups: grouped(rows),
        },
    )
}

fn ratio_figure(base: &str, ratios: Ratios) -> Figure {
    let count: usize = ratios.groups.iter().map(|group| group.rows.len()).sum();
    Figure {
        title: format!("Cost divided by that of {base}"),
        description: format!(
            "Ratios of {count} operations with their intervals of 95%, on a logarithmic axis around 1. The same numbers \
             are in the table."
        ),
        chart: Chart::Ratios(ratios),
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
    let ratio = verdict
        .ranked_ratio()
        .filter(|ratio| *ratio > 0.0 && ratio.is_finite())?;
    let decided = verdict
        .mark()
        .is_some_and(|mark| mark.is_better() || mark.is_worse());
    Some(Dot {
        ratio: Ranged {
            value: ratio,
            low_high: verdict.low_high(),
        },
        decided,
    })
}

pub fn distributions(title: &str, chosen: Vec<Distribution>) -> Figure {
    let modes = chosen.iter().filter(|one| one.modes.is_some()).count();
    let description = format!(
        "Histograms of the samples of {} cases, {modes} of them with two modes.",
        chosen.len()
    );
    Figure {
        title: title.to_string(),
        description,
        chart: Chart::Distributions(chosen),
    }
}

/// `97.1 ns 68%, 112.3 ns 32%`
pub fn modes_in_words(one: &Distribution) -> Option<String> {
    let modes = one.modes?;
    let share = modes.share_high * 100.0;
    let (low, high) = (nanoseconds(modes.low), nanoseconds(modes.high));
    Some(format!(
        "{low} ns {:.0}%, {high} ns {share:.0}%",
        100.0 - share
    ))
}
