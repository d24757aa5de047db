//! The findings of a gate on a comparison, in words.

use crate::comparison::row::{both_entries, share};
use analysis::compare::{
    Comparison, Difference, EntriesRule, GateVerdict, Gated, GatedRow, NotJudged,
};
use model::grouped;
use model::prose::{counted, few};

/// The gate's decision on each row; empty without a gate.
pub fn findings(comparison: &Comparison) -> Vec<Finding> {
    let gate = comparison.gate.iter();
    gate.flat_map(|gate| gate.rows.iter().map(|row| (gate.limit, row)))
        .map(|(limit, row)| finding(comparison, limit.unwrap_or_default(), row))
        .collect()
}

fn finding(comparison: &Comparison, limit: f64, row: &GatedRow) -> Finding {
    let (outcome, text) = match &row.verdict {
        GateVerdict::Passed => (Outcome::Passed, String::new()),
        GateVerdict::Unclear { .. } => (
            Outcome::Unclear,
            format!(
                "too uncertain to tell whether costs grew by {}, which lies within the 95% interval",
                share(limit)
            ),
        ),
        GateVerdict::Grown { ratio, low, high } => {
            let interval = if low == high {
                String::new()
            } else {
                format!(" ({low:.3} .. {high:.3})")
            };
            let text = format!(
                "{} costs x{ratio:.3}{interval} in {}, over --fail-over {}",
                row.key,
                comparison.label(row.column),
                share(limit)
            );
            (Outcome::Failed, text)
        }
        GateVerdict::Entries(difference) => (Outcome::Failed, entries(comparison, row, difference)),
        GateVerdict::NotJudged { reason } => (Outcome::NotJudged, reason_text(*reason).to_string()),
    };
    Finding {
        name: row.key.to_string(),
        outcome,
        text,
    }
}

/// `file.stat makes more kernel entries: stat x2 in new, stat x1 in old`
fn entries(comparison: &Comparison, row: &GatedRow, difference: &Difference) -> String {
    let is_more = difference.entries.total() > difference.base.total();
    format!(
        "{} makes {} kernel entries: {}",
        row.key,
        if is_more { "more" } else { "other" },
        both_entries(comparison, row.column, difference)
    )
}

fn reason_text(reason: NotJudged) -> &'static str {
    match reason {
        NotJudged::Missing => "no result in one of the files",
        NotJudged::EntriesUnknown => "kernel entries were not counted in one of the files",
        NotJudged::OtherWork => "different kernel entries, but not more: costs are not compared",
        NotJudged::NoInterval => "a single value has no interval",
        NotJudged::DependsOnHistory => "the cost depends on earlier file system activity",
        NotJudged::Traced => "a tracer of system calls was on in one of the files",
        NotJudged::Disturbed => "one of the runs was disturbed all the time",
        NotJudged::OtherUnit => "a time in one file, instructions in the other",
    }
}

fn headlines(gate: &Gated) -> Vec<String> {
    let count = |is_it: fn(&GateVerdict) -> bool| {
        gate.rows.iter().filter(|row| is_it(&row.verdict)).count()
    };
    let mut lines = Vec::new();
    if let Some(limit) = gate.limit {
        let grown = count(|findings| matches!(findings, GateVerdict::Grown { .. }));
        lines.push(format!(
            "{} certainly grew by more than {} (--fail-over)",
            rows(grown, "row"),
            share(limit)
        ));
    }
    let entries = count(|verdict| matches!(verdict, GateVerdict::Entries(_)));
    let what = match gate.entries {
        Some(EntriesRule::Any) => "other kernel entries (--fail-on-entries=any)",
        Some(EntriesRule::More) => "more kernel entries (--fail-on-entries)",
        None if entries > 0 => "more kernel entries (--fail-over)",
        None => return lines,
    };
    lines.push(format!("{} with {what}", rows(entries, "row")));
    lines
}

/// For output that is kept without the exit status.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = comparison.gate.iter().flat_map(headlines).collect();
    lines.extend(finding_lines(&findings(comparison)));
    lines
}

/// `passed: no row`, `failed: 3 rows`; where none failed, of `noun`.
pub fn rows(count: usize, noun: &str) -> String {
    match count {
        0 => format!("passed: no {noun}"),
        count => format!("failed: {}", counted(count, "row")),
    }
}

#[derive(Debug)]
pub struct Finding {
    /// An operation with its parameters, a system call.
    pub name: String,
    pub outcome: Outcome,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// Growth is not certain, so it passes.
    Unclear,
    Failed,
    NotJudged,
}

/// A line for each that failed, one for those that are unclear, and one for each reason not to judge rows.
pub fn finding_lines(findings: &[Finding]) -> Vec<String> {
    let (mut lines, mut unclear, mut not_judged) = (Vec::new(), Vec::new(), Vec::new());
    for Finding {
        name,
        outcome,
        text,
    } in findings
    {
        match outcome {
            Outcome::Passed => {}
            Outcome::Failed => lines.push(text.clone()),
            Outcome::Unclear => unclear.push((text, name)),
            Outcome::NotJudged => not_judged.push((text, name)),
        }
    }
    for (text, names) in grouped(unclear) {
        let rows = counted(findings.len(), "row");
        lines.push(format!("{} of {rows}: {text}", names.len()));
    }
    for (text, names) in grouped(not_judged) {
        lines.push(format!("not judged: {}: {text}", few(&names)));
    }
    lines
}
