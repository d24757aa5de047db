//! Since when a row has been slower or faster, in a series of runs.

use super::column::Column;
use super::judge::judge_column;
use super::machine::Sides;
use super::row::ComparedRow;
use super::verdict::{Mark, Verdict};

/// A change begins in the first column that differs from the first run, if all later columns differ in the same direction and that column
/// also differs from the one before it. The last condition is needed because a verdict "not known" does not exclude a change.
pub fn find(rows: &mut [ComparedRow], columns: &[Column], margin: f64) {
    for column in 2..columns.len() {
        let begun: Vec<Option<Mark>> = rows.iter().map(|row| lasting(row, column)).collect();
        if begun.iter().all(Option::is_none) {
            continue;
        }
        let verdicts: Vec<Verdict> = rows
            .iter()
            .map(|row| row.verdicts[column].clone())
            .collect();
        let sides = Sides::new(&columns[column], &columns[column - 1], false);
        judge_column(rows, &sides, column, column - 1, None, margin);
        for ((row, mark), verdict) in rows.iter_mut().zip(begun).zip(verdicts) {
            let step = std::mem::replace(&mut row.verdicts[column], verdict);
            if mark.is_some() && mark == step.mark() {
                row.since = Some(column);
            }
        }
    }
}

fn lasting(row: &ComparedRow, column: usize) -> Option<Mark> {
    let mark = row.verdicts[column]
        .mark()
        .filter(|mark| mark.is_change())?;
    let (before, after) = row.verdicts.split_at(column);
    let mut marks = before.iter().filter_map(Verdict::mark);
    let is_first = !marks.any(Mark::is_change);
    let lasts = after.iter().all(|verdict| verdict.mark() == Some(mark));
    (is_first && lasts).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::super::{Options, compare};
    use model::fixtures::record;

    fn since(costs_us: &[u64]) -> Option<usize> {
        let columns: Vec<_> = costs_us
            .iter()
            .map(|us| column("", vec![record("file.lstat", us * 1000)]))
            .collect();
        compare(&columns, &Options::default()).rows[0].since
    }

    #[test]
    fn a_change_begins_where_the_run_differs_from_the_one_before() {
        assert_eq!(since(&[100, 100, 101, 120, 121, 120]), Some(3));
        assert_eq!(since(&[120, 121, 100, 100]), Some(2));
        // Known in the first of them already, and gone again.
        assert_eq!(since(&[100, 120, 120, 120]), None);
        assert_eq!(since(&[100, 100, 120, 100]), None);
        // So gradual that no run differs from the one before it.
        assert_eq!(since(&[100, 102, 105, 108, 111]), None);
    }
}
