//! Where the next run's costs will be: in nanoseconds, which move with the machine, and relative to it.

use crate::numbers::{four_figures, in_percent, nanoseconds};
use crate::{Cell, Columns, Table};
use analysis::summary::{Row, RowCost, Summary};
use model::prose::counted;
use stats::Interval;

pub fn precision_table(summary: &Summary) -> Table {
    let rows: Vec<(&Row, &RowCost)> = summary
        .rows
        .iter()
        .chain(&summary.baselines)
        .filter_map(|row| Some((row, row.cost()?)))
        .collect();
    let columns = Columns::of(&rows)
        .left("operation", |(row, _)| row.case.to_string())
        .right("ns/op", |(_, cost)| {
            number(Some(cost.median.0), nanoseconds)
        })
        .right("next run", |(_, cost)| range(cost.next_run, nanoseconds))
        .right("± ns", |(_, cost)| {
            number(cost.next_run_percent(), in_percent)
        })
        .right("x panel", |(_, cost)| {
            number(cost.relative.map(|own| own.value), four_figures)
        })
        .right("next run", |(_, cost)| {
            range(cost.relative.and_then(|own| own.next_run), four_figures)
        })
        .right("±", |(_, cost)| number(cost.own_percent(), in_percent));
    let note = summary.machine.map(|machine| {
        let from = machine.learned_from_runs.map_or("assumed".to_string(), |runs| format!("from {}", counted(runs, "run")));
        format!(
            "x panel: in units of {} ns, the geometric mean of {} cheap operations, or in user mode of the median of those there; \
             whole runs have a standard deviation of {} ({from})",
            nanoseconds(machine.panel_ns),
            machine.members,
            in_percent(machine.between_runs_percent)
        )
    });
    columns.table().noted(note)
}

/// `?` if it is not known.
pub fn number(value: Option<f64>, format: fn(f64) -> String) -> Cell {
    value.map_or(Cell::from("?"), |value| Cell::number(format(value), value))
}

fn range(interval: Option<Interval>, format: fn(f64) -> String) -> Cell {
    Cell::from(interval.map_or("?".to_string(), |range| {
        format!("{} .. {}", format(range.low), format(range.high))
    }))
}
