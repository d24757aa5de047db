//! Makes the figures of a run or a comparison. Pure; called by `html` and by `syscost report --format svg`.

use crate::compare::{ComparedRow, Comparison, Verdict, area};
use crate::model::{Case, EntriesStatus, Unit};
use crate::report::figure::{Bar, Bars, Chart, Distribution, Dot, Figure, Group, Kernel, RatioRow, Ratios};
use crate::report::numbers::{instructions, nanoseconds};
use crate::report::run::detail::Detail;
use crate::summary::Row;
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The name of a row.
pub fn name(row: &Row) -> String {
    case_name(&row.case)
}

/// The name of a case, with its environment unless that is `native`.
pub fn case_name(case: &Case) -> String {
    match case.environment.as_str() {
        "native" => case.to_string(),
        other => format!("{case} ({other})"),
    }
}

/// Whether the row makes system calls, by its counted entries.
pub fn kernel(row: &Row) -> Kernel {
    match (&row.entries, &row.entries_status) {
        (Some(entries), EntriesStatus::Verified) if entries.total() == 0.0 => Kernel::Never,
        (Some(_), EntriesStatus::Verified) => Kernel::Enters,
        _ => Kernel::Unknown,
    }
}

/// The cost of a row in nanoseconds if it can be shown on a logarithmic axis.
pub fn cost(row: &Row) -> Option<f64> {
    row.cost().map(|cost| cost.median.0).filter(|ns| *ns > 0.0 && ns.is_finite())
}

/// The number of instructions of a row if it can be shown on a logarithmic axis.
fn count(row: &Row) -> Option<f64> {
    row.instructions().map(|count| count.per_operation).filter(|count| *count > 0.0 && count.is_finite())
}

/// The units of the rows' figures, times first; nanoseconds without any.
pub fn units(detail: &Detail) -> Vec<Unit> {
    let [counted, timed] = super::columns::units(&detail.summary);
    let units = [(timed, Unit::Nanoseconds), (counted, Unit::Instructions)];
    units.into_iter().filter(|(has, _)| *has).map(|(_, unit)| unit).collect()
}

/// The figures in `unit` by area. With a comparison, those of its other columns are on the same rows.
pub fn bars(label: &str, detail: &Detail, comparison: Option<&Comparison>, unit: Unit) -> Figure {
    let mut groups: IndexMap<&str, Vec<Bar>> = IndexMap::new();
    let mut others = comparison.map(other_columns).unwrap_or_default();
    let labels: Vec<String> =
        comparison.iter().flat_map(|c| others.iter().map(|o| c.columns[*o].label.clone())).collect();
    // Each series needs a mark of its own.
    others.truncate(crate::report::figure::palette::SERIES - 1);
    let compared = comparison.map(by_case).unwrap_or_default();
    let is_counted = |row: &&Row| row.instructions().is_some();
    let emulated: HashSet<&str> =
        detail.summary.rows.iter().filter(is_counted).map(|row| row.case.environment.as_str()).collect();
    // What failed stands with the others of its environment.
    let in_unit = |row: &&Row| {
        let failed_there = row.failure().is_some() && emulated.contains(row.case.environment.as_str());
        (is_counted(row) || failed_there) == (unit == Unit::Instructions)
    };
    for row in detail.summary.rows.iter().filter(in_unit) {
        let others = comparison.map_or(Vec::new(), |_| costs_in(&compared, &row.case, &others, unit));
        groups.entry(area(&row.case)).or_default().push(bar(row, others));
    }
    let groups: Vec<Group<Bar>> =
        groups.into_iter().map(|(name, rows)| Group { name: name.to_string(), rows }).collect();
    let series: Vec<String> = std::iter::once(label.to_string()).chain(labels).collect();
    let description = extremes(groups.iter().flat_map(|group| &group.rows), unit);
    let title = match unit {
        Unit::Nanoseconds => "Cost of each operation, by area",
        Unit::Instructions => "Instructions of each operation, by area",
    };
    Figure { title: title.into(), description, chart: Chart::Bars(Bars { unit, series, groups }) }
}

fn bar(row: &Row, others: Vec<Option<f64>>) -> Bar {
    let interval = row.cost().and_then(|cost| cost.next_run).map(|interval| (interval.low, interval.high));
    let repeats = row.instructions().map(|count| (count.low, count.high));
    Bar {
        label: name(row),
        value: cost(row).or(count(row)),
        low_high: interval.or(repeats),
        kernel: kernel(row),
        others,
    }
}

/// Columns other than the baseline.
pub fn other_columns(comparison: &Comparison) -> Vec<usize> {
    (0..comparison.columns.len()).filter(|column| *column != comparison.baseline).collect()
}

/// Operation, language, environment and label.
type Work<'a> = (&'a str, Option<&'a str>, &'a str, &'a str);

