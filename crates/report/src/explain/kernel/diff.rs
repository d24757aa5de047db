//! All operations in two kernels: one table of those that changed, each with the functions responsible.

use crate::numbers::{instructions, signed};
use crate::{Cell, Columns, Records, Table};
use document::{Block, Document};
use itertools::Itertools;
use model::atlas::{AtlasCount, AtlasFunction, AtlasStep};
use model::kernel_diff::{KernelDiff, NotJudged};
use model::prose::counted;

/// The table fits a mail of 72 columns.
pub fn kernel_diff_document(diff: &KernelDiff) -> Document {
    let mut blocks = vec![Block::Facts(facts(diff))];
    if !diff.changed.is_empty() {
        blocks.push(Block::Table(changed(&diff.changed)));
    }
    if !diff.not_judged.is_empty() {
        blocks.push(Block::Table(not_judged(&diff.not_judged)));
    }
    Document {
        blocks,
        records: records(diff),
    }
}

fn facts(diff: &KernelDiff) -> Vec<(&'static str, String)> {
    let all = diff.changed.len() + diff.equal + diff.not_judged.len();
    vec![
        ("Before", diff.before.clone()),
        ("After", diff.after.clone()),
        (
            "Changed",
            format!(
                "{} of {}; {} equal, {} not judged",
                diff.changed.len(),
                counted(all, "operation"),
                diff.equal,
                diff.not_judged.len()
            ),
        ),
        (
            "Counts",
            format!(
                "emulated instructions; differences in {} of each kernel",
                counted(diff.boots as usize, "boot")
            ),
        ),
    ]
}

/// A line of the table: an operation, or what is below it.
#[derive(Default)]
struct Line {
    name: String,
    counts: [Cell; 2],
    change: Cell,
    percent: Cell,
}

fn changed(steps: &[AtlasStep]) -> Table {
    let lines: Vec<Line> = steps.iter().flat_map(lines).collect();
    Columns::new(&lines)
        .left("instructions", |line| &line.name)
        .right("before", |line| &line.counts[0])
        .right("after", |line| &line.counts[1])
        .right("change", |line| &line.change)
        .right("%", |line| &line.percent)
        .table()
}

fn lines(step: &AtlasStep) -> Vec<Line> {
    let change = step.after - step.before;
    let mut lines = vec![Line {
        name: step.operation.clone(),
        counts: [step.before, step.after].map(|count| Cell::number(instructions(count), count)),
        change: change_cell(change),
        percent: signed(100.0 * step.growth(), |share| format!("{share:.1}")).into(),
    }];
    lines.extend(step.functions.iter().map(|function| Line {
        name: format!("  {}", function.name),
        counts: [function.before, function.after].map(|count| match count {
            0 => Cell::from("-"),
            count => Cell::from(count),
        }),
        change: change_cell(function_change(function)),
        ..Line::default()
    }));
    let others = change - step.functions.iter().map(function_change).sum::<f64>();
    if !step.functions.is_empty() && others.abs() >= 1.0 {
        lines.push(Line {
            name: "  all other functions".to_string(),
            change: change_cell(others),
            ..Line::default()
        });
    }
    lines.extend(step.reason.iter().map(|reason| Line {
        name: format!("  ({reason})"),
        ..Line::default()
    }));
    lines
}

fn change_cell(change: f64) -> Cell {
    Cell::number(signed(change, instructions), change)
}

fn function_change(function: &AtlasFunction) -> f64 {
    function.after as f64 - function.before as f64
}

fn not_judged(rows: &[NotJudged]) -> Table {
    Columns::new(rows)
        .left("not judged", |row| row.operation.clone())
        .left("why", |row| format!("{}{}", row.reason, ranges(row)))
        .wrapping()
        .table()
}

/// `: 1,000 to 1,161, then 1,004 to 1,160`; empty unless both kernels have a count.
fn ranges(row: &NotJudged) -> String {
    match (&row.before, &row.after) {
        (Some(before), Some(after)) => format!(": {}, then {}", range(before), range(after)),
        _ => String::new(),
    }
}

fn range(count: &AtlasCount) -> String {
    let [least, most] = [count.least, count.most].map(instructions);
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// One row for each operation that changed.
fn records(diff: &KernelDiff) -> Records {
    Columns::new(&diff.changed)
        .field("operation", |step| step.operation.clone())
        .field("environment_before", |_| diff.before.clone())
        .field("environment_after", |_| diff.after.clone())
        .field("before", |step| step.before)
        .field("after", |step| step.after)
        .field("change", |step| step.after - step.before)
        .field("percent", |step| 100.0 * step.growth())
        .field("functions", functions)
        .records()
}

/// `__x64_sys_getppid +21; rcu_read_lock -2`.
fn functions(step: &AtlasStep) -> String {
    step.functions
        .iter()
        .map(|function| {
            let change = signed(function_change(function), instructions);
            format!("{} {change}", function.name)
        })
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use model::explained::Group;
    use snapbox::{assert_data_eq, str};

    fn diff() -> KernelDiff {
        fn function(name: &str, before: u64, after: u64) -> AtlasFunction {
            AtlasFunction {
                name: name.into(),
                group: Group::Work,
                before,
                after,
            }
        }

        fn atlas_count(least: f64, most: f64) -> Option<AtlasCount> {
            Some(AtlasCount {
                mode: least,
                least,
                most,
            })
        }

        fn step(
            operation: &str,
            before: f64,
            after: f64,
            functions: Vec<AtlasFunction>,
        ) -> AtlasStep {
            AtlasStep {
                operation: operation.into(),
                before,
                after,
                functions,
                reason: None,
            }
        }

        KernelDiff {
            before: "linux-6.1".into(),
            after: "linux:bzImage".into(),
            boots: 2,
            equal: 210,
            changed: vec![
                step(
                    "id.getppid",
                    329.0,
                    350.0,
                    vec![function("__x64_sys_getppid", 10, 31)],
                ),
                AtlasStep {
                    reason: Some("ENOSYS".into()),
                    ..step("file.open_close", 5_287.0, 5_200.5, Vec::new())
                },
            ],
            not_judged: vec![NotJudged {
                operation: "file.rename".into(),
                before: atlas_count(1_000.0, 1_161.0),
                after: atlas_count(1_004.0, 1_160.0),
                reason: "varies between boots".into(),
            }],
        }
    }

    #[test]
    fn changes_have_their_functions_and_fit_a_mail() {
        let text = as_text(kernel_diff_document(&diff()));
        assert_data_eq!(
            &text,
            str![[r#"
Before   linux-6.1
After    linux:bzImage
Changed  2 of 213 operations; 210 equal, 1 not judged
Counts   emulated instructions; differences in 2 boots of each kernel

instructions         before    after  change     %
id.getppid              329      350     +21  +6.4
  __x64_sys_getppid      10       31     +21
file.open_close       5,287  5,200.5   -86.5  -1.6
  (ENOSYS)

not judged   why
file.rename  varies between boots: 1,000 to 1,161, then 1,004 to 1,160

"#]]
        );
        assert!(text.lines().all(|line| line.chars().count() <= 72));
    }

    #[test]
    fn records_have_a_row_for_each_change() {
        assert_eq!(functions(&diff().changed[0]), "__x64_sys_getppid +21");
        assert_eq!(kernel_diff_document(&diff()).records.rows().len(), 2);
    }
}
