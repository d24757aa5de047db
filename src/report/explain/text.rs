//! An explanation for people, as text and as Markdown. Called by the `explain` command.
//!
//! Rejected: the disassembly as a `Table`. Instructions are lines of code, copied and compared as such.

use crate::clean::{markdown, markdown_line};
use crate::model::code::{Code, Cost, Explanation, Function, Instruction, Role};
use crate::prose::wrapped;
use crate::report::numbers::{count, nanoseconds, three_figures};
use crate::report::{Format, Screen, write_lines};
use crate::summary::EventCounts;
use anyhow::Result;
use std::io::Write;

/// Width of the column of labels.
const LABEL: usize = 17;
/// Room for ten bytes, which most instructions do not exceed.
const BYTES: usize = 29;

/// Writes `explanation` with its cost, or why it was not measured, and with counted events, if there are any, as text or as
/// Markdown.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_explanation(
    explanation: &Explanation,
    cost: &Result<Cost, String>,
    counters: Option<&EventCounts>,
    format: Format,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    let mut facts = facts(explanation, cost);
    facts.extend(counters.map(|counters| ("Counted", events(counters))));
    if format == Format::Markdown {
        write_markdown(explanation, facts, out)
    } else {
        write_text(explanation, &facts, screen, out)
    }
}

/// A label and its text.
type Fact = (&'static str, String);

fn write_text(explanation: &Explanation, facts: &[Fact], screen: Screen, out: &mut dyn Write) -> Result<()> {
    let subject = format!("{}: {}", heading(explanation), explanation.what);
    let mut lines = wrapped(&subject, screen.width.map_or(usize::MAX, usize::from), "", "");
    lines.push(String::new());
    lines.extend(facts.iter().flat_map(|(label, text)| fact(label, text, screen.width)));
    for function in explanation.code.iter().flat_map(|code| &code.functions) {
        lines.extend([String::new(), title(function)]);
        lines.extend(instructions(function));
    }
    write_lines(lines, out)
}

fn write_markdown(explanation: &Explanation, facts: Vec<Fact>, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "## {}\n\n{}\n", markdown(&heading(explanation)), markdown_line(&explanation.what))?;
    for (label, text) in facts {
        writeln!(out, "- {label}: {}", markdown(&text))?;
    }
    for function in explanation.code.iter().flat_map(|code| &code.functions) {
        writeln!(out, "\n### {}\n\n```nasm", markdown(&title(function)))?;
        // Each line begins with two spaces and an offset, so none can end the block.
        write_lines(instructions(function), out)?;
        writeln!(out, "```")?;
    }
    Ok(())
}

fn heading(explanation: &Explanation) -> String {
    let params = explanation.params.iter().map(|(name, value)| format!(" {name}={value}"));
    explanation.operation.clone() + &params.collect::<String>()
}

/// Label and text of each line above the disassembly.
fn facts(explanation: &Explanation, cost: &Result<Cost, String>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    if let Some(code) = &explanation.code {
        facts.extend(code.resolved.iter().map(|line| ("Resolved to", line.clone())));
    }
    facts.push(("Verdict", explanation.verdict.text.clone()));
    facts.push(("Kernel entries", entries(explanation)));
    facts.push(("Time", cost.as_ref().map_or_else(|reason| format!("not measured: {reason}"), time)));
    facts.extend(explanation.code.iter().map(|code| ("Code", size(code))));
    let remarks = explanation.verdict.remarks.iter().chain(&explanation.notes);
    facts.extend(remarks.map(|remark| ("Note", remark.clone())));
    facts
}

/// `51.8 ns, 37 x the empty call`
fn time(cost: &Cost) -> String {
    let times = cost.times_empty_call.map(|times| format!(", {} x the empty call", three_figures(times)));
    format!("{} ns{}", nanoseconds(cost.time.0), times.unwrap_or_default())
}

/// `instructions:k 274.6, cycles:k 180.2, IPC 1.50`, per iteration; what is 0 is left out.
fn events(counters: &EventCounts) -> String {
    let counted = counters.counted.iter().map(|(event, found)| (event, count(found.value)));
    let some = counted.filter(|(_, text)| text != "0").map(|(event, text)| format!("{event} {text}"));
    let ipc = counters.instructions_per_cycle.map(|ipc| format!("IPC {ipc:.2}"));
    let times =
        counters.instructions_times_empty_call.map(|x| format!("{} x the empty call's instructions", three_figures(x)));
    some.chain(ipc).chain(times).collect::<Vec<_>>().join(", ")
}

fn entries(explanation: &Explanation) -> String {
    match (&explanation.entries, &explanation.entries_unverified) {
        (Some(entries), _) => format!("{entries} (proved by ptrace)"),
        (None, Some(reason)) => format!("unverified: {reason}"),
        (None, None) => "unverified".to_string(),
    }
}

fn size(code: &Code) -> String {
    let (caller, callee) = (code.caller_bytes, code.callee_bytes);
    let executed = code.instructions;
    format!("{caller} + {callee} = {} bytes (caller + callee), {executed} instructions executed", caller + callee)
}

fn title(function: &Function) -> String {
    let role = match function.role {
        Role::Caller => ", the measuring loop",
        Role::Stub => ", PLT stub",
        _ => "",
    };
    format!("{} in {}{role}", function.name, function.object)
}

/// Continuation lines are indented to the text.
fn fact(label: &str, text: &str, width: Option<u16>) -> Vec<String> {
    let width = width.map_or(usize::MAX, |width| usize::from(width).max(LABEL + 20));
    wrapped(text, width, &format!("{label:LABEL$}"), &" ".repeat(LABEL))
}

/// One line each; `...` for code in between that was not executed.
fn instructions(function: &Function) -> Vec<String> {
    let mut next = None;
    let mut lines = Vec::new();
    for instruction in &function.instructions {
        if next.is_some_and(|next| next != instruction.address) {
            lines.push("         ...".to_string());
        }
        next = Some(instruction.address + instruction.length);
        lines.push(line(instruction));
    }
    lines
}

fn line(instruction: &Instruction) -> String {
    let Instruction { offset, bytes, text, count, gate, .. } = instruction;
    let offset = format!("+{offset:#x}");
    let times = if *count > 1 { format!("  ; x{count}") } else { String::new() };
    let gate = gate.map(|_| "  ; enters the kernel").unwrap_or_default();
    format!("  {offset:>7}  {bytes:BYTES$} {text}{times}{gate}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::code::{Flow, Gate};

    #[test]
    fn facts_wrap_below_their_text() {
        let lines = fact("Verdict", "one two three four five six", Some(40));
        assert_eq!(lines, ["Verdict          one two three four five", "                 six"]);
    }

    #[test]
    fn a_gate_is_marked() {
        let instruction = Instruction {
            offset: 5,
            bytes: "0f 05".into(),
            text: "syscall".into(),
            count: 2,
            gate: Some(Gate::Syscall),
            address: 5,
            flow: Flow::Next,
            length: 2,
        };
        assert_eq!(line(&instruction), "     +0x5  0f 05                         syscall  ; x2  ; enters the kernel");
    }
}
