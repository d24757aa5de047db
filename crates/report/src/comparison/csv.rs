//! A comparison as comma-separated values: one line per row and file, exact numbers. The columns do not depend on the
//! files.

use crate::run::columns::ranged;
use analysis::compare::{
    AreaMean, ComparedDerived, ComparedRow, Comparison, MachineChange, Verdict,
};
use analysis::derive::difference_or_ratio;
use document::{Columns, Records, params};
use model::{Entries, Unit, word};
use stats::{Quantity, Ranged};

/// Lines of kind `cost`, `difference`, `ratio` (derived rows), `mean` (of an area) and `machine`.
pub fn records(comparison: &Comparison) -> Records {
    let lines = lines(comparison);
    let columns = Columns::new(&lines)
        .field("kind", |line| &line.kind)
        .field("name", |line| line.name)
        .field("area", |line| line.area)
        .field("language", |line| line.language)
        .field("environment", |line| line.environment)
        .field("params", |line| &line.params)
        .field("file", |line| line.file);
    let names = ["median_ns", "ci_low_ns", "ci_high_ns"];
    let columns = ranged(columns, names, |line| {
        line.quantity?.in_unit(Unit::Nanoseconds)
    });
    let names = ["instructions", "instructions_low", "instructions_high"];
    let columns = ranged(columns, names, |line| {
        line.quantity?.in_unit(Unit::Instructions)
    })
    .field("difference_instructions", |line| line.verdict?.difference())
    .field("kernel_entries", |line| Some(line.entries?.total()))
    .field("kernel_entries_by_call", |line| {
        line.entries.map(ToString::to_string)
    });
    ranged(columns, ["ratio", "ratio_low", "ratio_high"], |line| {
        line.ratio
    })
    .field("ratio_as_measured", |line| line.verdict?.as_measured())
    .field("relative_to_reference", |line| line.verdict?.relative())
    .field("verdict", Line::word)
    .field("error", |line| line.error)
    .records()
}

#[derive(Default)]
struct Line<'a> {
    kind: String,
    name: &'a str,
    area: &'a str,
    language: Option<&'a str>,
    environment: &'a str,
    params: String,
    file: &'a str,
    quantity: Option<Quantity>,
    entries: Option<&'a Entries>,
    ratio: Option<Ranged>,
    verdict: Option<&'a Verdict>,
    error: Option<&'a str>,
}

fn lines<'a>(comparison: &'a Comparison) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut add = |line_of: &dyn Fn(usize) -> Option<Line<'a>>| {
        for (column, info) in comparison.columns.iter().enumerate() {
            lines.extend(line_of(column).map(|line| Line {
                file: &info.label,
                ..line
            }));
        }
    };
    for row in &comparison.rows {
        add(&|column| Some(cost(comparison, row, column)));
    }
    for row in &comparison.derived {
        add(&|column| derived(comparison, row, column));
    }
    for area in &comparison.areas {
        add(&|column| mean(area, column));
    }
    add(&|column| comparison.machine[column].as_ref().map(machine));
    lines
}

fn machine<'a>(change: &MachineChange) -> Line<'a> {
    Line {
        kind: "machine".into(),
        name: "machine",
        ratio: Some(Ranged {
            value: change.ratio,
            low_high: Some((change.low, change.high)),
        }),
        ..Line::default()
    }
}

/// There is a line even if the run lacks the row, with the verdict `missing`.
fn cost<'a>(comparison: &'a Comparison, row: &'a ComparedRow, column: usize) -> Line<'a> {
    let (cell, verdict) = (row.cells[column].as_ref(), &row.verdicts[column]);
    let failure = cell.and_then(|cell| cell.figure.as_ref().err());
    Line {
        kind: "cost".into(),
        name: &row.key.label,
        area: &row.area,
        language: row.key.language.as_deref(),
        environment: comparison.environment(&row.key.environment, column),
        params: params(&row.key.params),
        quantity: cell.and_then(|cell| cell.quantity()),
        entries: cell.and_then(|cell| cell.entries.as_ref()),
        ratio: verdict.ratio().map(|value| Ranged {
            value,
            low_high: verdict.low_high(),
        }),
        verdict: Some(verdict),
        error: failure.map(|failure| failure.message.as_str()),
        ..Line::default()
    }
}

fn derived<'a>(
    comparison: &'a Comparison,
    row: &'a ComparedDerived,
    column: usize,
) -> Option<Line<'a>> {
    let value = row.values[column].as_ref()?.as_ref();
    let (quantity, ratio) = difference_or_ratio(row.combination, row.unit, value.ok().copied());
    Some(Line {
        kind: word(&row.combination, ""),
        name: &row.name,
        environment: comparison.environment(&row.environment, column),
        params: params(&row.params),
        quantity,
        ratio,
        error: value.err().map(String::as_str),
        ..Line::default()
    })
}

fn mean(mean: &AreaMean, column: usize) -> Option<Line<'_>> {
    Some(Line {
        kind: "mean".into(),
        area: mean.area.as_deref().unwrap_or("all"),
        ratio: Some(Ranged {
            value: mean.ratios[column]?,
            low_high: None,
        }),
        ..Line::default()
    })
}

impl Line<'_> {
    fn word(&self) -> Option<String> {
        let verdict = self.verdict?;
        Some(if self.error.is_some() && *verdict != Verdict::Baseline {
            "failed".into()
        } else {
            word(verdict, "verdict")
        })
    }
}
