//! The table by parameter: a row for each value, a column for each strategy; lines and crossovers below.

use crate::fit::notes::{crossovers, lines};
use crate::numbers::{nanoseconds, significant};
use crate::{Cell, Columns, Table};
use analysis::fit::{Family, Member, Point};
use document::write::fits;
use model::{COLD, SHARED, THREADS, parameter_value};
use std::collections::BTreeSet;

/// If each has its own values, the number of cells grows with the square of the columns.
const MOST_COLUMNS: usize = 50;

/// A row per value, with the strategies beside each other.
pub fn parameter_table(family: &Family) -> Table {
    let members = &family.members[..family.members.len().min(MOST_COLUMNS)];
    let points = members.iter().flat_map(|member| &member.series.points);
    let values: BTreeSet<u64> = points.map(|point| point.value).collect();
    let values: Vec<u64> = values.into_iter().collect();
    let parameter = &family.parameter;
    // Only bytes, descriptors or requests have a cost per unit: companion threads and displaced caches do not divide a call.
    let is_divisible = ![THREADS, SHARED, COLD].contains(&parameter.as_str());
    let unit = if parameter == "size" { "byte" } else { "unit" };
    let mut columns = Columns::new(&values).right(parameter, |value| {
        Cell::number(parameter_value(parameter, *value), *value as f64)
    });
    for member in members {
        columns = columns
            .right(&member.series.label(), |value| cost(member, *value))
            .right(&format!("{} per {unit}", member.series.label()), |value| {
                cost_per_unit(member, *value)
            })
            .expendable(2)
            .shown_if(is_divisible);
    }
    columns
        .table()
        .titled(format!("by {parameter}, ns/op"))
        .noted(notes(family))
}

/// The same for a screen of that width: without the costs per unit if not all costs fit beside them, which are then on several pages.
pub fn fitted(family: &Family, width: Option<u16>) -> Table {
    let table = parameter_table(family);
    if width.is_none_or(|width| fits(&table, width)) {
        return table;
    }
    let mut table = table.without_details();
    let note = "Not shown for lack of room: costs per unit (a wider terminal or --format markdown shows them).";
    table.notes.push(note.to_string());
    table
}

/// The crossovers of a family with too few values for a table of its own.
pub fn crossover_notes(family: &Family) -> Option<Table> {
    let table = Table::default().noted(crossovers(family));
    family.has_strategies().then_some(table)
}

fn cost(member: &Member, value: u64) -> Cell {
    let Some(point) = point(member, value) else {
        return Cell::default();
    };
    match &point.cost {
        Some(cost) => Cell::number(format!("{} ns", nanoseconds(cost.ns)), cost.ns),
        None => Cell::dash(),
    }
}

fn cost_per_unit(member: &Member, value: u64) -> Option<Cell> {
    let cost = point(member, value)?.cost.as_ref()?;
    if value == 0 {
        return None;
    }
    let each_ns = cost.ns / value as f64;
    Some(Cell::number(significant(each_ns), each_ns))
}

fn point<'a>(member: &'a Member<'a>, value: u64) -> Option<&'a Point<'a>> {
    let points = &member.series.points;
    let index = points.binary_search_by_key(&value, |point| point.value);
    points.get(index.ok()?)
}

fn notes(family: &Family) -> Vec<String> {
    let mut notes = [lines(family), crossovers(family)].concat();
    let left_out = family.members.len().saturating_sub(MOST_COLUMNS);
    notes.extend(
        (left_out > 0).then(|| format!("the last {left_out} have no column; JSON has all")),
    );
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use analysis::fit::families;
    use analysis::fit::synthetic::{self, Noise, run};
    use analysis::summary::summarize;
    use model::Run;

    fn shown(run: &Run) -> String {
        let tables = families(run, &summarize(run))
            .into_iter()
            .map(|family| parameter_table(&family));
        tables.map(as_text).collect()
    }

    const SIZES: [u64; 6] = [1, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];
    const READ: synthetic::Strategy = ("io.pread", &SIZES, &|x| 128.0 + x as f64 / 16.0);
    const MAP: synthetic::Strategy = ("io.read_file", &SIZES, &|x| 2176.0 + x as f64 / 64.0);

    #[test]
    fn all_strategies_are_shown_on_a_narrow_screen() {
        let run = run(&[READ, MAP], 12, Noise::NONE);
        let families = families(&run, &summarize(&run));
        let columns = |width| fitted(&families[0], Some(width)).columns().len();
        assert_eq!([columns(80), columns(25)], [5, 3]);
    }

    #[test]
    fn costs_that_do_not_depend_on_it_are_constant_and_unknown_orders_are_named() {
        const FLAT: synthetic::Strategy = ("io.read_file", &SIZES, &|_| 128.0);
        const FEWER: synthetic::Strategy = ("io.pread", &[1, 1 << 14, 1 << 16, 1 << 18], &|x| {
            128.0 + x as f64 / 16.0
        });
        let shown = shown(&run(&[FEWER, FLAT], 12, Noise::NONE));
        assert!(
            shown.contains("io.read_file: 128.0 ns (123.4 .. 132.6), constant over size\n"),
            "{shown}"
        );
        let order = "no crossover between io.read_file and io.pread for size 1..256K: the first is faster; not known at size 1; not compared at size 4K, 1M\n";
        assert!(shown.contains(order), "{shown}");
    }

    #[test]
    fn the_table_with_its_lines_and_crossovers() {
        snapbox::assert_data_eq!(
            shown(&run(&[READ, MAP], 12, Noise::NONE)),
            snapbox::str![[r#"
by size, ns/op

size   io.pread  io.pread per byte  io.read_file  io.read_file per byte
   1   128.1 ns                128      2,176 ns                  2,176
  4K   384.0 ns             0.0938      2,240 ns                  0.547
 16K   1,152 ns             0.0703      2,432 ns                  0.148
 64K   4,224 ns             0.0645      3,200 ns                 0.0488
256K  16,512 ns             0.0630      6,272 ns                 0.0239
  1M  65,664 ns             0.0626     18,560 ns                 0.0177

io.pread: 128.0 ns (118.9 .. 137.1) + 0.0625 ns per unit of size (0.0602 .. 0.0648)
io.read_file: 2,176 ns (2,083 .. 2,269) + 0.0156 ns per unit of size (0.0146 .. 0.0167)
in parentheses: 95% interval for the next run's line
io.read_file overtakes io.pread between size 16K and 64K

"#]]
        );
    }
}
