//! A comparison as comma-separated values: a line for each row and file, exact numbers. One shape whatever the number of
//! files, so that programs need not know their names.

use super::comparison_words::word;
use super::{Cell, Column, Format, Screen, Table, write_table};
use crate::compare::{AreaMean, ComparedDerived, ComparedRow, Comparison, Verdict};
use crate::model::Combination;
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

const COLUMNS: [&str; 16] = [
    "kind",
    "name",
    "area",
    "language",
    "environment",
    "params",
    "file",
    "value",
    "low",
    "high",
    "entries",
    "ratio",
    "ratio_low",
    "ratio_high",
    "relative_to_reference",
    "verdict",
];

/// Writes the lines of `comparison`: those of kind `cost` (in nanoseconds), `difference` (likewise), `ratio` (derived rows)
/// and `mean` (geometric means of ratios by area).
///
/// # Errors
/// When `out` cannot be written.
pub fn write_comparison_csv(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    let files = || comparison.columns.iter().map(|column| column.label.as_str()).enumerate();
    let costs = comparison.rows.iter().flat_map(|row| files().map(move |file| cost(row, file)));
    let derived = comparison.derived.iter().flat_map(|row| files().filter_map(move |file| derived(row, file)));
    let means = comparison.areas.iter().flat_map(|area| files().filter_map(move |file| mean(area, file)));
    let columns = COLUMNS.iter().map(|name| Column::left(name)).collect();
    let rows = costs.chain(derived).chain(means).collect();
    write_table(&Table { columns, rows, ..Table::default() }, Format::Csv, Screen::PLAIN, out)
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::default(), |value| Cell::number(value.to_string(), value))
}

fn params(params: &BTreeMap<String, u64>) -> Cell {
    let texts: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Cell::from(texts.join(" "))
}

fn cost(row: &ComparedRow, (index, file): (usize, &str)) -> Vec<Cell> {
    let (cell, verdict) = (row.cells[index].as_ref(), &row.verdicts[index]);
    let figure = cell.and_then(|cell| cell.figure.as_ref().ok());
    let interval = figure.and_then(|figure| figure.interval);
    let entries = cell.and_then(|cell| cell.entries.as_ref()).map(ToString::to_string);
    let failed = cell.is_some_and(|cell| cell.figure.is_err());
    let said = if failed && *verdict != Verdict::Baseline { "failed" } else { word(verdict) };
    vec![
        "cost".into(),
        row.key.label.clone().into(),
        row.area.clone().into(),
        row.key.language.clone().unwrap_or_default().into(),
        row.key.environment.clone().into(),
        params(&row.key.params),
        file.into(),
        number(figure.map(|figure| figure.median.0)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        entries.unwrap_or_default().into(),
        number(verdict.ratio()),
        number(verdict.low_high().map(|(low, _)| low)),
        number(verdict.low_high().map(|(_, high)| high)),
        number(verdict.relative()),
        said.into(),
    ]
}

fn derived(row: &ComparedDerived, (index, file): (usize, &str)) -> Option<Vec<Cell>> {
    let value = row.values[index].as_ref()?.as_ref().ok();
    let interval = value.and_then(|value| value.low_high);
    let kind = if row.combination == Combination::Ratio { "ratio" } else { "difference" };
    let mut cells: Vec<Cell> = vec![
        kind.into(),
        row.name.clone().into(),
        Cell::default(),
        Cell::default(),
        row.environment.clone().into(),
        params(&row.params),
        file.into(),
        number(value.map(|value| value.value)),
        number(interval.map(|(low, _)| low)),
        number(interval.map(|(_, high)| high)),
    ];
    cells.resize(COLUMNS.len(), Cell::default());
    Some(cells)
}

fn mean(mean: &AreaMean, (index, file): (usize, &str)) -> Option<Vec<Cell>> {
    let ratio = mean.ratios[index]?;
    let mut cells: Vec<Cell> = vec![Cell::default(); COLUMNS.len()];
    cells[0] = "mean".into();
    cells[2] = mean.area.clone().unwrap_or("all".to_string()).into();
    cells[6] = file.into();
    cells[11] = number(Some(ratio));
    Some(cells)
}
