//! The question and the answer, at the top of the page: for several files the verdict on each, for one file the cost of entering the
//! kernel.

use super::RunsPage;
use crate::comparison::answer::answer;
use crate::figure::Kernel;
use crate::html::page::Part;
use crate::numbers::{counted, nanoseconds};
use crate::run::columns;
use crate::run::environments::{reference_calls, versus_interval, versus_ratio};
use crate::run::figures::{cost, kernel};
use crate::run::names::anywhere;
use crate::study::flat;
use analysis::summary::{Row, Summary};
use document::{Cell, Columns, Table};
use model::REFERENCE;
use model::prose::more;
use std::collections::HashSet;

const MOST_FILES: usize = 6;

/// The study's question, else one that fits the files.
pub fn question(page: &RunsPage) -> String {
    let study = page
        .detail()
        .and_then(|detail| detail.summary.study.as_ref());
    let asked = study
        .map(|study| flat(&study.question))
        .filter(|question| !question.is_empty());
    asked.unwrap_or_else(|| match page.comparison {
        Some(comparison) => format!(
            "Slower or faster than {}?",
            comparison.label(comparison.baseline)
        ),
        None if page
            .detail()
            .is_some_and(|detail| columns::environments(&detail.summary).len() > 1) =>
        {
            "How much does each environment add to a system call?".to_string()
        }
        None => "How much does a system call cost here?".to_string(),
    })
}

/// The answer: verdicts on the files, or the study's answer, or the cost of a system call.
pub fn parts(page: &RunsPage) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(comparison) = page.comparison {
        let others: Vec<usize> = comparison.others().collect();
        for column in others.iter().take(MOST_FILES) {
            let label = comparison.label(*column);
            parts.push(Part::Lead(format!(
                "{label}: {}",
                answer(comparison, *column)
            )));
        }
        let left_out = others.len().saturating_sub(MOST_FILES);
        parts.extend(more(left_out, "more are in the table below.").map(Part::note));
    }
    let Some(detail) = page.detail() else {
        return parts;
    };
    let study = detail.summary.study.as_ref();
    let mut answer = study.map_or_else(String::new, |study| flat(&study.answer));
    if answer.is_empty() && page.comparison.is_none() {
        answer = in_short(&detail.summary);
    }
    if !answer.is_empty() {
        parts.push(Part::Lead(answer));
    }
    parts
}

fn in_short(summary: &Summary) -> String {
    let calls = reference_calls(summary);
    let bare = calls.first().and_then(|row| cost(row));
    let reference = bare.map(|ns| {
        format!(
            "getppid, a system call that does almost nothing, takes {} ns.",
            nanoseconds(ns)
        )
    });
    let firsts: Vec<Kernel> = firsts(&summary.rows)
        .filter(|row| row.cost().is_some())
        .map(kernel)
        .collect();
    let [never, unknown] = [Kernel::Never, Kernel::Unknown]
        .map(|wanted| firsts.iter().filter(|kernel| **kernel == wanted).count());
    let mut parts: Vec<String> = reference.into_iter().collect();
    if !firsts.is_empty() {
        let unknown = more(unknown, "are not known");
        parts.push(format!(
            "{never} of the {} with a cost make no system call{}.",
            counted(firsts.len() as u64, "operation"),
            unknown.map_or(String::new(), |unknown| format!("; {unknown}"))
        ));
    }
    parts.join(" ")
}

/// A filter, a tracer or another kernel is a tax on every system call.
pub fn added(summary: &Summary) -> Table {
    let rows = reference_calls(summary);
    let is_paired = rows.iter().any(|row| row.versus.is_some());
    let shown = if is_paired { &rows[..] } else { &[] };
    Columns::new(shown)
        .left("environment", |row| &row.case.environment)
        .right("ns", |row| Cell::known(cost(row), nanoseconds))
        .right("ratio", |row| versus_ratio(row))
        .right("interval", |row| versus_interval(row))
        .table()
        .titled(format!("Cost of {REFERENCE} in each environment"))
}

fn firsts(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let mut known = HashSet::new();
    rows.iter()
        .filter(move |row| known.insert(anywhere(&row.case)))
}
