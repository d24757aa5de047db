//! Geometric means of ratios by area. They include only rows with a ratio in every column that has any ratios, so that
//! all columns of a mean are over the same rows. What depends on the file system's history is in no mean. Numbers of
//! instructions have means only where no row is a time.

use super::row::ComparedRow;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// The mean ratios of one area.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AreaMean {
    /// `None` for the mean over all rows.
    pub area: Option<String>,
    /// Geometric mean by column; `None` for the baseline and for columns without ratios.
    pub ratios: Vec<Option<f64>>,
    /// Number of rows that the means are over.
    pub rows: usize,
}

/// The means of each area that has such rows, in the order of the rows, then of all areas.
pub fn means(rows: &[ComparedRow], columns: usize, baseline: usize) -> Vec<AreaMean> {
    // A mean of times and of numbers of instructions would be neither.
    let timed = rows.iter().any(|row| !row.is_counted());
    let rows: Vec<&ComparedRow> = rows.iter().filter(|row| row.is_counted() != timed).collect();
    let has_ratio = |column: &usize| rows.iter().any(|row| row.verdicts[*column].ranked_ratio().is_some());
    let columns_with: Vec<usize> = (0..columns).filter(|c| *c != baseline).filter(has_ratio).collect();
    let whole = |row: &&&ComparedRow| columns_with.iter().all(|column| row.verdicts[*column].ranked_ratio().is_some());
    let taken: Vec<&ComparedRow> = rows.iter().filter(whole).copied().collect();
    if columns_with.is_empty() || taken.is_empty() {
        return Vec::new();
    }
    let mut by_area: IndexMap<&str, Vec<&ComparedRow>> = IndexMap::new();
    taken.iter().for_each(|row| by_area.entry(&row.area).or_default().push(row));
    let of = |area: Option<&str>, rows: &[&ComparedRow]| AreaMean {
        area: area.map(str::to_string),
        ratios: (0..columns).map(|column| mean(rows, column)).collect(),
        rows: rows.len(),
    };
    let areas = by_area.iter().map(|(area, rows)| of(Some(area), rows));
    areas.chain([of(None, &taken)]).collect()
}

fn mean(rows: &[&ComparedRow], column: usize) -> Option<f64> {
    let logs: Option<Vec<f64>> = rows.iter().map(|row| row.verdicts[column].ranked_ratio().map(f64::ln)).collect();
    let logs = logs?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp()).filter(|mean| mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::super::{Options, compare};
    use crate::model::fixtures::{entering, record};

    #[test]
    fn means_leave_out_other_work_and_what_is_missing() {
        let old = vec![record("file.a", 100), record("file.b", 100), record("id.c", 100), entering("id.d", 100, &[])];
        let new = vec![
            record("file.a", 200),
            record("file.b", 800),
            record("id.c", 150),
            entering("id.d", 900, &[("getpid", 1.0)]),
        ];
        let third = vec![record("file.a", 100), record("id.c", 100), entering("id.d", 100, &[])];
        let columns = [column("old", old), column("new", new)];
        let areas = compare(&columns, &Options::default()).areas;
        let shown: Vec<(Option<&str>, usize, f64)> =
            areas.iter().map(|a| (a.area.as_deref(), a.rows, a.ratios[1].unwrap())).collect();
        assert_eq!((shown[0].0, shown[0].1), (Some("file"), 2));
        assert!((shown[0].2 - 4.0).abs() < 1e-9 && (shown[1].2 - 1.5).abs() < 1e-9, "{shown:?}");
        assert_eq!((shown[2].0, shown[2].1, areas[0].ratios[0]), (None, 3, None));
        let three = [columns[0].clone(), columns[1].clone(), column("third", third)];
        let areas = compare(&three, &Options::default()).areas;
        assert_eq!(areas[0].rows, 1, "file.b is not in the third");
    }

    #[test]
    fn nothing_in_common_has_no_mean() {
        let columns = [column("old", vec![record("file.a", 1)]), column("new", vec![record("file.b", 1)])];
        assert_eq!(compare(&columns, &Options::default()).areas, []);
        assert_eq!(compare(&[], &Options::default()).rows, []);
    }
}
