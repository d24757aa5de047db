//! Fills in the verdicts of each row: each column compared with the baseline.

use super::cell::Cell;
use super::column::Column;
use super::machine::Sides;
use super::row::ComparedRow;
use super::same_work::{Work, work};
use super::verdict::{Mark, PlainRatio, Ratio, RatioOf, Verdict};
use model::{Nanos, Unit};
use stats::{BetweenRuns, Finding, Quantity, findings};

/// Marks are corrected for the number of rows in the column by `stats::findings`, so that the verdicts on a file do not depend on which
/// other files are compared. Intervals are not corrected.
pub fn judge(
    rows: &mut [ComparedRow],
    sides: &[Sides],
    columns: &[Column],
    baseline: usize,
    margin: f64,
) {
    rows.iter_mut()
        .for_each(|row| row.verdicts = vec![Verdict::Missing; columns.len()]);
    for (column, yardstick) in yardsticks(columns, baseline).into_iter().enumerate() {
        if column == baseline {
            rows.iter_mut()
                .for_each(|row| row.verdicts[column] = Verdict::Baseline);
        } else {
            judge_column(rows, &sides[column], column, baseline, yardstick, margin);
        }
    }
}

pub fn judge_column(
    rows: &mut [ComparedRow],
    sides: &Sides,
    column: usize,
    baseline: usize,
    yardstick: Option<f64>,
    margin: f64,
) {
    let (mut indices, mut ratios) = (Vec::new(), Vec::new());
    for (index, row) in rows.iter_mut().enumerate() {
        let (Some(cell), Some(base)) = (&row.cells[column], &row.cells[baseline]) else {
            continue;
        };
        let (verdict, ratio) = verdict(cell, base, sides, yardstick, margin);
        indices.extend(ratio.is_some().then_some(index));
        ratios.extend(ratio);
        row.verdicts[column] = verdict;
    }
    for (index, mark) in indices.into_iter().zip(marks(&ratios, margin)) {
        if let Verdict::Ratio(ratio) = &mut rows[index].verdicts[column] {
            ratio.mark = mark;
        }
    }
}

/// The verdict on `cell`, and what its mark is to be tested by; instructions need no test.
fn verdict(
    cell: &Cell,
    base: &Cell,
    sides: &Sides,
    yardstick: Option<f64>,
    margin: f64,
) -> (Verdict, Option<BetweenRuns>) {
    fn divisible(quantity: Quantity) -> bool {
        quantity.unit == Unit::Instructions || Nanos(quantity.value).is_cost()
    }

    let (Some(figure), Some(base_figure)) = (cell.quantity(), base.quantity()) else {
        return (Verdict::Missing, None);
    };
    if figure.unit != base_figure.unit {
        return (Verdict::OtherUnit, None);
    }
    if !(divisible(figure) && divisible(base_figure)) {
        return (Verdict::Missing, None);
    }
    // Before any ratio: that of different work would be read as a change of cost.
    if let Work::Different(difference) = work(cell, base) {
        return (Verdict::DifferentWork(difference), None);
    }
    if figure.unit == Unit::Instructions {
        return (
            exact(figure, base_figure, margin).map_or(Verdict::Missing, Verdict::Ratio),
            None,
        );
    }
    let ratio = figure.value / base_figure.value;
    let relative = yardstick.map(|yardstick| ratio / yardstick);
    let plain = PlainRatio { ratio, relative };
    if let Some(refused) = refusal(cell, base, sides) {
        return (refused(plain), None);
    }
    match sides.compared(cell, base) {
        Some(between) => (
            Verdict::Ratio(unmarked(
                &between,
                RatioOf::Time {
                    as_measured: ratio,
                    relative,
                },
            )),
            Some(between),
        ),
        None => (Verdict::OneFigure(plain), None),
    }
}

/// Why no ratio of the two is a sign of a change.
fn refusal(cell: &Cell, base: &Cell, sides: &Sides) -> Option<fn(PlainRatio) -> Verdict> {
    if cell.depends_on_history || base.depends_on_history {
        Some(Verdict::DependsOnHistory)
    } else if cell.is_traced != base.is_traced {
        Some(Verdict::Traced)
    } else if (cell.is_disturbed() || base.is_disturbed()) && !sides.overhead_differs {
        Some(Verdict::Disturbed)
    } else {
        None
    }
}

