//! A comparison as comma-separated values: a line for each row and file, exact numbers. One shape whatever the number of
//! files, so that programs need not know their names.

use super::comparison_words::word;
use super::spec::{Records, Spec, params};
use crate::compare::{AreaMean, ComparedDerived, ComparedRow, Comparison, Verdict};
use crate::model::{Combination, Entries, Failure};
use crate::stats::Ranged;
use crate::summary::RowCost;
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

/// Writes the lines of `comparison`: those of kind `cost`, `difference` and `ratio` (derived rows), and `mean` (geometric
/// means of ratios by area).
///
/// # Errors
/// When `out` cannot be written.
pub fn write_comparison_csv(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    super::csv::write(&Records::of(&columns(), &lines(comparison)), out)
}

/// What one line is about, and the index and name of its file.
struct Line<'a> {
    of: Of<'a>,
    index: usize,
    file: &'a str,
}

#[derive(Clone, Copy)]
enum Of<'a> {
    Cost(&'a ComparedRow),
    Derived(&'a ComparedDerived),
    Mean(&'a AreaMean),
}

fn lines(comparison: &Comparison) -> Vec<Line<'_>> {
    let costs = comparison.rows.iter().map(Of::Cost);
    let derived = comparison.derived.iter().map(Of::Derived);
    let all = costs.chain(derived).chain(comparison.areas.iter().map(Of::Mean));
    let files = || comparison.columns.iter().map(|column| column.label.as_str()).enumerate();
    all.flat_map(|of| files().map(move |(index, file)| Line { of, index, file })).filter(Line::is_there).collect()
}

fn columns<'a>() -> Vec<Spec<'static, Line<'a>>> {
    vec![
        Spec::hidden().text("kind", |line: &Line| line.kind().to_string()),
        Spec::hidden().text("name", |line: &Line| line.name().to_string()),
        Spec::hidden().text("area", |line: &Line| line.area().to_string()),
        Spec::hidden().text("language", |line: &Line| line.row()?.key.language.clone()),
        Spec::hidden().text("environment", |line: &Line| line.environment().to_string()),
        Spec::hidden().text("params", |line: &Line| line.params().map(params)),
        Spec::hidden().text("file", |line: &Line| line.file.to_string()),
        Spec::hidden()
            .number("median_ns", |line: &Line| Some(line.time()?.value))
            .number("ci_low_ns", |line| Some(line.time()?.low_high?.0))
            .number("ci_high_ns", |line| Some(line.time()?.low_high?.1)),
        Spec::hidden()
            .number("kernel_entries", |line: &Line| Some(line.entries()?.total()))
            .text("kernel_entries_by_call", |line| line.entries().map(ToString::to_string)),
        Spec::hidden()
            .number("ratio", |line: &Line| Some(line.ratio()?.value))
            .number("ratio_low", |line| Some(line.ratio()?.low_high?.0))
            .number("ratio_high", |line| Some(line.ratio()?.low_high?.1)),
        Spec::hidden().number("relative_to_reference", |line: &Line| line.verdict()?.relative()),
        Spec::hidden().text("verdict", |line: &Line| line.said().map(str::to_string)),
        Spec::hidden().text("error", Line::error),
    ]
}

impl<'a> Line<'a> {
    /// Runs without the row have a line that says so, where it is a cost.
    fn is_there(&self) -> bool {
        match self.of {
            Of::Cost(_) => true,
            Of::Derived(row) => row.values[self.index].is_some(),
            Of::Mean(mean) => mean.ratios[self.index].is_some(),
        }
    }

    fn kind(&self) -> &'static str {
        match self.of {
            Of::Cost(_) => "cost",
            Of::Derived(row) if row.combination == Combination::Ratio => "ratio",
            Of::Derived(_) => "difference",
            Of::Mean(_) => "mean",
        }
    }

    fn name(&self) -> &'a str {
        match self.of {
            Of::Cost(row) => &row.key.label,
            Of::Derived(row) => &row.name,
            Of::Mean(_) => "",
        }
    }

    fn area(&self) -> &'a str {
        match self.of {
            Of::Cost(row) => &row.area,
            Of::Derived(_) => "",
            Of::Mean(mean) => mean.area.as_deref().unwrap_or("all"),
        }
    }

    fn environment(&self) -> &'a str {
        match self.of {
            Of::Cost(row) => &row.key.environment,
            Of::Derived(row) => &row.environment,
            Of::Mean(_) => "",
        }
    }

    fn params(&self) -> Option<&'a BTreeMap<String, u64>> {
        match self.of {
            Of::Cost(row) => Some(&row.key.params),
            Of::Derived(row) => Some(&row.params),
            Of::Mean(_) => None,
        }
    }

    fn row(&self) -> Option<&'a ComparedRow> {
        if let Of::Cost(row) = self.of { Some(row) } else { None }
    }

    fn figure(&self) -> Option<&'a Result<RowCost, Failure>> {
        Some(&self.row()?.cells[self.index].as_ref()?.figure)
    }

    fn entries(&self) -> Option<&'a Entries> {
        self.row()?.cells[self.index].as_ref()?.entries.as_ref()
    }

    fn verdict(&self) -> Option<&'a Verdict> {
        Some(&self.row()?.verdicts[self.index])
    }

    /// A derived value of the kind `combination`.
    fn derived(&self, combination: Combination) -> Option<Ranged> {
        let Of::Derived(row) = self.of else { return None };
        row.values[self.index].clone()?.ok().filter(|_| row.combination == combination)
    }

    fn time(&self) -> Option<Ranged> {
        let Some(figure) = self.figure() else { return self.derived(Combination::Difference) };
        let figure = figure.as_ref().ok()?;
        Some(Ranged { value: figure.median.0, low_high: figure.interval.map(|i| (i.low, i.high)) })
    }

    fn ratio(&self) -> Option<Ranged> {
        match self.of {
            Of::Cost(_) => {
                let verdict = self.verdict()?;
                Some(Ranged { value: verdict.ratio()?, low_high: verdict.low_high() })
            }
            Of::Derived(_) => self.derived(Combination::Ratio),
            Of::Mean(mean) => Some(Ranged { value: mean.ratios[self.index]?, low_high: None }),
        }
    }

    fn said(&self) -> Option<&'static str> {
        let verdict = self.verdict()?;
        let failed = self.figure().is_some_and(Result::is_err) && *verdict != Verdict::Baseline;
        Some(if failed { "failed" } else { word(verdict) })
    }

    fn error(&self) -> Option<String> {
        match self.of {
            Of::Derived(row) => row.values[self.index].as_ref()?.as_ref().err().cloned(),
            _ => self.figure()?.as_ref().err().map(|failure| failure.message.clone()),
        }
    }
}
