//! Two kernels side by side: what changed, by what it is spent on and by function.

use super::{COUNTS, heading, instructions};
use crate::numbers::{count_cell, counts, signed, thousands};
use crate::{Cell, Spec, Table};
use document::{Block, Document};
use model::explained::{Change, GroupChange, KernelExplanation, KernelVersus};

const MOST: usize = 25;

pub fn kernel_versus_document(versus: &KernelVersus, all: bool) -> Document {
    let title = heading(&versus.operation, &versus.params);
    Document {
        blocks: vec![
            Block::Heading {
                title,
                what: versus.what.clone(),
            },
            Block::Facts(facts(versus)),
            Block::Table(versus_groups(versus)),
            Block::Table(versus_functions(versus, all)),
        ],
        records: versus_functions(versus, true).records().clone(),
    }
}

fn facts(versus: &KernelVersus) -> Vec<(&'static str, String)> {
    let side = |side: &KernelExplanation| {
        format!(
            "{} instructions: {} ({})",
            instructions(side.instructions, side.counted),
            side.kernel,
            side.environment
        )
    };
    let mut facts = vec![
        ("Before", side(&versus.before)),
        ("After", side(&versus.after)),
        ("Counts", COUNTS.to_string()),
    ];
    for side in [&versus.before, &versus.after] {
        facts.extend(
            side.notes
                .iter()
                .map(|note| ("Note", format!("{}: {note}", side.environment))),
        );
    }
    facts
}

/// `+12`, `-1,234`, `0`.
pub fn change_cell(change: i64) -> Cell {
    Cell::number(signed(change as f64, thousands), change as f64)
}

fn versus_groups(versus: &KernelVersus) -> Table {
    let all = ("all", versus.before.instructions, versus.after.instructions);
    let of = |sum: &GroupChange| (sum.group.title(), sum.before, sum.after);
    type Row<'a> = (&'a str, u64, u64);
    let rows: Vec<Row> = versus.groups.iter().map(of).chain([all]).collect();
    let specs = [
        Spec::left("spent on", |row: &Row| row.0.into()),
        Spec::right("before", |row: &Row| count_cell(row.1)),
        Spec::right("after", |row: &Row| count_cell(row.2)),
        Spec::right("change", |row: &Row| {
            change_cell(row.2.cast_signed() - row.1.cast_signed())
        }),
    ];
    Table::of(&specs, &rows).with_headings(|row| row == versus.groups.len())
}

fn versus_functions(versus: &KernelVersus, all: bool) -> Table {
    let (operation, before, after) = (
        versus.operation.clone(),
        versus.before.environment.clone(),
        versus.after.environment.clone(),
    );
    let specs = [
        Spec::hidden()
            .text("operation", move |_: &Change| operation.clone())
            .text("environment_before", move |_| before.clone())
            .text("environment_after", move |_| after.clone()),
        Spec::same("function", |c: &Change| c.name.clone()),
        Spec::left("spent on", |c: &Change| c.group.title().into())
            .text("spent_on", |c: &Change| c.group.title().to_string()),
        counts("before", "own_instructions_before", |c: &Change| c.before),
        counts("after", "own_instructions_after", |c: &Change| c.after),
        Spec::right("change", |c: &Change| change_cell(c.change))
            .number("change", |c: &Change| c.change as f64),
    ];
    let mut table = Table::of(&specs, &versus.functions);
    let rest = versus.functions.get(MOST..).unwrap_or_default();
    if !all && !rest.is_empty() {
        let sum: i64 = rest.iter().map(|change| change.change).sum();
        table.truncate(MOST);
        let text = format!(
            "{} more functions changed, by {} in all; --all shows them",
            rest.len(),
            signed(sum as f64, thousands)
        );
        table.notes.push(text);
    }
    table
}