fn exact(count: Quantity, base: Quantity, margin: f64) -> Option<Ratio> {
    let ((count_low, count_high), (base_low, base_high)) = count.low_high.zip(base.low_high)?;
    if base_low <= 0.0 || count_low <= 0.0 {
        return None;
    }
    let (low, high) = (count_low / base_high, count_high / base_low);
    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
    let mark = match (low, high) {
        _ if low > most => Mark::More,
        _ if high < least => Mark::Fewer,
        _ if low >= least && high <= most => Mark::Equal,
        _ => Mark::NotKnown,
    };
    let kind = RatioOf::Instructions {
        difference: count.value - base.value,
    };
    Some(Ratio {
        ratio: count.value / base.value,
        low,
        high,
        kind,
        mark,
    })
}

fn marks(ratios: &[BetweenRuns], margin: f64) -> Vec<Mark> {
    findings(ratios, margin)
        .into_iter()
        .map(Mark::from)
        .collect()
}

impl From<Finding> for Mark {
    fn from(finding: Finding) -> Mark {
        match finding {
            Finding::Less => Mark::Faster,
            Finding::More => Mark::Slower,
            Finding::Equal => Mark::Equal,
            Finding::NotKnown => Mark::NotKnown,
        }
    }
}

pub(super) fn unmarked(ratio: &BetweenRuns, kind: RatioOf) -> Ratio {
    let (low, high) = ratio.low_high();
    Ratio {
        ratio: ratio.ratio(),
        low,
        high,
        kind,
        mark: Mark::NotKnown,
    }
}

fn yardsticks(columns: &[Column], baseline: usize) -> Vec<Option<f64>> {
    fn cost(column: &Column) -> Option<f64> {
        column.reference().and_then(|row| row.cost_ns())
    }

    let base = columns.get(baseline).and_then(cost);
    columns
        .iter()
        .map(|column| Some(cost(column)? / base?))
        .collect()
}

/// The reference call compared with the baseline's, as measured. It is a single test, so its mark needs no correction.
pub fn reference(
    sides: &[Sides],
    columns: &[Column],
    baseline: usize,
    margin: f64,
) -> Vec<Verdict> {
    let all = 0..columns.len();
    all.map(|index| {
        if index == baseline {
            Verdict::Baseline
        } else {
            judged_reference(&sides[index], &columns[index], &columns[baseline], margin)
        }
    })
    .collect()
}

