//! Two kernels side by side: what changed, by what it is spent on and by function.

use super::{COUNTS, instructions};
use crate::numbers::{signed, thousands};
use crate::{Cell, Columns, Table};
use document::{Block, Document, with_params};
use model::explained::{KernelExplanation, KernelVersus};

const MOST: usize = 25;

pub fn kernel_versus_document(versus: &KernelVersus, all: bool) -> Document {
    let title = with_params(&versus.operation, &versus.params);
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
    let groups = versus.groups.iter();
    let rows: Vec<_> = groups
        .map(|sum| (sum.group.title(), sum.before, sum.after))
        .chain([all])
        .collect();
    Columns::of(&rows)
        .left("spent on", |row| row.0)
        .right("before", |row| row.1)
        .right("after", |row| row.2)
        .right("change", |row| {
            change_cell(row.2.cast_signed() - row.1.cast_signed())
        })
        .table()
        .with_headings(|row| row == versus.groups.len())
}

fn versus_functions(versus: &KernelVersus, all: bool) -> Table {
    let mut table = Columns::of(&versus.functions)
        .field("operation", |_| &versus.operation)
        .field("environment_before", |_| &versus.before.environment)
        .field("environment_after", |_| &versus.after.environment)
        .same("function", |c| &c.name)
        .left("spent on", |c| c.group.title())
        .field("spent_on", |c| c.group.title())
        .counts("before", "own_instructions_before", |c| c.before)
        .counts("after", "own_instructions_after", |c| c.after)
        .right("change", |c| change_cell(c.change))
        .field("change", |c| c.change as f64)
        .table();
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
