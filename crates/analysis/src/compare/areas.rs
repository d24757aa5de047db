//! Geometric means of ratios by area, over the rows with a ratio in every column that has any. Costs that depend on the file system's history
//! are left out, and numbers of instructions count only if no row is a time.

use super::row::ComparedRow;
use model::grouped;

use schemars::JsonSchema;
use serde::Serialize;

/// The mean ratios of one area.
#[derive(Serialize, JsonSchema)]
pub struct AreaMean {
    /// `None` for the mean over all rows.
    pub area: Option<String>,
    /// Geometric mean by column; `None` for the baseline and for columns without ratios.
    pub ratios: Vec<Option<f64>>,
    /// Number of rows that the means are over.
    pub rows: usize,
}

/// The means by area and the mean over all rows, which is the last; empty if no row has a ratio in every column.
pub fn means(rows: &[ComparedRow], columns: usize, baseline: usize) -> Vec<AreaMean> {
    // A mean of times and of numbers of instructions would be neither.
    let timed = rows.iter().any(|row| !row.is_counted());
    let rows: Vec<&ComparedRow> = rows
        .iter()
        .filter(|row| row.is_counted() != timed)
        .collect();
    let columns_with: Vec<usize> = (0..columns)
        .filter(|c| *c != baseline)
        .filter(|column| {
            rows.iter()
                .any(|row| row.verdicts[*column].ranked_ratio().is_some())
        })
        .collect();
    let taken: Vec<&ComparedRow> = rows
        .iter()
        .filter(|row| {
            columns_with
                .iter()
                .all(|column| row.verdicts[*column].ranked_ratio().is_some())
        })
        .copied()
        .collect();
    if columns_with.is_empty() || taken.is_empty() {
        return Vec::new();
    }
    let by_area = grouped(taken.iter().map(|row| (row.area.as_str(), *row)));
    let areas = by_area
        .iter()
        .map(|(area, rows)| area_mean(Some(area), rows, columns));
    areas.chain([area_mean(None, &taken, columns)]).collect()
}

fn area_mean(area: Option<&str>, rows: &[&ComparedRow], columns: usize) -> AreaMean {
    AreaMean {
        area: area.map(str::to_string),
        ratios: (0..columns).map(|column| mean(rows, column)).collect(),
        rows: rows.len(),
    }
}

fn mean(rows: &[&ComparedRow], column: usize) -> Option<f64> {
    let ratios: Option<Vec<f64>> = rows
        .iter()
        .map(|row| row.verdicts[column].ranked_ratio())
        .collect();
    stats::geometric_mean(ratios?)
}
