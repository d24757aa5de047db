//! Several files side by side: what differs in short, what makes it unfair, and every cost with its ratio.

use super::page::Page;
use analysis::compare::Comparison;
use document::Block;
use model::Unit;
use crate::comparison::answer::answer;
use crate::comparison::row::Names;
use crate::comparison_document;
use crate::figure::Overlay;
use crate::figure::palette::SERIES;
use crate::numbers::percent;
use crate::run::figures::{by_case, in_column};
use crate::svg::{class, overlay};
use stats::Ranged;
use document::write::html as cells;
use document::write::markup::Markup;
use std::collections::HashMap;

/// Files in the short answer.
const MOST_FILES: usize = 6;

/// The verdict on each file.
pub fn short(html: &mut Markup, comparison: &Comparison) {
    html.raw("<ul class=\"lead\">");
    let others: Vec<usize> = comparison.others().collect();
    for column in others.iter().take(MOST_FILES) {
        html.raw("<li><b>").text(comparison.label(*column)).raw("</b>: ");
        html.text(&answer(comparison, *column)).raw("</li>");
    }
    html.raw("</ul>");
    if others.len() > MOST_FILES {
        let text = format!("{} more are in the table below.", others.len() - MOST_FILES);
        html.raw("<p>").text(&text).raw("</p>");
    }
}

pub fn write(html: &mut Markup, page: &Page, comparison: &Comparison) {
    html.raw("<section id=\"compared\" aria-labelledby=\"compared-h\"><h2 id=\"compared-h\">Side by side</h2>");
    let rows = drawn(page, comparison);
    if !rows.is_empty() {
        legend(html, comparison);
    }
    for block in comparison_document(comparison).blocks {
        match block {
            // The table of costs has one column for each file and the name; that of ratios has one less.
            Block::Pages(table) if table.columns().len() > comparison.columns.len() && !rows.is_empty() => {
                // On a narrow screen the first columns are seen.
                let titles = &["± of each", "samples and intervals"];
                let table = table.with_first(&["operation", "ratio", "verdict"]);
                cells::any(html, &table, (titles, |html, name| further(html, rows.get(name))));
            }
            block => cells::block(html, &block),
        }
    }
    html.raw("</section>");
}

/// By the names of rows: samples and costs of each file.
type Drawn<'a> = HashMap<String, Overlay<'a>>;

/// What is drawn of rows; nothing without samples, and of more files than there are colours.
fn drawn<'a>(page: &'a Page, comparison: &'a Comparison) -> Drawn<'a> {
    let mut rows = Drawn::new();
    if comparison.columns.len() > SERIES {
        return rows;
    }
    let (by_case, names) = (by_case(comparison), Names::of(comparison));
    for (column, file) in page.files.iter().enumerate() {
        for (row, samples) in
            file.detail.iter().flat_map(|detail| detail.summary.rows.iter().zip(&detail.distributions))
        {
            let Some(found) = by_case.get(&row.case).filter(|_| samples.is_some()) else { continue };
            let overlay = rows.entry(names.row(found)).or_insert_with(|| Overlay {
                samples: vec![None; page.files.len()],
                costs: (0..page.files.len()).map(|file| in_column(found, file, Unit::Nanoseconds)).collect(),
            });
            overlay.samples[column] = samples.as_ref();
        }
    }
    rows
}

fn legend(html: &mut Markup, comparison: &Comparison) {
    html.raw("<p class=\"rule\">");
    for (i, column) in comparison.columns.iter().enumerate() {
        html.raw("<svg class=\"key cell\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\"")
            .set("class", class(i));
        html.raw("/></svg> ").text(&column.label).raw("; ");
    }
    html.raw("below the samples, each cost with where the next run's will be 95 times in 100.</p>");
}

/// `3.6%, 3.3%`, and the drawing.
fn further(html: &mut Markup, drawn: Option<&Overlay>) {
    let Some(drawn) = drawn else {
        html.raw("<td></td><td></td>");
        return;
    };
    let percents = drawn.costs.iter().map(|cost| {
        let Some(Ranged { value, low_high: Some((low, high)) }) = cost else { return "?".to_string() };
        percent(50.0 * (high - low) / value) + "%"
    });
    let words = percents.collect::<Vec<_>>().join(", ");
    html.raw("<td>").text(&words).raw("</td><td class=\"w\">").add(&overlay(drawn, &words)).raw("</td>");
}
