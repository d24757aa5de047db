//! The question and the answer, before everything else.

use super::compared;
use super::page::Page;
use model::{Combination, Unit};
use model::prose::some;
use crate::figure::Kernel;
use crate::numbers::nanoseconds;
use crate::run::columns;
use crate::run::detail::Detail;
use crate::run::figures::{kernel, name};
use crate::run::highlights::{self, Highlight, SURPRISES_RULE};
use crate::run::{environment_table, overheads};
use crate::study;
use analysis::summary::Row;
use document::write::html as cells;
use document::write::markup::{Markup, cut};
use std::collections::BTreeSet;

/// Characters of a name, and of a paragraph.
const NAME: usize = 80;
const PARAGRAPH: usize = 4000;

/// The question, and what answers it: of several files the verdict on each, of one file what is notable in it.
pub fn write(html: &mut Markup, page: &Page) {
    let Some(detail) = page.main().and_then(|main| main.detail.as_ref()) else { return };
    let study = detail.summary.study.as_ref();
    let question = study.map(|study| flat(&study.question)).filter(|question| !question.is_empty());
    let asked = question.unwrap_or_else(|| match page.comparison {
        Some(comparison) => format!("Slower or faster than {}?", comparison.label(comparison.baseline)),
        None if several(detail) => "What does each environment add to a system call?".to_string(),
        None => "What does a system call cost here?".to_string(),
    });
    html.raw("<section id=\"answer\" aria-labelledby=\"answer-h\"><h2 id=\"answer-h\">");
    html.text(&cut(&asked, PARAGRAPH)).raw("</h2>");
    page.comparison.iter().for_each(|comparison| compared::short(html, comparison));
    if let Some(answer) = study.map(|study| flat(&study.answer)).filter(|answer| !answer.is_empty()) {
        html.raw("<p class=\"lead\">").text(&cut(&answer, PARAGRAPH)).raw("</p>");
    }
    if page.comparison.is_none() {
        of_run(html, detail);
    }
    html.raw("</section>");
}

/// What is notable in one run; of the baseline of a comparison it stands with its table.
pub fn of_run(html: &mut Markup, detail: &Detail) {
    if detail.summary.study.as_ref().is_none_or(|study| study.answer.is_empty()) {
        in_short(html, detail);
    }
    derived(html, detail);
    environments(html, detail);
    cards(html, detail);
    failures(html, detail);
}

/// Whether the run has several environments.
pub fn several(detail: &Detail) -> bool {
    columns::environments(&detail.summary).len() > 1
}

/// Environments that are side by side on a page.
const MOST_ENVIRONMENTS: usize = 4;

