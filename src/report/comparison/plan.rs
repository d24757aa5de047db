//! A plan for a comparison as a table.

use crate::compare::{Plan, PlannedRow};
use crate::document::{Spec, params};
use crate::report::comparison::row::share;
use crate::report::numbers::percent;
use crate::report::{Cell, Table};

/// The table of `plan`: a row for each operation, with the runs that it needs.
pub fn plan_table(plan: &Plan) -> Table {
    let specs = [
        Spec::left("operation", |row: &PlannedRow| Cell::from(row.key.to_string()))
            .text("name", |row| row.key.label.clone())
            .text("environment", |row| row.key.environment.clone())
            .text("params", |row| params(&row.key.params)),
        Spec::right("run to run", |row: &PlannedRow| {
            Cell::number(format!("{}%", scatter(row.deviation_percent)), row.deviation_percent)
        })
        .number("deviation_percent", |row| row.deviation_percent),
        Spec::right("runs a side", |row: &PlannedRow| {
            row.runs_a_side.map_or(Cell::from("too many"), |runs| Cell::number(runs.to_string(), f64::from(runs)))
        })
        .count("runs_a_side", |row| row.runs_a_side.map(u64::from)),
    ];
    Table::of(&specs, &plan.rows).titled(title(plan)).noted(notes(plan))
}

fn scatter(value: f64) -> String {
    if value < 0.995 { format!("{value:.2}") } else { percent(value) }
}

fn title(plan: &Plan) -> String {
    let (change, margin) = (share(plan.change), share(plan.margin));
    format!("runs a side to find a change of {change} nine times in ten, called so if it is over {margin}")
}

/// The share of the rows that the summary is for.
const MOST: f64 = 0.9;

fn notes(plan: &Plan) -> Vec<String> {
    let each = format!("runs like {} of {} s", if plan.runs == 1 { "this one" } else { "these" }, plan.budget_s);
    let most = match plan.runs_for(MOST) {
        Some(runs) => {
            format!("{runs} {each} a side are enough for {} of {} rows", plan.shown_by(runs), plan.rows.len())
        }
        None => format!("no reasonable number of {each} is enough for 9 of 10 rows"),
    };
    let basis = match plan.runs {
        1 => {
            "'run to run' is what the launches of a single run let expect: name several runs to measure it".to_string()
        }
        runs => format!("'run to run' is the scatter of {runs} runs, relative to the machine as a whole"),
    };
    vec![most, basis]
}
