//! Parts of time as rows of a table: the largest, and the others in one.

use crate::numbers::{TimeUnit, percent};
use crate::{Cell, Columns, Table};
use indexmap::IndexSet;
use model::prose::some;

/// Smaller shares of the time are summed in one row.
const LEAST: f64 = 0.005;

#[derive(Default)]
pub struct Row {
    pub name: String,
    pub seconds: f64,
    /// The interval of a part that few samples measure.
    pub range: Option<[f64; 2]>,
    pub cpu_s: Option<f64>,
    pub waits: Option<u64>,
    pub what: String,
}

/// `rows` fall by time.
pub fn shortened(mut rows: Vec<Row>, most: usize, names: usize, rest: &str) -> Vec<Row> {
    let whole_s: f64 = rows.iter().map(|row| row.seconds).sum();
    let large = rows.iter().take(most);
    let large = large
        .take_while(|row| row.seconds >= LEAST * whole_s)
        .count();
    let small = rows.split_off(large);
    let seconds: f64 = small.iter().map(|row| row.seconds).sum();
    if seconds > LEAST / 10.0 * whole_s {
        let kinds = small.iter().map(|row| row.name.as_str());
        let kinds = kinds.map(|name| match name.strip_prefix("idle: ") {
            Some(idle) if rest.starts_with("idle") => idle,
            _ => name,
        });
        let others: IndexSet<&str> = kinds.collect();
        let others: Vec<&str> = others.into_iter().collect();
        let cpu_s = small.iter().filter_map(|row| row.cpu_s);
        rows.push(Row {
            name: rest.to_string(),
            seconds,
            cpu_s: cpu_s.reduce(|sum, seconds| sum + seconds),
            what: some(&others, names),
            ..Row::default()
        });
    }
    rows
}

/// A table of the rows with their shares of `whole_s`. Pages and `why` leave out its empty columns.
pub fn table(rows: &[Row], whole_s: f64) -> Table {
    let unit = TimeUnit::for_seconds(whole_s);
    let columns = Columns::new(rows)
        .left("part", |row| &row.name)
        .right(&unit.title("time"), |row| match row.range {
            Some(range) => Cell::number(unit.range(range), row.seconds),
            None => Cell::number(unit.text(row.seconds), row.seconds),
        })
        .right("%", |row| {
            let share = if whole_s > 0.0 {
                row.seconds / whole_s
            } else {
                0.0
            };
            Cell::number(percent(100.0 * share), share)
        })
        .right(&unit.title("CPU"), |row| {
            Cell::known(row.cpu_s, |seconds| unit.text(seconds))
        })
        .right("waits", |row| row.waits)
        .right("ms each", |row| {
            let each = row
                .waits
                .map(|waits| 1e3 * row.seconds / waits.max(1) as f64);
            Cell::known(each, |each| format!("{each:.2}"))
        })
        .left("what", |row| &row.what)
        .wrapping();
    columns.table()
}
