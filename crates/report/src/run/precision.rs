//! Where the next run's costs will be: in nanoseconds, which move with the machine, and relative to it.

use crate::numbers::{four_figures, in_percent, nanoseconds};
use crate::{Cell, Table};
use analysis::summary::{Row, RowCost, Summary};
use document::Spec;
use stats::Interval;

type Line<'a> = (&'a Row, &'a RowCost);

pub fn precision_table(summary: &Summary) -> Table {
    let all = summary.rows.iter().chain(&summary.baselines);
    let rows: Vec<Line> = all.filter_map(|row| Some((row, row.cost()?))).collect();
    let specs = [
        Spec::left("operation", |(row, _): &Line| {
            Cell::from(row.case.to_string())
        }),
        Spec::right("ns/op", |(_, cost): &Line| {
            number(Some(cost.median.0), nanoseconds)
        }),
        Spec::right("next run", |(_, cost): &Line| {
            range(cost.next_run, nanoseconds)
        }),
        Spec::right("± ns", |(_, cost): &Line| {
            number(cost.next_run_percent(), in_percent)
        }),
        Spec::right("x panel", |(_, cost): &Line| {
            number(cost.relative.map(|own| own.value), four_figures)
        }),
        Spec::right("next run", |(_, cost): &Line| {
            range(cost.relative.and_then(|own| own.next_run), four_figures)
        }),
        Spec::right("±", |(_, cost): &Line| {
            number(cost.own_percent(), in_percent)
        }),
    ];
    let note = summary.machine.map(|machine| {
        let from = machine.learned_from_runs.map_or("assumed".to_string(), |runs| format!("from {runs} runs"));
        format!(
            "x panel: in units of {} ns, the geometric mean of {} cheap operations, or in user mode of the median of those there; \
             whole runs have a standard deviation of {} ({from})",
            nanoseconds(machine.panel_ns),
            machine.members,
            in_percent(machine.between_runs_percent)
        )
    });
    Table::of(&specs, &rows).noted(note.into_iter().collect())
}

fn number(value: Option<f64>, format: fn(f64) -> String) -> Cell {
    value.map_or(Cell::from("?"), |value| Cell::number(format(value), value))
}

fn range(interval: Option<Interval>, format: fn(f64) -> String) -> Cell {
    Cell::from(interval.map_or("?".to_string(), |range| {
        format!("{} .. {}", format(range.low), format(range.high))
    }))
}
