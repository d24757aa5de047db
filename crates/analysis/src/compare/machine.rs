//! How much faster or slower the machine was as a whole in two columns, by the panel of cheap operations that every run measures. On one
//! machine, rows are judged relative to it, which is several times sharper.

use super::cell::Cell;
use super::column::{Column, PanelCosts};
use model::{PANEL, PANEL_IN_USER_MODE, SPIN};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{BetweenRuns, Control, FEWEST_MEMBERS, Launches, Side};
use std::collections::BTreeSet;

/// How much faster or slower the machine was as a whole in one column than in the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineChange {
    /// The panel's cost over that in the baseline.
    pub ratio: f64,
    /// The lower end of its 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The same for the members in user mode alone, without interval.
    pub user_mode: f64,
    /// The same for the members in the kernel alone.
    pub kernel_mode: f64,
    /// Whether rows are judged relative to the machine as a whole: not if user mode and kernel moved apart, since the kernel
    /// itself then has another cost.
    pub rows_are_relative: bool,
}

// The shift beyond which a shift of the whole machine is an error of each row (`MUCH_MOVED` in stats).
/// User mode and kernel that moved apart by more, as a logarithm, did not move as a whole machine. Between equal runs they
/// stay within that.
const APART: f64 = 0.05;

pub struct Sides<'a> {
    columns: [&'a Column; 2],
    /// The yardstick for rows in the kernel; `None` if they are not relative to the machine.
    kernel: Option<Yardstick>,
    /// The same of rows in user mode.
    user: Option<Yardstick>,
    pub change: Option<MachineChange>,
    /// One of the two has lasting overhead on every call, such as a filter, that the other lacks, on a machine whose user mode was as fast in
    /// both: calls are slower for a known reason.
    pub overhead_differs: bool,
}

/// How fast the machine was in each run, and how far the panel's members, which did not change, moved apart.
struct Yardstick {
    /// ln of how much slower the machine was in each run, of the column and of the baseline.
    shifts: [Vec<f64>; 2],
    control: Control,
}

impl<'a> Sides<'a> {
    /// The baseline is `base`. With `elsewhere`, the columns are of different environments, whose panels differ by more than the machine's
    /// speed.
    pub fn new(column: &'a Column, base: &'a Column, elsewhere: bool) -> Sides<'a> {
        let unknown = Sides {
            columns: [column, base],
            kernel: None,
            user: None,
            change: None,
            overhead_differs: false,
        };
        if elsewhere || !same_machine(column, base) {
            return unknown;
        }
        let Some(all) = shifts(column, base, &PANEL, FEWEST_MEMBERS) else {
            return unknown;
        };
        let change = change(column, base, &all);
        let kernel = &PANEL[PANEL_IN_USER_MODE..];
        // The panel's calls have that overhead too: only its user mode shows how fast the machine was.
        let overhead_differs = lasting(column) != lasting(base)
            && shifts(column, base, &[SPIN], 1).is_some_and(|user| are_equally_fast(&user));
        let is_relative =
            change.is_some_and(|change| change.rows_are_relative) && !overhead_differs;
        Sides {
            kernel: if is_relative {
                yardstick(column, base, change, kernel, FEWEST_MEMBERS)
            } else {
                None
            },
            user: yardstick(column, base, change, &[SPIN], 1),
            change: change.filter(|_| !overhead_differs),
            overhead_differs,
            ..unknown
        }
    }

    /// Relative to the machine as a whole if its speed is known.
    pub fn compared(&self, cell: &Cell, base: &Cell) -> Option<BetweenRuns> {
        let mut runs = cell.runs.iter().chain(&base.runs).flatten();
        let yardstick = if runs.all(|run| run.in_user_mode) {
            &self.user
        } else {
            &self.kernel
        };
        let Some(Yardstick { shifts, control }) = yardstick.as_ref().filter(|yardstick| {
            let [column_shifts, base_shifts] = &yardstick.shifts;
            (column_shifts.len(), base_shifts.len()) == (cell.runs.len(), base.runs.len())
        }) else {
            return self.as_measured(&cell.runs, &base.runs);
        };
        let member = PANEL
            .iter()
            .position(|operation| cell.case.is_plain(operation));
        let (new, old) = (case(&cell.runs, &shifts[0])?, case(&base.runs, &shifts[1])?);
        Some(control.compared(&new, &old, member))
    }

    /// The ratio of the runs of two cells as they were measured, with the uncertainty of the machine's speed.
    pub fn as_measured(
        &self,
        runs: &[Option<Launches>],
        base: &[Option<Launches>],
    ) -> Option<BetweenRuns> {
        fn both(column: &Column, runs: &[Option<Launches>]) -> Option<[Side; 2]> {
            let shifts = shifts_within(column, runs);
            Some([
                case(runs, &shifts)?,
                Side::from_machine(&shifts, column.machine),
            ])
        }

        let [column, base_column] = self.columns;
        Some(BetweenRuns::from_sides(
            &both(column, runs)?,
            &both(base_column, base)?,
        ))
    }
}

