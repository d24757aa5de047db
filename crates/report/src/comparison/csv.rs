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

fn lines(comparison: &Comparison) -> Vec<Line<'_>> {
    let labels = comparison.columns.iter().map(|column| &*column.label);
    let files = labels.enumerate();
    let mut lines = Vec::new();
    for row in &comparison.rows {
        lines.extend(
            files
                .clone()
                .map(|file| Line::of_cost(comparison, row, file)),
        );
    }
    for row in &comparison.derived {
        lines.extend(
            files
                .clone()
                .filter_map(|file| Line::of_derived(comparison, row, file)),
        );
    }
    for mean in &comparison.areas {
        lines.extend(files.clone().filter_map(|file| Line::of_mean(mean, file)));
    }
    lines.extend(files.filter_map(|(index, file)| {
        Some(Line::of_machine(comparison.machine[index].as_ref()?, file))
    }));
    lines
}

impl<'a> Line<'a> {
    fn of_machine(change: &MachineChange, file: &'a str) -> Line<'a> {
        let ratio = Some(Ranged {
            value: change.ratio,
            low_high: Some((change.low, change.high)),
        });
        Line {
            kind: "machine".into(),
            name: "machine",
            file,
            ratio,
            ..Line::default()
        }
    }

    /// There is a line even if the run lacks the row, with the verdict `missing`.
    fn of_cost(
        comparison: &'a Comparison,
        row: &'a ComparedRow,
        numbered: (usize, &'a str),
    ) -> Line<'a> {
        let (index, file) = numbered;

        let (cell, verdict) = (row.cells[index].as_ref(), &row.verdicts[index]);
        let figure = cell.map(|cell| &cell.figure);
        Line {
            kind: "cost".into(),
            name: &row.key.label,
            area: &row.area,
            language: row.key.language.as_deref(),
            environment: comparison.environment(&row.key.environment, index),
            params: params(&row.key.params),
            file,
            quantity: cell.and_then(|cell| cell.quantity()),
            entries: cell.and_then(|cell| cell.entries.as_ref()),
            ratio: verdict.ratio().map(|value| Ranged {
                value,
                low_high: verdict.low_high(),
            }),
            verdict: Some(verdict),
            error: figure
                .and_then(|figure| figure.as_ref().err())
                .map(|failure| failure.message.as_str()),
        }
    }

    fn of_derived(
        comparison: &'a Comparison,
        row: &'a ComparedDerived,
        numbered: (usize, &'a str),
    ) -> Option<Line<'a>> {
        let (index, file) = numbered;

        let ranged = row.values[index].as_ref()?;
        let (quantity, ratio) =
            difference_or_ratio(row.combination, row.unit, ranged.as_ref().ok().copied());
        Some(Line {
            kind: word(&row.combination, ""),
            name: &row.name,
            environment: comparison.environment(&row.environment, index),
            params: params(&row.params),
            file,
            quantity,
            ratio,
            error: ranged.as_ref().err().map(String::as_str),
            ..Line::default()
        })
    }

    fn of_mean(mean: &'a AreaMean, numbered: (usize, &'a str)) -> Option<Line<'a>> {
        let (index, file) = numbered;

        let ratio = Some(Ranged {
            value: mean.ratios[index]?,
            low_high: None,
        });
        Some(Line {
            kind: "mean".into(),
            area: mean.area.as_deref().unwrap_or("all"),
            file,
            ratio,
            ..Line::default()
        })
    }

    fn word(&self) -> Option<String> {
        let verdict = self.verdict?;
        Some(if self.error.is_some() && *verdict != Verdict::Baseline {
            "failed".into()
        } else {
            word(verdict, "verdict")
        })
    }
}
