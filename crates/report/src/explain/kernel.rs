//! One iteration in an emulated kernel: facts, groups, the call tree, functions, stacks, a flame
//! graph; and two kernels side by side.

mod flame;
mod tree;
mod versus;

pub use flame::{folded, kernel_difference, kernel_flame};
pub use versus::{kernel_versus_document, signed};

use crate::explain::returned::returned;
use crate::numbers::{count_cell, counts, thousands};
use crate::{Spec, Table};
use document::{Block, Document};
use model::explained::{FunctionSum, GroupSum, KernelExplanation};
use std::collections::BTreeMap;

/// Which part of it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
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

pub fn kernel_document(explanation: &KernelExplanation, view: KernelView, least: f64) -> Document {
    let heading = Block::Heading {
        title: heading(&explanation.operation, &explanation.params),
        what: explanation.what.clone(),
    };
    let facts = Block::Facts(facts(explanation));
    let functions = kernel_functions(explanation);
    let records = functions.records().clone();
    let blocks = if view == KernelView::Functions {
        vec![heading, facts, Block::Table(functions)]
    } else {
        let tree = Block::Tree {
            titles: tree::TITLES.into(),
            branches: tree::branches(&explanation.tree, least),
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
pub fn instructions(seen: u64, counted: Option<f64>) -> String {
    let average = counted.filter(|counted| (counted - seen as f64).abs() >= 0.05);
    let average = average
        .map(|counted| format!(" ({counted:.1} on average)"))
        .unwrap_or_default();
    thousands(seen as f64) + &average
}

pub fn heading(operation: &str, params: &BTreeMap<String, u64>) -> String {
    operation.to_string()
        + &params
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect::<String>()
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole.max(1) as f64)
}

fn kernel_groups(explanation: &KernelExplanation) -> Table {
    let whole = explanation.instructions;
    let share = move |sum: &GroupSum| percent(sum.instructions, whole);
    let specs = [
        Spec::left("spent on", |sum: &GroupSum| sum.group.title().into()),
        Spec::right("instructions", |sum: &GroupSum| {
            count_cell(sum.instructions)
        }),
        Spec::right("%", move |sum: &GroupSum| share(sum).into()),
    ];
    Table::of(&specs, &explanation.groups)
}

pub fn kernel_functions(explanation: &KernelExplanation) -> Table {
    let whole = explanation.instructions;
    let operation = explanation.operation.clone();
    let environment = explanation.environment.clone();
    let specs = [
        Spec::hidden()
            .text("operation", move |_: &FunctionSum| operation.clone())
            .text("environment", move |_| environment.clone()),
        Spec::same("function", |f: &FunctionSum| f.name.clone()),
        Spec::left("spent on", |f: &FunctionSum| f.group.title().into())
            .text("spent_on", |f: &FunctionSum| f.group.title().to_string()),
        counts("calls", "calls", |f: &FunctionSum| f.calls),
        counts("own instructions", "own_instructions", |f: &FunctionSum| {
            f.own
        }),
        Spec::right("%", move |f: &FunctionSum| percent(f.own, whole).into()),
    ];
    Table::of(&specs, &explanation.functions)
}
