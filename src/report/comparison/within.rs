//! The ratios of one run as a table, and what their gate found.

use crate::compare::{Found, WithinRow};
use crate::model::Entries;
use crate::report::comparison::row::number;
use crate::report::gate::{Finding, Outcome, failed_lines};
use crate::report::numbers::{self, nanoseconds};
use crate::report::{Cell, Spec, Table};

/// The ratios of the run in the file that is called `label`.
pub fn within_table(rows: &[WithinRow], label: &str) -> Table {
    let cost = |row: &WithinRow, which: usize| {
        row.costs_ns[which].map_or(Cell::default(), |ns| Cell::number(nanoseconds(ns), ns))
    };
    let specs = [
        Spec::left("ratio of", |row: &WithinRow| name(row).into()).wrapping(),
        Spec::right("base ns/op", |row: &WithinRow| cost(row, 1)),
        Spec::right("ns/op", |row: &WithinRow| cost(row, 0)),
        Spec::right("ratio", |row: &WithinRow| match &row.derived.value {
            Ok(value) => Cell::number(number(value.value), value.value),
            Err(why) => why.as_str().into(),
        }),
        Spec::right("95% interval", |row: &WithinRow| interval(row).into()),
        Spec::left("kernel entries", |row: &WithinRow| entries(row).into()).wrapping(),
    ];
    let failed = failed_lines(&within_findings(rows, label));
    let judged = rows.iter().any(|row| row.found.is_some());
    let passed = (judged && failed.is_empty()).then(|| "passed".to_string());
    let failed = failed.into_iter().map(|line| format!("failed: {line}"));
    let note = "both were measured in the same rounds; the ratio is paired, round by round".to_string();
    Table::of(&specs, rows).noted(passed.into_iter().chain(failed).chain([note]).collect())
}

fn name(row: &WithinRow) -> String {
    match row.derived.environment.as_str() {
        "native" => row.derived.name.clone(),
        environment => format!("{} in {environment}", row.derived.name),
    }
}

fn interval(row: &WithinRow) -> String {
    let ends = row.derived.value.as_ref().ok().and_then(|value| value.low_high);
    ends.map_or(String::new(), |(low, high)| format!("{} .. {}", number(low), number(high)))
}

/// `37 -> 69`: all of them together.
fn entries(row: &WithinRow) -> String {
    let total = |entries: &Option<Entries>| entries.as_ref().map_or("?".to_string(), |all| numbers::count(all.total()));
    let [own, base] = row.entries.each_ref().map(total);
    if own == base { own } else { format!("{base} -> {own}") }
}

/// The findings of the gate, one for each ratio.
pub fn within_findings(rows: &[WithinRow], label: &str) -> Vec<Finding> {
    rows.iter().filter_map(|row| finding(row, label)).collect()
}

fn finding(row: &WithinRow, label: &str) -> Option<Finding> {
    let [own, base] = &row.derived.of;
    let grown = || {
        let ratio = row.derived.value.as_ref().map_or(f64::NAN, |value| value.value);
        format!("{}: {own} costs x{ratio:.3} ({}) of {base}", name(row), interval(row))
    };
    let (outcome, text) = match row.found.as_ref()? {
        Found::Passed => (Outcome::Passed, String::new()),
        Found::Unclear { .. } => (Outcome::Unclear, grown() + ", not certainly over --fail-over"),
        Found::Grown { .. } => (Outcome::Failed, grown() + ", over --fail-over"),
        Found::Entries(how) => {
            let (new, old) = (numbers::entries(&how.own), numbers::entries(&how.base));
            (Outcome::Failed, format!("{}: {own} makes other kernel entries: {new}; {base}: {old}", name(row)))
        }
        Found::NotJudged { .. } => {
            let why = row.derived.value.as_ref().err().cloned();
            (Outcome::NotJudged, why.unwrap_or_else(|| "its kernel entries or its interval are not known".to_string()))
        }
    };
    Some(Finding { name: name(row), column: label.to_string(), outcome, text })
}
