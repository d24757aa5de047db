//! One iteration in an emulated kernel: facts, groups, the call tree, functions, stacks, a flame
//! graph; and two kernels side by side.

mod diff;
mod flame;
mod versus;

pub use diff::kernel_diff_document;
pub use flame::{folded, kernel_difference, kernel_flame};
pub use versus::{change_cell, kernel_versus_document};

use crate::explain::returned;
use crate::numbers::thousands;
use crate::{Columns, Table};
use document::{Block, Branch, Document, with_params};
use model::explained::{Call, KernelExplanation};
use model::prose::counted;

/// Which part of it is written.
#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
pub enum KernelView {
    /// The call tree, with what the instructions are spent on.
    #[default]
    Tree,
    /// Functions, by their own instructions.
    Functions,
    /// Folded lines, as flame graph programs read them.
    Stacks,
    /// A flame graph, as SVG.
    Flame,
}

/// Subtrees below this share of all instructions are summed, unless all are wanted.
pub const SMALL: f64 = 0.01;

/// The view of one explanation. Subtrees below the share `least` of all instructions are summed.
pub fn kernel_document(explanation: &KernelExplanation, view: KernelView, least: f64) -> Document {
    let heading = Block::Heading {
        title: with_params(&explanation.operation, &explanation.params),
        what: explanation.what.clone(),
    };
    let facts = Block::Facts(facts(explanation));
    let functions = kernel_functions(explanation);
    let records = functions.records().clone();
    let blocks = if view == KernelView::Functions {
        vec![heading, facts, Block::Table(functions)]
    } else {
        let tree = Block::Tree {
            titles: TITLES.into(),
            branches: branches(&explanation.tree, least),
        };
        vec![
            heading,
            facts,
            Block::Table(kernel_groups(explanation)),
            tree,
        ]
    };
    Document { blocks, records }
}

pub const COUNTS: &str =
    "instructions of an emulated processor, not time: caches, the TLB and prediction are left out";

fn facts(explanation: &KernelExplanation) -> Vec<(&'static str, String)> {
    let instructions = instructions(explanation.instructions, explanation.counted);
    let mut facts = vec![
        (
            "Kernel",
            format!("{} ({})", explanation.kernel, explanation.environment),
        ),
        ("Instructions", instructions),
        ("Counts", COUNTS.to_string()),
    ];
    facts.extend(returned(&explanation.returned));
    facts.extend(explanation.notes.iter().map(|note| ("Note", note.clone())));
    facts
}

/// `2,732 (2,731.6 on average)`
fn instructions(seen: u64, counted: Option<f64>) -> String {
    let average = counted.filter(|counted| (counted - seen as f64).abs() >= 0.05);
    let average = average
        .map(|counted| format!(" ({counted:.1} on average)"))
        .unwrap_or_default();
    thousands(seen as f64) + &average
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole.max(1) as f64)
}

fn kernel_groups(explanation: &KernelExplanation) -> Table {
    let whole = explanation.instructions;
    Columns::new(&explanation.groups)
        .left("spent on", |sum| sum.group.title())
        .right("instructions", |sum| sum.instructions)
        .right("%", |sum| percent(sum.instructions, whole))
        .table()
}

/// Functions by their own instructions, which is also what CSV has.
pub fn kernel_functions(explanation: &KernelExplanation) -> Table {
    let whole = explanation.instructions;
    Columns::new(&explanation.functions)
        .field("operation", |_| &explanation.operation)
        .field("environment", |_| &explanation.environment)
        .same("function", |f| &f.name)
        .left("spent on", |f| f.group.title())
        .field("spent_on", |f| f.group.title())
        .counts("calls", "calls", |f| f.calls)
        .counts("own instructions", "own_instructions", |f| {
            f.self_instructions
        })
        .right("%", |f| percent(f.self_instructions, whole))
        .table()
}

/// Larger subtrees are open at first.
const LARGE: f64 = 0.05;

pub const TITLES: [&str; 2] = ["total", "own"];

/// Subtrees below the share `least` are summed.
pub fn branches(root: &Call, least: f64) -> Vec<Branch> {
    below(
        root,
        &Shares {
            least: least * root.total as f64,
            large: LARGE * root.total as f64,
        },
    )
}

struct Shares {
    least: f64,
    large: f64,
}

fn below(call: &Call, shares: &Shares) -> Vec<Branch> {
    let (shown, small): (Vec<&Call>, Vec<&Call>) = call
        .children
        .iter()
        .partition(|child| child.total as f64 >= shares.least);
    let mut branches: Vec<Branch> = shown
        .into_iter()
        .map(|child| branch(child, shares))
        .collect();
    if !small.is_empty() {
        let total: u64 = small.iter().map(|child| child.total).sum();
        let calls: u64 = small.iter().map(|child| child.calls).sum();
        branches.push(Branch {
            name: format!("... {}", counted(calls, "small call")),
            numbers: vec![thousands(total as f64), String::new()],
            ..Branch::default()
        });
    }
    branches
}

fn branch(call: &Call, shares: &Shares) -> Branch {
    Branch {
        name: call.name.clone(),
        times: if call.calls > 1 {
            format!(" x{}", thousands(call.calls as f64))
        } else {
            String::new()
        },
        numbers: vec![
            thousands(call.total as f64),
            thousands(call.self_instructions as f64),
        ],
        is_large: call.total as f64 >= shares.large,
        below: below(call, shares),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use document::write::text::tree_lines;
    use model::explained::Group;
    use model::fixtures;

    fn call(name: &str, calls: u64, instructions: u64, children: Vec<Call>) -> Call {
        Call {
            calls,
            ..fixtures::call(name, Group::Work, instructions, children)
        }
    }

    #[test]
    fn small_subtrees_are_summed() {
        let small = vec![
            call("tiny", 1, 1, vec![]),
            call("memset", 1, 1500, vec![]),
            call("slight", 2, 3, vec![]),
        ];
        let root = call(
            "",
            0,
            0,
            vec![call(
                "run",
                1,
                10,
                vec![call("__x64_sys_newfstat", 2, 20, small)],
            )],
        );
        let expected = [
            "   total     own  name",
            "   1,534      10  run",
            "   1,524      20    __x64_sys_newfstat x2",
            "   1,500   1,500      memset",
            "       4              ... 3 small calls",
        ];
        assert_eq!(
            tree_lines(&TITLES, &branches(&root, 0.01), Some(80)),
            expected
        );
        assert_eq!(tree_lines(&TITLES, &branches(&root, 0.0), None).len(), 6);
    }
}