/// What each operation costs in each environment.
fn environments(html: &mut Markup, detail: &Detail) {
    let summary = &detail.summary;
    if (2..=MOST_ENVIRONMENTS).contains(&columns::environments(summary).len()) {
        let rows: Vec<&Row> = summary.rows.iter().collect();
        let table = environment_table(summary, &columns::lines(summary, &rows)).without_empty();
        cells::plain(html, &table, "Costs in each environment, and the ratios of batches of the same rounds");
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One sentence on the run: what entering the kernel costs, and how many do not.
fn in_short(html: &mut Markup, detail: &Detail) {
    let summary = &detail.summary;
    let baseline = |operation: &str| {
        let row = summary.baselines.iter().find(|row| row.case.operation == operation && row.cost().is_some())?;
        Some(row.cost()?.median.0)
    };
    html.raw("<p class=\"lead\">");
    if let Some(added) = overheads(summary) {
        html.raw("<b>").text(&added).raw(".</b> ");
    } else if let Some(ns) = baseline(model::REFERENCE) {
        html.raw("A system call that does next to nothing, getppid, takes <b>").text(&nanoseconds(ns)).raw(" ns</b>");
        if let Some(call) = baseline(model::EMPTY_CALL).filter(|call| *call > 0.0) {
            html.raw(", as long as ").text(&crate::numbers::three_figures(ns / call));
            html.raw(" empty function calls");
        }
        html.raw(". ");
    }
    counted(html, detail);
    let firsts = || highlights::firsts(&summary.rows).into_iter().filter(|row| row.cost().is_some());
    let measured = firsts().count();
    if measured == 0 {
        html.raw("</p>");
        return;
    }
    html.text(&format!("Of {measured} operations with a cost, {} ", highlights::never_enters(summary)));
    html.raw("make no system call at all");
    let unknown = firsts().filter(|row| kernel(row) == Kernel::Unknown).count();
    if unknown > 0 {
        html.text(&format!("; of {unknown} it is not known"));
    }
    html.raw(".</p>");
}

/// How many rows are no times.
fn counted(html: &mut Markup, detail: &Detail) {
    let counted: Vec<&Row> = detail.summary.rows.iter().filter(|row| row.instructions().is_some()).collect();
    if counted.is_empty() {
        return;
    }
    let places: BTreeSet<&str> = counted.iter().map(|row| row.case.environment.as_str()).collect();
    let places: Vec<String> = places.into_iter().map(|name| cut(name, NAME)).collect();
    let text = format!("{} rows are numbers of instructions in {}, not times. ", counted.len(), some(&places, 8));
    html.text(&text);
}

/// What the study makes of two rows each.
fn derived(html: &mut Markup, detail: &Detail) {
    let rows = &detail.summary.derived;
    if rows.is_empty() {
        return;
    }
    html.raw("<ul class=\"derived\">");
    let several = rows.iter().any(|row| row.environment != rows[0].environment);
    for row in rows {
        let (value, interval) = (study::derived_value(row), study::derived_interval(row));
        let unit = match (row.combination, row.unit) {
            (Combination::Ratio, _) => "",
            (Combination::Difference, Unit::Nanoseconds) => " ns",
            (Combination::Difference, Unit::Instructions) => " instr",
        };
        let place = if several { format!(" in {}", row.environment) } else { String::new() };
        html.raw("<li><span>").text(&cut(&study::derived_name(row).text, NAME)).text(&cut(&place, NAME));
        html.raw("</span> <b>");
        html.text(&value.text).text(unit).raw("</b> <small>").text(&interval.text).raw("</small></li>");
    }
    html.raw("</ul>");
}

fn cards(html: &mut Markup, detail: &Detail) {
    html.raw("<div class=\"cards\">");
    card(
        html,
        "The slowest",
        "the highest cost per operation, without those whose cost depends on the file system's history",
        &highlights::slowest(&detail.summary),
    );
    let none = highlights::no_system_calls(&detail.summary);
    card(html, "No system calls at all", "system calls counted: none; the slowest of them", &none);
    card(html, "The most surprising", SURPRISES_RULE, &highlights::surprises(detail));
    html.raw("</div>");
}

fn card(html: &mut Markup, heading: &'static str, rule: &'static str, items: &[Highlight]) {
    if items.is_empty() {
        return;
    }
    html.raw("<section class=\"card\"><h3>").raw(heading).raw("</h3><ol>");
    for item in items {
        html.raw("<li><b>").text(&cut(&item.name, NAME)).raw("</b> <span class=\"v\">");
        html.text(&nanoseconds(item.ns)).raw(" ns</span>");
        if !item.why.is_empty() {
            html.raw(" <small>").text(&cut(&item.why, 2 * NAME)).raw("</small>");
        }
        html.raw("</li>");
    }
    html.raw("</ol><p class=\"rule\">Rule: ").raw(rule).raw(".</p></section>");
}

/// Cases without a cost are part of the answer.
fn failures(html: &mut Markup, detail: &Detail) {
    let failed: Vec<String> =
        detail.summary.rows.iter().filter(|row| row.figure.is_err()).map(|row| cut(&name(row), NAME)).collect();
    if !failed.is_empty() {
        html.raw("<p class=\"warn\">No cost for ").text(&some(&failed, 8)).raw(": the table says why.</p>");
    }
}
