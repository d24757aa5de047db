//! An explanation of one operation.
//!
//! Rejected: the disassembly as a `Table`. Instructions are lines of code, copied and compared as
//! such.

use crate::explain::returned;
use crate::numbers::{nanoseconds, significant};
use crate::run::warnings::text;
use analysis::summary::Warning;
use document::{Block, Document, with_params};
use model::code::{Code, Cost, Explained, Explanation, Function, Instruction, Role};

/// Room for ten bytes, which most instructions do not exceed.
const BYTES: usize = 29;

/// Facts, then the disassembly of each function that ran.
pub fn explanation_document(Explained { explanation, cost }: &Explained) -> Document {
    let facts = facts(explanation, cost.as_ref());
    let title = with_params(&explanation.operation, &explanation.params);
    let mut blocks = vec![
        Block::Heading {
            title,
            what: explanation.what.clone(),
        },
        Block::Facts(facts),
    ];
    let functions = explanation.code.iter().flat_map(|code| &code.functions);
    blocks.extend(functions.map(|function| Block::Code {
        title: title_of(function),
        language: "nasm",
        lines: instructions(function),
    }));
    Document {
        blocks,
        ..Document::default()
    }
}

type Fact = (&'static str, String);

fn facts(explanation: &Explanation, cost: Option<&Cost>) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    if let Some(code) = &explanation.code {
        facts.extend(
            code.resolved
                .iter()
                .map(|line| ("Resolved to", line.clone())),
        );
    }
    facts.push(("Verdict", explanation.verdict.text.clone()));
    facts.push(("Kernel entries", entries(explanation)));
    facts.extend(returned(&explanation.returned));
    facts.push((
        "Time",
        cost.map_or_else(|| "not measured".to_string(), time),
    ));
    facts.extend(explanation.code.iter().map(|code| ("Code", size(code))));
    let remarks = explanation.verdict.remarks.iter().chain(&explanation.notes);
    facts.extend(remarks.map(|remark| ("Note", remark.clone())));
    if cost.is_some_and(|cost| cost.is_traced) {
        facts.push(("Note", format!("*: {}", text(&Warning::Traced))));
    }
    facts
}

/// `151.8 ns, 1.49 x getppid`; with a star if a tracer was on
fn time(cost: &Cost) -> String {
    let times = cost
        .times_getppid
        .map(|times| format!(", {} x getppid", significant(times)));
    format!(
        "{} ns{}{}",
        nanoseconds(cost.time.0),
        if cost.is_traced { "*" } else { "" },
        times.unwrap_or_default()
    )
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
    format!(
        "{caller} + {callee} = {} bytes (caller + callee), {executed} instructions executed",
        caller + callee
    )
}

fn title_of(function: &Function) -> String {
    let role = match function.role {
        Role::Caller => ", the measuring loop",
        Role::Stub => ", PLT stub",
        _ => "",
    };
    format!("{} in {}{role}", function.name, function.object)
}

/// One line each; `...` for code in between that was not executed.
fn instructions(function: &Function) -> Vec<String> {
    let mut next = None;
    let mut lines = Vec::new();
    for instruction in &function.instructions {
        if next.is_some_and(|next| next != instruction.address) {
            lines.push("         ...".to_string());
        }
        next = instruction.address.checked_add(instruction.length);
        lines.push(line(instruction));
    }
    lines
}

fn line(instruction: &Instruction) -> String {
    let Instruction {
        offset,
        bytes,
        text,
        count,
        gate,
        ..
    } = instruction;
    let offset = format!("+{offset:#x}");
    let times = if *count > 1 {
        format!("  ; x{count}")
    } else {
        String::new()
    };
    let gate = gate.map(|_| "  ; enters the kernel").unwrap_or_default();
    format!("  {offset:>7}  {bytes:BYTES$} {text}{times}{gate}")
}
