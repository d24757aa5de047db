//! The runs of one side as one column: costs are geometric means over its runs, and each row keeps the median of each run.

use super::cell::Cell;
use super::column::{Column, ColumnInfo};
use super::conditions::CONDITIONS;
use super::same_work::is_same;
use crate::derive::DerivedRow;
use crate::summary::{Instructions, RowFigure, combined, derived_over};
use indexmap::IndexMap;
use model::{Case, Failure};
use stats::Launches;

impl Column {
    /// Rows are in the order of the first file that has them, the asked ones first. `None` without columns.
    pub fn group(label: &str, columns: Vec<Column>) -> Option<Column> {
        let info = info(label, &columns)?;
        let mut rows: IndexMap<Case, Vec<(usize, Cell)>> = IndexMap::new();
        let mut derived: Vec<Vec<DerivedRow>> = Vec::new();
        let panel = columns
            .iter()
            .flat_map(|column| column.panel.clone())
            .collect();
        // The scatter that was learned from the most runs.
        let machine = columns
            .iter()
            .map(|column| column.machine)
            .max_by(|a, b| a.degrees.total_cmp(&b.degrees))?;
        let counts: Vec<usize> = columns.iter().map(|column| column.info.runs).collect();
        for (index, column) in columns.into_iter().enumerate() {
            for row in column.rows {
                let files = rows.entry(row.case.clone()).or_default();
                // A file that has a case twice has one row of it in a group.
                if files.last().is_none_or(|(last, _)| *last != index) {
                    files.push((index, row));
                }
            }
            derived.push(column.derived);
        }
        let mut rows: Vec<Cell> = rows
            .into_values()
            .map(|files| row(&files, &counts))
            .collect();
        rows.sort_by_key(|row| !row.asked);
        Some(Column {
            info,
            rows,
            derived: derived_over(derived.into_iter()),
            panel,
            machine,
        })
    }
}