fn are_equally_fast(shifts: &[Vec<f64>; 2]) -> bool {
    let [new, old] = shifts
        .each_ref()
        .map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64);
    (new - old).abs() < APART
}

fn lasting(column: &Column) -> BTreeSet<&str> {
    let taxes = column.info.host.taxes.iter();
    let lasting = taxes.filter(|tax| !tax.is_passing());
    lasting.map(|tax| tax.kind.as_str()).collect()
}

fn yardstick(
    column: &Column,
    base: &Column,
    change: Option<MachineChange>,
    operations: &[&str],
    fewest: usize,
) -> Option<Yardstick> {
    let shifts = shifts(column, base, operations, fewest)?;
    let control = control(column, base, change?.ratio.ln())?;
    Some(Yardstick { shifts, control })
}

/// Empty if that is unknown.
fn shifts_within(column: &Column, runs: &[Option<Launches>]) -> Vec<f64> {
    let (operations, fewest) = unit(runs.iter().flatten());
    stats::run_shifts(&members(&column.panel, &[], operations), fewest).unwrap_or_default()
}

fn unit<'a>(mut runs: impl Iterator<Item = &'a Launches>) -> (&'static [&'static str], usize) {
    if runs.all(|run| run.in_user_mode) {
        (&[SPIN], 1)
    } else {
        (&PANEL, FEWEST_MEMBERS)
    }
}

fn case(runs: &[Option<Launches>], slower_ln: &[f64]) -> Option<Side> {
    let known: Vec<_> = runs
        .iter()
        .enumerate()
        .filter_map(|(i, run)| Some((run.clone()?, slower_ln.get(i).copied().unwrap_or(0.0))))
        .collect();
    Side::from_case(&known)
}

fn control(column: &Column, base: &Column, moved_ln: f64) -> Option<Control> {
    let operations = &PANEL[PANEL_IN_USER_MODE..];
    let [column_shifts, base_shifts] = shifts(column, base, operations, FEWEST_MEMBERS)?;
    let members = operations
        .iter()
        .enumerate()
        .filter_map(|(number, operation)| {
            let (new, old) = (column.operation(operation)?, base.operation(operation)?);
            let sides = (
                case(&new.runs, &column_shifts)?,
                case(&old.runs, &base_shifts)?,
            );
            Some((PANEL_IN_USER_MODE + number, sides.0, sides.1))
        });
    Some(Control::new(members, moved_ln))
}

fn same_machine(column: &Column, base: &Column) -> bool {
    let [facts, base_facts] = [column, base].map(|column| {
        let host = &column.info.host;
        (&host.name, &host.cpu, &host.kernel)
    });
    facts == base_facts
}

/// `None` unless at least `fewest` of `operations` are in all runs.
fn shifts(
    column: &Column,
    base: &Column,
    operations: &[&str],
    fewest: usize,
) -> Option<[Vec<f64>; 2]> {
    let mut column_shifts =
        stats::run_shifts(&members(&column.panel, &base.panel, operations), fewest)?;
    let base_shifts = column_shifts.split_off(column.panel.len());
    Some([column_shifts, base_shifts])
}

/// Logarithms by operation and run.
fn members(panels: &[PanelCosts], base: &[PanelCosts], operations: &[&str]) -> Vec<Vec<f64>> {
    operations
        .iter()
        .filter_map(|operation: &&str| -> Option<Vec<f64>> {
            panels
                .iter()
                .chain(base)
                .map(|run| run.get(*operation).map(|ns| ns.ln()))
                .collect()
        })
        .collect()
}

fn change(column: &Column, base: &Column, shifts: &[Vec<f64>; 2]) -> Option<MachineChange> {
    fn side(column: &Column, shifts: &[f64]) -> [Side; 1] {
        [Side::from_machine(shifts, column.machine)]
    }

    let ratio = BetweenRuns::from_sides(&side(column, &shifts[0]), &side(base, &shifts[1]));
    let (user, kernel) = PANEL.split_at(PANEL_IN_USER_MODE);
    let [user_mode, kernel_mode] = [user, kernel].map(|operations| {
        let members = members(&column.panel, &base.panel, operations);
        mean_ratio(&members, column.panel.len())
    });
    let (user_mode, kernel_mode) = (user_mode?, kernel_mode?);
    let rows_are_relative = (user_mode / kernel_mode).ln().abs() <= APART;
    let (low, high) = ratio.low_high();
    Some(MachineChange {
        ratio: ratio.ratio(),
        low,
        high,
        user_mode,
        kernel_mode,
        rows_are_relative,
    })
}

