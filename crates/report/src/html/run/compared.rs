//! Several files side by side: the comparison as `compare` prints it, with the samples of each row drawn over each other.

use super::RunsPage;
use crate::comparison::row::Names;
use crate::figure::Overlay;
use crate::figure::palette::SERIES;
use crate::html::page::Part;
use crate::numbers::half_width;
use crate::run::figures::{by_case, in_column};
use crate::{comparison_document, svg};
use analysis::compare::Comparison;
use document::write::html::Drawings;
use document::{Block, Table};
use itertools::Itertools;
use model::Unit;
use stats::Ranged;
use std::collections::HashMap;

/// The comparison, with histograms in the table of costs.
pub fn parts(page: &RunsPage, comparison: &Comparison) -> Vec<Part> {
    let rows = drawn(page, comparison);
    let labels: Vec<&str> = comparison
        .columns
        .iter()
        .map(|column| column.label.as_str())
        .collect();
    let mut parts = Vec::new();
    if !rows.is_empty() {
        parts.push(Part::Markup(svg::key(&labels)));
    }
    let blocks = comparison_document(comparison).blocks.into_iter();
    parts.extend(blocks.map(|block| part(block, labels.len(), &rows)));
    parts
}

/// The table of costs has one column for each file and the name; that of ratios has one less, and gets no drawings.
fn part(block: Block, files: usize, rows: &Drawn) -> Part {
    match block {
        Block::Pages(table) if table.columns().len() > files && !rows.is_empty() => {
            let drawings = drawings(&table, rows);
            Part::Drawn(table, vec![drawings])
        }
        block => Part::Block(block),
    }
}

fn drawings(table: &Table, rows: &Drawn) -> Drawings {
    let names = table
        .rows()
        .iter()
        .map(|cells| cells.first().map_or("", |name| &name.text));
    Drawings {
        title: "samples and intervals".to_string(),
        cells: names
            .map(|name| {
                rows.get(name)
                    .map(|overlay| (f64::NAN, svg::overlay(overlay, &words(overlay))))
            })
            .collect(),
    }
}

/// Keyed by row name.
type Drawn<'a> = HashMap<String, Overlay<'a>>;

/// Nothing without samples, and of more files than there are colours.
fn drawn<'a>(page: &'a RunsPage, comparison: &'a Comparison) -> Drawn<'a> {
    let mut rows = Drawn::new();
    // Overlaid histograms need a colour for each file.
    if comparison.columns.len() > SERIES {
        return rows;
    }
    let (by_case, names) = (by_case(comparison), Names::new(comparison));
    let files = page.files.len();
    for (column, file) in page.files.iter().enumerate() {
        let rows_of = file
            .detail
            .iter()
            .flat_map(|detail| detail.summary.rows.iter().zip(&detail.distributions));
        for (row, samples) in rows_of {
            let (Some(compared_row), Some(_)) = (by_case.get(&row.case), samples) else {
                continue;
            };
            let overlay = rows
                .entry(names.row(compared_row))
                .or_insert_with(|| Overlay {
                    samples: vec![None; files],
                    costs: (0..files)
                        .map(|file| in_column(compared_row, file, Unit::Nanoseconds))
                        .collect(),
                });
            overlay.samples[column] = samples.as_ref();
        }
    }
    rows
}

/// `±3.6%, ±3.3%`
fn words(overlay: &Overlay) -> String {
    let mut percents = overlay.costs.iter().map(|cost| {
        let Some(Ranged {
            value,
            low_high: Some((low, high)),
        }) = cost
        else {
            return "?".to_string();
        };
        format!("±{}", half_width(50.0 * (high - low) / value))
    });
    percents.join(", ")
}