fn info(label: &str, columns: &[Column]) -> Option<ColumnInfo> {
    let first = &columns.first()?.info;
    let mixed = CONDITIONS
        .iter()
        .filter(|(_, value_in)| {
            columns
                .iter()
                .any(|c| (*value_in)(&c.info) != (*value_in)(first))
        })
        .map(|(fact, _)| *fact)
        .collect();
    let mut warnings = Vec::new();
    for warning in columns.iter().flat_map(|column| &column.info.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let mut host = first.host.clone();
    for tax in columns.iter().flat_map(|column| &column.info.host.taxes) {
        if !host.taxes.contains(tax) {
            host.taxes.push(tax.clone());
        }
    }
    let labels = first.labels.clone().into_iter();
    Some(ColumnInfo {
        labels: labels
            .filter(|(key, text)| columns.iter().all(|c| c.info.labels.get(key) == Some(text)))
            .collect(),
        label: label.to_string(),
        complete: columns.iter().all(|column| column.info.complete),
        runs: columns.iter().map(|column| column.info.runs).sum(),
        starts: columns
            .iter()
            .flat_map(|column| column.info.starts.clone())
            .collect(),
        host,
        warnings,
        mixed,
        ..first.clone()
    })
}

fn row(files: &[(usize, Cell)], counts: &[usize]) -> Cell {
    let mut runs: Vec<Option<Launches>> = Vec::new();
    for (index, count) in counts.iter().enumerate() {
        match files.iter().find(|(file, _)| *file == index) {
            Some((_, row)) => runs.extend(row.runs.clone()),
            // Runs without the row keep their place, so that runs line up across rows.
            None => runs.resize(runs.len() + count, None),
        }
    }
    let ln_medians: Vec<f64> = runs
        .iter()
        .map(|run| run.as_ref().map_or(f64::NAN, |run| run.median_ns.ln()))
        .collect();
    let first = &files[0].1;
    let parts: Vec<_> = files
        .iter()
        .filter_map(|(index, row)| Some((*row.cost()?, counts[*index] as f64)))
        .collect();
    let counted: Vec<Instructions> = files
        .iter()
        .filter_map(|(_, row)| row.instructions().copied())
        .collect();
    let cost = combined(&parts, &ln_medians).map(RowFigure::Time);
    let figure = cost.or_else(|| Instructions::over(&counted).map(RowFigure::Instructions));
    let mut figure = figure.map_or_else(|| first.figure.clone(), Ok);
    if !parts.is_empty() && !counted.is_empty() {
        let text = "some files of this side have a time for it, others an instruction count";
        figure = Err(Failure::failed(text));
    }
    let known = || files.iter().filter_map(|(_, row)| row.entries.as_ref());
    if known().any(|entries| known().next().is_some_and(|first| !is_same(entries, first))) {
        figure = Err(Failure::failed(
            "its kernel entries differ between the files of this side",
        ));
    }
    Cell {
        case: first.case.clone(),
        asked: files.iter().any(|(_, row)| row.asked),
        runs: if figure.is_ok() { runs } else { Vec::new() },
        figure,
        entries: known().next().cloned(),
        is_traced: files.iter().any(|(_, row)| row.is_traced),
        depends_on_history: files.iter().any(|(_, row)| row.depends_on_history),
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::super::{Mark, Options, compare};
    use super::*;
    use model::fixtures::{entering, record, run, with};

    /// 20 earlier runs agreed within 0.1%.
    fn side(label: &str, costs: &[u64]) -> Column {
        Column::group(
            label,
            costs
                .iter()
                .map(|ns| {
                    let known = with(record("file.stat", *ns), |m| {
                        m.earlier = [1.0, 1.001, 0.999, 1.001, 0.999].repeat(4)
                    });
                    let mut run = run(vec![known, record("id.getppid", 100_000)]);
                    (run.host.run_scatter_percent, run.host.run_scatter_runs) =
                        (Some(0.2), Some(20));
                    Column::new("", &run)
                })
                .collect(),
        )
        .unwrap()
    }

    /// All runs of a side share the shift of their session.
    #[test]
    fn several_runs_a_side_show_less_than_one_by_what_they_share() {
        fn half(old: &[u64], new: &[u64]) -> f64 {
            let (low, high) = judged(old, new).low_high().unwrap();
            (high / low).ln() / 2.0
        }

        fn judged(old: &[u64], new: &[u64]) -> crate::compare::Verdict {
            compare(&[side("old", old), side("new", new)], &Options::default()).rows[0].verdicts[1]
                .clone()
        }

        let old = [100_000, 100_200, 99_900, 100_100, 99_800];
        let new = [103_000, 103_100, 102_900, 103_200, 102_800];
        assert_eq!(judged(&old, &new).mark(), Some(Mark::Slower));
        let (five, one) = (half(&old, &new), half(&old[..1], &new[..1]));
        assert!(
            five < one && five > 0.6 * one && one < 0.015,
            "{five} {one}"
        );
    }

    #[test]
    fn the_taxes_of_all_runs_are_kept() {
        let mut taxed = column("", vec![record("file.stat", 100)]);
        taxed.info.host.taxes = vec![model::Tax::default()];
        let group = Column::group("x", vec![column("", Vec::new()), taxed.clone(), taxed]).unwrap();
        assert_eq!(group.info.host.taxes, [model::Tax::default()]);
    }

    #[test]
    fn runs_without_a_row_are_told_apart_from_those_with_it() {
        let first = column("", vec![record("file.stat", 100)]);
        let second = column("", vec![record("id.umask", 50), record("file.stat", 100)]);
        let group = Column::group("x", vec![first, second]).unwrap();
        let umask = &group.rows[1];
        assert!(
            umask.case.operation == "id.umask" && umask.runs.len() == 2 && umask.runs[0].is_none()
        );
        assert!(umask.runs[1].is_some() && umask.figure.is_ok());
    }

    #[test]
    fn other_work_within_a_side_has_no_cost() {
        fn beside_stat(other: &[(&str, f64)]) -> Cell {
            let group = Column::group("x", vec![column_with(&[("stat", 1.0)]), column_with(other)]);
            group.unwrap().rows.swap_remove(0)
        }

        fn column_with(entries: &[(&str, f64)]) -> Column {
            column("", vec![entering("file.stat", 100, entries)])
        }

        let row = beside_stat(&[("open", 1.0), ("close", 1.0)]);
        assert!(row.figure.is_err() && row.runs.is_empty());
        assert!(beside_stat(&[("newfstatat", 1.0)]).figure.is_ok());
    }
}
