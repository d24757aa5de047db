//! Two kernels side by side: what changed, by what it is spent on and by function.

use super::COUNTS;
use crate::numbers::{instructions, signed, thousands};
use crate::{Cell, Columns, Table};
use document::{Block, Document, with_params};
use model::explained::{KernelExplanation, KernelVersus};

const MOST: usize = 25;

/// Groups and functions of both kernels. `all` includes functions with small changes.
pub fn kernel_versus_document(versus: &KernelVersus, all: bool) -> Document {
    Document {
        blocks: vec![
            Block::Heading {
                title: with_params(&versus.operation, &versus.params),
                what: versus.what.clone(),
            },
            Block::Facts(facts(versus)),
            Block::Notes(unlike_average(versus).into_iter().collect()),
            Block::Table(versus_groups(versus)),
            Block::Table(versus_functions(versus, all)),
        ],
        records: versus_functions(versus, true).records().clone(),
    }
}

fn facts(versus: &KernelVersus) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Average", average(versus)),
        ("Before", shown(&versus.before)),
        ("After", shown(&versus.after)),
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

/// What `run` reports too. The iteration that is shown may differ from it, and in another direction.
fn average(versus: &KernelVersus) -> String {
    let (Some(before), Some(after)) = (versus.before.counted, versus.after.counted) else {
        return "unknown: an iteration is shown, and others may differ".to_string();
    };
    let [from, to] = [before, after].map(instructions);
    format!("{from} -> {to} instructions, x{:.3}", after / before)
}

/// A smaller share of the instructions explains nothing either way.
const LEAST: f64 = 0.02;

/// Whether the iterations shown differ in another direction than the averages, or by more than twice or less than half as much.
fn unlike_average(versus: &KernelVersus) -> Option<String> {
    let average = versus.after.counted? - versus.before.counted?;
    let before = versus.before.instructions as f64;
    let shown = versus.after.instructions as f64 - before;
    let largest = shown.abs().max(average.abs()).max(LEAST * before);
    ((shown - average).abs() > largest / 2.0).then(|| {
        let [shown, average] = [shown, average].map(|change| signed(change, instructions));
        format!("The iterations shown differ from the average ({shown}, not {average}): they do not explain the change.")
    })
}

fn shown(side: &KernelExplanation) -> String {
    format!(
        "{} instructions in the iteration shown: {} ({})",
        thousands(side.instructions as f64),
        side.kernel,
        side.environment
    )
}

/// `+12`, `-1,234`, `0`.
pub fn change_cell(change: i64) -> Cell {
    Cell::number(signed(change as f64, thousands), change as f64)
}

fn versus_groups(versus: &KernelVersus) -> Table {
    let all = (
        "this iteration",
        versus.before.instructions,
        versus.after.instructions,
    );
    let rows: Vec<_> = versus
        .groups
        .iter()
        .map(|sum| (sum.group.title(), sum.before, sum.after))
        .chain([all])
        .collect();
    Columns::new(&rows)
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
    let mut table = Columns::new(&versus.functions)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use model::fixtures::explained_versus;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn the_average_is_the_conclusion_and_one_iteration_an_example() {
        let mut versus = explained_versus(5_287, 5_323);
        (versus.before.counted, versus.after.counted) = (Some(5_663.0), Some(5_323.2));
        assert_data_eq!(
            as_text(kernel_versus_document(&versus, false)),
            str![[r#"
area.op: op()

Average  5,663 -> 5,323.2 instructions, x0.940
Before   5,307 instructions in the iteration shown: 6.1.0-54 (linux-6.1)
After    5,343 instructions in the iteration shown: 6.1.0-54 (linux-6.12)
Counts   instructions of an emulated processor, not time: caches, the TLB and prediction are left out

The iterations shown differ from the average (+36, not -339.8): they do not explain the change.

spent on             before  after  change
the call's own work   5,287  5,323     +36
this iteration        5,307  5,343     +36

function      spent on             before  after  change
__x64_sys_op  the call's own work   5,287  5,323     +36

"#]]
        );
        versus.before.counted = Some(5_290.0);
        assert_eq!(unlike_average(&versus), None, "+36, not +33.2");
        versus.before.counted = None;
        assert!(facts(&versus)[0].1.starts_with("unknown"));
    }
}