/// The rows of a comparison by work and parameters.
#[derive(Default)]
struct ByCase<'a> {
    exact: HashMap<(Work<'a>, &'a BTreeMap<String, u64>), &'a ComparedRow>,
    /// The first rows by work alone: a record may have fewer parameters than its row.
    first: HashMap<Work<'a>, Vec<&'a ComparedRow>>,
}

/// Maximum number of rows to search for a record without an exact match.
const MOST_LOOKED_AT: usize = 64;

fn by_case(comparison: &Comparison) -> ByCase<'_> {
    let mut found = ByCase::default();
    for row in &comparison.rows {
        let key = &row.key;
        let environment = comparison.environment(&key.environment, comparison.baseline);
        let work = (row.operation.as_str(), key.language.as_deref(), environment, key.label.as_str());
        found.exact.entry((work, &key.params)).or_insert(row);
        let first = found.first.entry(work).or_default();
        if first.len() < MOST_LOOKED_AT {
            first.push(row);
        }
    }
    found
}

/// The figure of `case` in each of `columns`, if it is in `unit`.
fn costs_in(compared: &ByCase, case: &Case, columns: &[usize], unit: Unit) -> Vec<Option<f64>> {
    let work = (case.operation.as_str(), case.language.as_deref(), case.environment.as_str(), case.label());
    let has = |row: &&&ComparedRow| case.params.iter().all(|(name, value)| row.key.params.get(name) == Some(value));
    let exact = compared.exact.get(&(work, &case.effective_params())).copied();
    let row = exact.or_else(|| compared.first.get(&work)?.iter().find(has).copied());
    let count = |row: &ComparedRow, column: usize| Some(row.cells[column].as_ref()?.instructions()?.per_operation);
    let figure = |column: &usize| match unit {
        Unit::Nanoseconds => row?.cost_ns(*column),
        Unit::Instructions => count(row?, *column).filter(|count| *count > 0.0),
    };
    columns.iter().map(figure).collect()
}

/// A figure with its unit: `101.2 ns`.
pub fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => format!("{} ns", nanoseconds(value)),
        Unit::Instructions => format!("{} instr", instructions(value)),
    }
}

/// A description with the range of the costs.
fn extremes<'a>(bars: impl Iterator<Item = &'a Bar>, unit: Unit) -> String {
    let mut bars: Vec<(f64, &str)> = bars.filter_map(|bar| Some((bar.value?, bar.label.as_str()))).collect();
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

/// Ratios to the baseline by area, for all other columns.
pub fn ratios(comparison: &Comparison) -> Figure {
    let others = other_columns(comparison);
    let mut groups: IndexMap<&str, Vec<RatioRow>> = IndexMap::new();
    for row in &comparison.rows {
        let dots: Vec<Option<Dot>> = others.iter().map(|column| dot(&row.verdicts[*column])).collect();
        if dots.iter().any(Option::is_some) {
            groups.entry(&row.area).or_default().push(RatioRow { label: label(comparison, row), dots });
        }
    }
    let count: usize = groups.values().map(Vec::len).sum();
    let base = comparison.columns.get(comparison.baseline).map_or("", |column| column.label.as_str());
    let series = others.iter().map(|column| comparison.columns[*column].label.clone()).collect();
    let groups = groups.into_iter().map(|(name, rows)| Group { name: name.to_string(), rows }).collect();
    Figure {
        title: format!("Cost divided by that of {base}"),
        description: format!(
            "Ratios of {count} operations with their intervals of 95%, on a logarithmic axis around 1. The same numbers \
             are in the table."
        ),
        chart: Chart::Ratios(Ratios { series, groups }),
    }
}

/// The name of a row, with its environment unless that is `native` or each file has another one.
fn label(comparison: &Comparison, row: &ComparedRow) -> String {
    match row.key.environment.as_str() {
        other if other != "native" && comparison.environments().is_none() => format!("{} ({other})", row.key),
        _ => row.key.to_string(),
    }
}

fn dot(verdict: &Verdict) -> Option<Dot> {
    let ratio = verdict.ranked_ratio().filter(|ratio| *ratio > 0.0 && ratio.is_finite())?;
    let decided = verdict.mark().is_some_and(|mark| mark.is_better() || mark.is_worse());
    Some(Dot { ratio, low_high: verdict.low_high(), decided })
}

/// The distributions `chosen`, one below the other.
pub fn distributions(title: &str, chosen: Vec<Distribution>) -> Figure {
    let modes = chosen.iter().filter(|one| one.modes.is_some()).count();
    let description = format!("Histograms of the samples of {} cases, {modes} of them with two modes.", chosen.len());
    Figure { title: title.to_string(), description, chart: Chart::Distributions(chosen) }
}

/// `97.1 ns 68%, 112.3 ns 32%`
pub fn modes_in_words(one: &Distribution) -> Option<String> {
    let modes = one.modes?;
    let share = modes.share_high * 100.0;
    let (low, high) = (nanoseconds(modes.low), nanoseconds(modes.high));
    Some(format!("{low} ns {:.0}%, {high} ns {share:.0}%", 100.0 - share))
}
