//! What a gate found in a comparison, in words.

use crate::comparison::row::share;
use crate::numbers;
use analysis::compare::{Comparison, Difference, EntriesRule, Found, Gated, GatedRow, NotJudged};
use model::grouped;
use model::prose::{counted, few};

pub fn findings(comparison: &Comparison) -> Vec<Finding> {
    let finding = |gate: &Gated, row: &GatedRow| {
        let (outcome, text) = match &row.found {
            Found::Passed | Found::Unclear { .. } => (Outcome::Passed, String::new()),
            Found::Grown { ratio, low, high } => {
                let interval = if low == high {
                    String::new()
                } else {
                    format!(" ({low:.3} .. {high:.3})")
                };
                let (file, limit) = (
                    comparison.label(row.column),
                    share(gate.limit.unwrap_or_default()),
                );
                (
                    Outcome::Failed,
                    format!(
                        "{} costs x{ratio:.3}{interval} in {file}, over --fail-over {limit}",
                        row.key
                    ),
                )
            }
            Found::Entries(difference) => (Outcome::Failed, entries(comparison, row, difference)),
            Found::NotJudged { reason } => (Outcome::NotJudged, reason_text(*reason).to_string()),
        };
        Finding {
            name: row.key.to_string(),
            outcome,
            text,
        }
    };
    comparison
        .gate
        .iter()
        .flat_map(|gate| gate.rows.iter().map(move |row| finding(gate, row)))
        .collect()
}

/// `file.stat makes more kernel entries: stat x2 in new, stat x1 in old`
fn entries(comparison: &Comparison, row: &GatedRow, difference: &Difference) -> String {
    let more = difference.own.total() > difference.base.total();
    let (own, base) = (
        numbers::entries(&difference.own),
        numbers::entries(&difference.base),
    );
    let how = if more {
        "makes more kernel entries"
    } else {
        "makes other kernel entries"
    };
    let [file, baseline] = [row.column, comparison.baseline].map(|column| comparison.label(column));
    format!("{} {how}: {own} in {file}, {base} in {baseline}", row.key)
}

fn reason_text(reason: NotJudged) -> &'static str {
    match reason {
        NotJudged::Missing => "no result in one of the files",
        NotJudged::EntriesUnknown => "kernel entries were not counted in one of the files",
        NotJudged::OtherWork => "different kernel entries, but not more: costs are not compared",
        NotJudged::NoInterval => "a single value has no interval",
        NotJudged::DependsOnHistory => "the cost depends on earlier file system activity",
        NotJudged::Traced => "a tracer of system calls was on in one of the files",
        NotJudged::OtherUnit => "a time in one file, instructions in the other",
    }
}

fn headlines(gate: Option<&Gated>) -> Vec<String> {
    let Some(gate) = gate else { return Vec::new() };
    let count =
        |is_it: fn(&Found) -> bool| gate.rows.iter().filter(|row| is_it(&row.found)).count();
    let grown = count(|found| matches!(found, Found::Grown { .. }));
    let entries = count(|found| matches!(found, Found::Entries(_)));
    let grew = |limit: f64| {
        format!(
            "{} certainly grew by more than {} (--fail-over)",
            rows(grown, "row"),
            share(limit)
        )
    };
    let what = match gate.entries {
        Some(EntriesRule::Any) => Some("with other kernel entries (--fail-on-entries=any)"),
        Some(EntriesRule::More) => Some("with more kernel entries (--fail-on-entries)"),
        None => (entries > 0).then_some("with more kernel entries (--fail-over)"),
    };
    let entries = what.map(|what| format!("{} {what}", rows(entries, "row")));
    gate.limit.map(grew).into_iter().chain(entries).collect()
}

/// For output that is kept without the exit status.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    headlines(comparison.gate.as_ref())
        .into_iter()
        .chain(finding_lines(&findings(comparison)))
        .collect()
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
    /// Growth is not certain, or within the limit.
    Passed,
    Failed,
    NotJudged,
}

/// A line for each that failed, and one for each reason not to judge rows.
pub fn finding_lines(findings: &[Finding]) -> Vec<String> {
    let of = |outcome: Outcome| {
        findings
            .iter()
            .filter(move |finding| finding.outcome == outcome)
    };
    let failed = of(Outcome::Failed).map(|finding| finding.text.clone());
    let by_text = grouped(of(Outcome::NotJudged).map(|finding| (&finding.text, &finding.name)));
    let not_judged = by_text
        .iter()
        .map(|(text, names)| format!("not judged: {}: {text}", few(names)));
    failed.chain(not_judged).collect()
}
