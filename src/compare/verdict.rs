//! What is said of two cells: a ratio with its interval and mark, or why there is none.

use super::column::Column;
use super::rows::{Cell, ComparedRow};
use super::work::{Work, work};
use crate::stats::{self, BetweenRuns};

/// One column of a row against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is the baseline.
    Baseline,
    Ratio(Ratio),
    /// At least one of the two is a figure without samples: a ratio that nothing is known of.
    OneFigure {
        ratio: f64,
        /// Divided by that of the reference call; `None` where either run lacks it.
        relative: Option<f64>,
    },
    /// Their kernel entries differ: in words, how.
    DifferentWork(String),
    /// One of the two is not there, or failed.
    Missing,
}

/// Cost over the baseline's cost, without a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    /// Interval of 95% confidence, for this row alone.
    pub low: f64,
    pub high: f64,
    /// Divided by that of the reference call; `None` where either run lacks it.
    pub relative: Option<f64>,
    /// What holds with 95% confidence for all marks of the comparison together.
    pub mark: Mark,
}

/// What can be said of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Surely within the margin.
    Same,
    /// The runs cannot tell.
    Unresolved,
    /// Surely cheaper, by more than the margin.
    Faster,
    /// Surely dearer, by more than the margin.
    Slower,
}

impl Verdict {
    /// The ratio, whether anything is known of it or not.
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio { ratio, .. }) | Verdict::OneFigure { ratio, .. } => Some(*ratio),
            _ => None,
        }
    }

    /// The ratio divided by that of the reference call.
    pub fn relative(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio { relative, .. }) | Verdict::OneFigure { relative, .. } => *relative,
            _ => None,
        }
    }

    pub fn low_high(&self) -> Option<(f64, f64)> {
        match self {
            Verdict::Ratio(ratio) => Some((ratio.low, ratio.high)),
            _ => None,
        }
    }

    pub fn mark(&self) -> Option<Mark> {
        match self {
            Verdict::Ratio(ratio) => Some(ratio.mark),
            _ => None,
        }
    }
}

/// The confidence that all marks together have.
const LEVEL: f64 = 0.05;

/// Fills in the verdicts. Marks are corrected for the number of rows and columns by Holm's method; intervals are not.
pub fn judge(rows: &mut [ComparedRow], columns: &[Column], baseline: usize, margin: f64) {
    let yardsticks = yardsticks(columns, baseline);
    let mut claims: Vec<Claim> = Vec::new();
    for (index, row) in rows.iter_mut().enumerate() {
        row.verdicts = vec![Verdict::Missing; columns.len()];
        for (column, yardstick) in yardsticks.iter().enumerate() {
            let labels = (columns[column].info.label.as_str(), columns[baseline].info.label.as_str());
            let (verdict, found) = match column == baseline {
                true => (Verdict::Baseline, None),
                false => verdict(row, (column, baseline), labels, *yardstick),
            };
            row.verdicts[column] = verdict;
            claims.extend(found.map(|found| Claim::of(index, column, &found, margin)));
        }
    }
    let p_values: Vec<f64> = claims.iter().map(|claim| claim.p).collect();
    let holds = stats::holm(&p_values, LEVEL);
    for (claim, _) in claims.iter().zip(holds).filter(|(_, holds)| *holds) {
        if let Verdict::Ratio(ratio) = &mut rows[claim.row].verdicts[claim.column] {
            ratio.mark = claim.mark;
        }
    }
}

/// The mark that one ratio speaks for, and how likely it looks so by chance.
struct Claim {
    row: usize,
    column: usize,
    mark: Mark,
    p: f64,
}

impl Claim {
    fn of(row: usize, column: usize, found: &BetweenRuns, margin: f64) -> Claim {
        let (mark, p) = match found.log_ratio {
            log if log.abs() <= margin.ln_1p() => (Mark::Same, found.p_same(margin)),
            log if log < 0.0 => (Mark::Faster, found.p_differs(margin)),
            _ => (Mark::Slower, found.p_differs(margin)),
        };
        Claim { row, column, mark, p }
    }
}

fn verdict(
    row: &ComparedRow,
    (column, baseline): (usize, usize),
    (label, base_label): (&str, &str),
    yardstick: Option<f64>,
) -> (Verdict, Option<BetweenRuns>) {
    let (Some(cell), Some(base)) = (&row.cells[column], &row.cells[baseline]) else { return (Verdict::Missing, None) };
    let (Some(cost), Some(base_cost)) = (cell.cost_ns(), base.cost_ns()) else { return (Verdict::Missing, None) };
    if let Work::Different(how) = work(cell, label, base, base_label) {
        return (Verdict::DifferentWork(how), None);
    }
    let ratio = cost / base_cost;
    let relative = yardstick.map(|yardstick| ratio / yardstick);
    match between(cell, base) {
        Some(found) => (Verdict::Ratio(unmarked(&found, relative)), Some(found)),
        None => (Verdict::OneFigure { ratio, relative }, None),
    }
}