fn mean_ratio(members: &[Vec<f64>], first: usize) -> Option<f64> {
    fn mean(logs: &[f64]) -> f64 {
        logs.iter().sum::<f64>() / logs.len() as f64
    }

    if members.len() < FEWEST_MEMBERS / 2 {
        return None;
    }
    let ratios = members
        .iter()
        .map(|logs| mean(&logs[..first]) - mean(&logs[first..]));
    stats::median(ratios.collect()).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{column, compared};
    use super::super::{Mark, Options, compare};
    use super::*;
    use model::Record;
    use model::fixtures::{self, record};

    fn with(ns: u64, kernel: f64, other: u64) -> Vec<Record> {
        let panel = PANEL.iter().enumerate().map(|(i, operation)| {
            let times = if i < PANEL_IN_USER_MODE { 1.0 } else { kernel };
            record(operation, (ns as f64 * times) as u64)
        });
        let records = panel.chain([record("file.stat", other)]);
        records
            .map(|record| fixtures::with(record, |m| m.earlier = vec![1.0; 19]))
            .collect()
    }

    fn marks(old: Vec<Record>, new: Vec<Record>) -> (Option<MachineChange>, f64, Option<Mark>) {
        let comparison = compared(old, new);
        let mut rows = comparison.rows.iter();
        let row = rows.find(|row| row.operation == "file.stat").unwrap();
        let verdict = &row.verdicts[1];
        (
            comparison.machine[1],
            verdict.ratio().unwrap(),
            verdict.mark(),
        )
    }

    #[test]
    fn what_all_rows_share_is_the_machine_and_two_runs_then_show_three_percent() {
        let (change, ratio, mark) = marks(with(100_000, 1.0, 100_000), with(105_000, 1.0, 108_150));
        let change = change.unwrap();
        assert!(
            change.rows_are_relative && (change.ratio - 1.05).abs() < 1e-6,
            "{change:?}"
        );
        assert!((ratio - 1.03).abs() < 1e-6, "{ratio}");
        assert_eq!(mark, Some(Mark::Slower));
        let (_, ratio, mark) = marks(with(100_000, 1.0, 100_000), with(105_000, 1.0, 105_000));
        assert!((ratio - 1.0).abs() < 1e-6);
        assert_eq!(mark, Some(Mark::Equal));
    }

    #[test]
    fn a_slower_kernel_is_no_slower_machine() {
        let (change, ratio, mark) = marks(with(100_000, 1.0, 100_000), with(100_000, 1.1, 110_000));
        let change = change.unwrap();
        assert!(
            !change.rows_are_relative && (change.kernel_mode - 1.1).abs() < 1e-6,
            "{change:?}"
        );
        assert_eq!(change.user_mode, 1.0);
        assert!((ratio - 1.1).abs() < 1e-6);
        assert_eq!(mark, Some(Mark::Slower));
    }

    /// The code of the other members was placed elsewhere in memory.
    #[test]
    fn rows_in_user_mode_are_relative_to_what_the_clock_alone_moves() {
        fn records(ns: u64) -> Vec<Record> {
            let mut records = with(100_000, 1.0, 100_000);
            for record in &mut records {
                let operation = record.case.operation.as_str();
                if PANEL[..PANEL_IN_USER_MODE].contains(&operation) && operation != SPIN {
                    *record = fixtures::record(operation, ns);
                }
                record.user_mode = Some(true);
            }
            records
        }

        let (_, ratio, mark) = marks(records(100_000), records(103_000));
        assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
        assert_eq!(mark, Some(Mark::Equal));
    }

    #[test]
    fn another_machine_is_compared_as_measured() {
        let (old, mut new) = (
            column("old", with(100_000, 1.0, 100_000)),
            column("new", with(105_000, 1.0, 105_000)),
        );
        new.info.host.kernel = Some("7.0".to_string());
        let comparison = compare(&[old, new], &Options::default());
        assert_eq!(comparison.machine, [None, None]);
        assert!((comparison.rows[0].verdicts[1].ratio().unwrap() - 1.05).abs() < 1e-6);
    }
}
