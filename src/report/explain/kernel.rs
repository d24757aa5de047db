//! One iteration in an emulated kernel: facts, groups, the call tree, functions, stacks, a flame graph; and two kernels side by
//! side. Called by the `explain` command.

mod flame;
mod tree;
mod versus;

pub use flame::kernel_flame;
pub use versus::{versus_functions, versus_groups, write_kernel_versus};

use crate::clean::{markdown, markdown_line};
use crate::model::explained::{FunctionSum, GroupSum, KernelExplanation};
use crate::prose::wrapped;
use crate::report::numbers::thousands;
use crate::report::{Cell, Format, Screen, Spec, Table, write_lines, write_table};
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

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

/// Writes `explanation` in any format but JSON. `all` shows subtrees however small.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_kernel(
    explanation: &KernelExplanation,
    (view, all): (KernelView, bool),
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<()> {
    if format == Format::Csv {
        return write_table(&kernel_functions(explanation), format, screen, out);
    }
    match view {
        KernelView::Stacks => write_lines(flame::folded(explanation), out),
        KernelView::Flame => Ok(write!(out, "{}", crate::report::svg::document(&kernel_flame(explanation)).as_str())?),
        KernelView::Functions => write_with_facts(explanation, (format, screen), out, |out| {
            write_table(&kernel_functions(explanation), format, screen, out)
        }),
        KernelView::Tree => write_with_facts(explanation, (format, screen), out, |out| {
            write_table(&kernel_groups(explanation), format, screen, out)?;
            write_code(tree::lines(&explanation.tree, all, screen.width), format, out)
        }),
    }
}

fn write_with_facts(
    explanation: &KernelExplanation,
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
    rest: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let heading = heading(&explanation.operation, &explanation.params);
    write_head(&heading, &explanation.what, facts(explanation), (format, screen), out)?;
    rest(out)
}

/// What is counted, and what is not.
pub const COUNTS: &str = "instructions of an emulated processor, not time: caches, the TLB and prediction are left out";

fn facts(explanation: &KernelExplanation) -> Vec<(&'static str, String)> {
    let instructions = instructions(explanation.instructions, explanation.counted);
    let mut facts = vec![
        ("Kernel", format!("{} ({})", explanation.kernel, explanation.environment)),
        ("Instructions", instructions),
        ("Counts", COUNTS.to_string()),
    ];
    facts.extend(explanation.notes.iter().map(|note| ("Note", note.clone())));
    facts
}

/// `2,732 (2,731.6 on average)`
pub fn instructions(seen: u64, counted: Option<f64>) -> String {
    let average = counted.filter(|counted| (counted - seen as f64).abs() >= 0.05);
    let average = average.map(|counted| format!(" ({counted:.1} on average)")).unwrap_or_default();
    thousands(seen as f64) + &average
}

/// Width of the column of labels.
const LABEL: usize = 14;

fn write_head(
    heading: &str,
    what: &str,
    facts: Vec<(&'static str, String)>,
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<()> {
    if format == Format::Markdown {
        writeln!(out, "## {}\n\n{}\n", markdown(heading), markdown_line(what))?;
        facts.iter().try_for_each(|(label, text)| writeln!(out, "- {label}: {}", markdown(text)))?;
    } else {
        let width = screen.width.map_or(usize::MAX, |width| usize::from(width).max(LABEL + 20));
        let mut lines = wrapped(&format!("{heading}: {what}"), width, "", "");
        lines.push(String::new());
        for (label, text) in facts {
            lines.extend(wrapped(&text, width, &format!("{label:LABEL$}"), &" ".repeat(LABEL)));
        }
        write_lines(lines, out)?;
    }
    Ok(writeln!(out)?)
}

/// The operation with its parameters.
pub fn heading(operation: &str, params: &BTreeMap<String, u64>) -> String {
    operation.to_string() + &params.iter().map(|(name, value)| format!(" {name}={value}")).collect::<String>()
}

/// Lines as they are, in a block of their own.
fn write_code(lines: Vec<String>, format: Format, out: &mut dyn Write) -> Result<()> {
    writeln!(out)?;
    if format != Format::Markdown {
        return write_lines(lines, out);
    }
    writeln!(out, "```text")?;
    write_lines(lines, out)?;
    Ok(writeln!(out, "```")?)
}

fn number(value: u64) -> Cell {
    Cell::number(thousands(value as f64), value as f64)
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole.max(1) as f64)
}

/// What instructions are spent on.
pub fn kernel_groups(explanation: &KernelExplanation) -> Table {
    let whole = explanation.instructions;
    let share = move |sum: &GroupSum| percent(sum.instructions, whole);
    let specs = [
        Spec::left("spent on", |sum: &GroupSum| sum.group.title().into()),
        Spec::right("instructions", |sum: &GroupSum| number(sum.instructions)),
        Spec::right("%", move |sum: &GroupSum| share(sum).into()),
    ];
    Table::of(&specs, &explanation.groups)
}

/// Functions by their own instructions.
pub fn kernel_functions(explanation: &KernelExplanation) -> Table {
    let whole = explanation.instructions;
    let operation = explanation.operation.clone();
    let environment = explanation.environment.clone();
    let specs = [
        Spec::left("function", |f: &FunctionSum| f.name.as_str().into())
            .text("operation", move |_| operation.clone())
            .text("environment", move |_| environment.clone())
            .text("function", |f: &FunctionSum| f.name.clone()),
        Spec::left("spent on", |f: &FunctionSum| f.group.title().into())
            .text("spent_on", |f: &FunctionSum| f.group.title().to_string()),
        Spec::right("calls", |f: &FunctionSum| number(f.calls)).count("calls", |f: &FunctionSum| f.calls),
        Spec::right("own instructions", |f: &FunctionSum| number(f.own))
            .count("own_instructions", |f: &FunctionSum| f.own),
        Spec::right("%", move |f: &FunctionSum| percent(f.own, whole).into()),
    ];
    Table::of(&specs, &explanation.functions)
}