fn judged_reference(sides: &Sides, column: &Column, base: &Column, margin: f64) -> Verdict {
    let (Some(cell), Some(base)) = (column.reference(), base.reference()) else {
        return Verdict::Missing;
    };
    let (Some(ns), Some(base_ns)) = (cell.cost_ns(), base.cost_ns()) else {
        return Verdict::Missing;
    };
    let plain = PlainRatio {
        ratio: ns / base_ns,
        relative: None,
    };
    if let Some(refused) = refusal(cell, base, sides) {
        return refused(plain);
    }
    match sides.as_measured(&cell.runs, &base.runs) {
        Some(between) => Verdict::Ratio(Ratio {
            mark: marks(&[between], margin)[0],
            ..unmarked(&between, RatioOf::time(between.ratio()))
        }),
        None => Verdict::OneFigure(plain),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowVisibility {
    Equal,
    NotKnown,
    Shown,
}

/// `margin` is a share; with several columns, the greatest value counts.
pub fn visibility(row: &ComparedRow, margin: f64) -> RowVisibility {
    row.verdicts
        .iter()
        .filter_map(|verdict| match verdict {
            Verdict::DifferentWork(_) => Some(RowVisibility::Shown),
            Verdict::OneFigure(plain) if plain.ratio.ln().abs() > margin.ln_1p() => {
                Some(RowVisibility::Shown)
            }
            Verdict::OneFigure(_) => Some(RowVisibility::Equal),
            refused if refused.is_refused() => Some(RowVisibility::NotKnown),
            Verdict::Ratio(ratio) => Some(match ratio.mark {
                Mark::Equal => RowVisibility::Equal,
                Mark::NotKnown => RowVisibility::NotKnown,
                _ => RowVisibility::Shown,
            }),
            Verdict::OtherUnit => Some(RowVisibility::Shown),
            _ => None,
        })
        .max()
        .unwrap_or(RowVisibility::Shown)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{column, compared};
    use super::super::{Options, compare};
    use super::*;
    use model::fixtures::{published, record};
    use model::{Failure, Outcome, Record};

    fn marks(old: u64, new: u64, margin: f64) -> Option<Mark> {
        let [old, new] = [old, new].map(|ns| column("", vec![record("file.lstat", ns)]));
        let options = Options {
            margin,
            ..Options::default()
        };
        compare(&[old, new], &options).rows[0].verdicts[1].mark()
    }

    #[test]
    fn marks_say_no_more_than_is_known() {
        assert_eq!(marks(100_000, 110_000, 0.01), Some(Mark::Slower));
        assert_eq!(marks(110_000, 100_000, 0.01), Some(Mark::Faster));
        assert_eq!(marks(100_000, 102_000, 0.01), Some(Mark::NotKnown));
        assert_eq!(
            marks(100_000, 100_000, 0.01),
            Some(Mark::NotKnown),
            "two runs cannot show sameness within 1%"
        );
        assert_eq!(marks(100_000, 100_500, 0.10), Some(Mark::Equal));
        assert_eq!(marks(100_000, 110_000, 0.11), Some(Mark::NotKnown));
    }

    #[test]
    fn what_cannot_be_divided_is_not() {
        let mut failed = record("file.stat", 100);
        failed.outcome = Outcome::Failed(Failure::timeout("no answer"));
        let old = vec![
            record("file.stat", 1),
            published("id.umask", 50.0),
            published("id.zero", 0.0),
        ];
        let new = vec![failed, record("id.umask", 100), record("id.zero", 10)];
        let comparison = compared(old, new);
        let verdicts: Vec<&Verdict> = comparison.rows.iter().map(|row| &row.verdicts[1]).collect();
        let one = Verdict::OneFigure(PlainRatio {
            ratio: 2.0,
            relative: None,
        });
        assert_eq!(verdicts, [&Verdict::Missing, &one, &Verdict::Missing]);
        assert!(
            comparison
                .rows
                .iter()
                .all(|row| row.verdicts[0] == Verdict::Baseline)
        );
    }

    fn rows(count: usize, ns: impl Fn(usize) -> u64) -> Vec<Record> {
        (0..count)
            .map(|i| record(&format!("file.op{i}"), ns(i)))
            .collect()
    }

    #[test]
    fn many_rows_need_more_evidence_for_each() {
        fn changing(count: usize, changed: usize, ns: u64) -> Vec<Record> {
            rows(count, |i| if i < changed { ns } else { 100_000 })
        }

        fn marked(count: usize, changed: usize) -> Option<Mark> {
            let (old, new) = (
                changing(count, 0, 100_000),
                changing(count, changed, 109_000),
            );
            compared(old, new).rows[0].verdicts[1].mark()
        }

        let slower = Some(Mark::Slower);
        assert_eq!(
            [marked(1, 1), marked(100, 1), marked(100, 100)],
            [slower, Some(Mark::NotKnown), slower]
        );
    }

    #[test]
    fn what_is_said_of_a_file_does_not_depend_on_the_others() {
        fn marked(others: usize) -> Vec<Verdict> {
            let [old, new] = [100_000, 108_000].map(|ns| rows(8, |_| ns));
            let mut columns = vec![column("old", old.clone()), column("new", new)];
            columns.extend((0..others).map(|i| column(&format!("same{i}"), old.clone())));
            let rows = compare(&columns, &Options::default()).rows;
            rows.iter().map(|row| row.verdicts[1].clone()).collect()
        }

        assert_eq!(marked(0)[0].mark(), Some(Mark::Slower));
        assert_eq!(marked(0), marked(30));
    }
}