fn between(cell: &Cell, base: &Cell) -> Option<BetweenRuns> {
    stats::between_runs(cell.launches.as_ref()?, base.launches.as_ref()?)
}

fn unmarked(found: &BetweenRuns, relative: Option<f64>) -> Ratio {
    let (low, high) = found.low_high();
    Ratio { ratio: found.ratio(), low, high, relative, mark: Mark::Unresolved }
}

/// The ratio of the reference call in each column; `None` where one of the two does not have it.
fn yardsticks(columns: &[Column], baseline: usize) -> Vec<Option<f64>> {
    let cost = |column: &Column| column.reference().and_then(|row| row.cost_ns());
    let base = columns.get(baseline).and_then(cost);
    columns.iter().map(|column| Some(cost(column)? / base?)).collect()
}

/// The reference call against the baseline's, marked by itself: it is one question, asked first.
pub fn reference(columns: &[Column], baseline: usize, margin: f64) -> Vec<Verdict> {
    let judged = |index: usize| {
        let (Some(own), Some(base)) = (columns[index].reference(), columns[baseline].reference()) else {
            return Verdict::Missing;
        };
        let found = own.launches.as_ref().zip(base.launches.as_ref()).and_then(|(a, b)| stats::between_runs(a, b));
        match (found, own.cost_ns(), base.cost_ns()) {
            (Some(found), ..) => {
                let claim = Claim::of(0, index, &found, margin);
                let mark = if claim.p <= LEVEL { claim.mark } else { Mark::Unresolved };
                Verdict::Ratio(Ratio { mark, ..unmarked(&found, None) })
            }
            (None, Some(own), Some(base)) => Verdict::OneFigure { ratio: own / base, relative: None },
            _ => Verdict::Missing,
        }
    };
    let all = 0..columns.len();
    all.map(|index| if index == baseline { Verdict::Baseline } else { judged(index) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{column, published, record};
    use super::super::{Options, compare};
    use super::*;
    use crate::model::{Failure, FailureKind, Outcome};

    fn marks(old: u64, new: u64, margin: f64) -> Option<Mark> {
        let columns = [column("old", vec![record("file.lstat", old)]), column("new", vec![record("file.lstat", new)])];
        compare(&columns, &Options { margin, ..Options::default() }).rows[0].verdicts[1].mark()
    }

    #[test]
    fn marks_say_no_more_than_is_known() {
        assert_eq!(marks(100_000, 110_000, 0.01), Some(Mark::Slower));
        assert_eq!(marks(110_000, 100_000, 0.01), Some(Mark::Faster));
        assert_eq!(marks(100_000, 102_000, 0.01), Some(Mark::Unresolved));
        assert_eq!(marks(100_000, 100_000, 0.01), Some(Mark::Unresolved), "two runs cannot show sameness within 1%");
        assert_eq!(marks(100_000, 100_500, 0.05), Some(Mark::Same));
        assert_eq!(marks(100_000, 110_000, 0.10), Some(Mark::Unresolved));
    }

    #[test]
    fn what_cannot_be_divided_is_not() {
        let mut failed = record("file.stat", 100);
        failed.outcome = Outcome::Failed(Failure::new(FailureKind::Timeout, "no answer"));
        let old = column("old", vec![record("file.stat", 1), published("id.umask", 50.0), published("id.zero", 0.0)]);
        let new = column("new", vec![failed, record("id.umask", 100), record("id.zero", 10)]);
        let comparison = compare(&[old, new], &Options::default());
        let verdicts: Vec<&Verdict> = comparison.rows.iter().map(|row| &row.verdicts[1]).collect();
        let one = Verdict::OneFigure { ratio: 2.0, relative: None };
        assert_eq!(verdicts, [&Verdict::Missing, &one, &Verdict::Missing]);
        assert!(comparison.rows.iter().all(|row| row.verdicts[0] == Verdict::Baseline));
    }

    #[test]
    fn ratios_are_also_told_relative_to_the_reference_call() {
        let old = column("old", vec![record("file.stat", 1000), record("id.getppid", 100)]);
        let new = column("new", vec![record("file.stat", 3000), record("id.getppid", 150)]);
        let comparison = compare(&[old, new], &Options::default());
        let verdict = &comparison.rows[0].verdicts[1];
        assert!((verdict.relative().unwrap() - 2.0).abs() < 1e-9 && (verdict.ratio().unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(comparison.reference[1].mark(), Some(Mark::Slower));
    }

    #[test]
    fn many_rows_need_more_evidence_for_each() {
        let rows = |count: usize, ns: u64| (0..count).map(|i| record(&format!("file.op{i}"), ns)).collect::<Vec<_>>();
        let marked = |count: usize| {
            let columns = [column("old", rows(count, 100_000)), column("new", rows(count, 108_000))];
            compare(&columns, &Options::default()).rows[0].verdicts[1].mark()
        };
        assert_eq!((marked(1), marked(100)), (Some(Mark::Slower), Some(Mark::Unresolved)));
    }
}
