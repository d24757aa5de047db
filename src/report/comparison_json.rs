//! A comparison as one JSON document, schema `syscost.comparison/1`. FORMAT.md documents it; fields are only ever added.

use super::caution_words;
use super::comparison_words::{different_work, scale, word};
use super::json_study::{self, ScaledDocument, StudyDocument};
use crate::compare::{AreaMean, Cell, ColumnInfo, ComparedDerived, ComparedRow, Comparison, Verdict};
use crate::model::{Combination, Entries, Host, Scale};
use crate::stats::Ranged;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// What `compare --format json` prints. In each list over files, the order is that of `columns`.
#[derive(Serialize, JsonSchema)]
pub struct ComparisonDocument {
    /// `syscost.comparison/1`
    schema: &'static str,
    /// The files.
    columns: Vec<ColumnDocument>,
    /// Index of the column that the others are divided by.
    baseline: usize,
    /// Costs within this share of each other are the same.
    margin: f64,
    /// The study that selected the rows; null without one.
    study: Option<StudyDocument>,
    /// What makes the comparison unfair, or must be known to read it.
    cautions: Vec<String>,
    /// The reference system call against the baseline's.
    reference: Vec<VerdictDocument>,
    rows: Vec<RowDocument>,
    /// What the study makes of two rows each.
    derived: Vec<DerivedDocument>,
    /// Geometric means of the ratios.
    means: Vec<MeanDocument>,
    /// Rows left out because they do not surely differ by more than the threshold that was asked for.
    left_out: LeftOutDocument,
}

#[derive(Serialize, JsonSchema)]
struct LeftOutDocument {
    /// Surely within it.
    same: usize,
    unresolved: usize,
}

#[derive(Serialize, JsonSchema)]
struct ColumnDocument {
    /// What stands above the column.
    label: String,
    host: Host,
    tool: ToolDocument,
    /// Where the figures come from, if the tool did not measure them.
    source: Option<String>,
    /// Seconds since 1970-01-01 UTC; 0 where that is not known.
    started_unix_s: u64,
    seed: u64,
    budget_s: f64,
    precision_percent: f64,
    /// False where the run was interrupted.
    complete: bool,
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ToolDocument {
    name: String,
    version: String,
    /// The compiler that built the probe.
    compiler: String,
}

#[derive(Serialize, JsonSchema)]
struct RowDocument {
    /// The name that a study gives it, else the operation.
    name: String,
    /// Id of the operation, or text of the snippet, in the first column that has the row.
    operation: String,
    /// The operation's area; of a snippet its language.
    area: String,
    language: Option<String>,
    environment: String,
    /// All parameters that any of the columns names.
    params: BTreeMap<String, u64>,
    /// Null where the run does not have the row.
    costs: Vec<Option<CostDocument>>,
    verdicts: Vec<VerdictDocument>,
}

#[derive(Serialize, JsonSchema)]
struct CostDocument {
    /// Nanoseconds per iteration; null where the case failed.
    median_ns: Option<f64>,
    /// Interval of the median of at least 95%, within the run.
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    /// Batches that it rests on; 0 for a published figure.
    samples: usize,
    /// Kernel entries per iteration by name; null where they are not known.
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    entries: Option<Entries>,
    /// The median as the time of so many calls; absent without a scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaled: Option<ScaledDocument>,
    /// Why there is no figure; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct VerdictDocument {
    /// `baseline`, `slower`, `faster`, `same`, `unresolved`, `one_figure`, `different_work` or `missing`.
    verdict: &'static str,
    /// Cost over the baseline's; null where there is none.
    ratio: Option<f64>,
    /// Its interval of 95%, for this row alone; null for published figures.
    low: Option<f64>,
    high: Option<f64>,
    /// The ratio divided by that of the reference call.
    relative_to_reference: Option<f64>,
    /// How the work differs; absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct DerivedDocument {
    name: String,
    /// `difference` or `ratio`: the first against the second.
    kind: &'static str,
    of: [String; 2],
    environment: String,
    params: BTreeMap<String, u64>,
    /// Unit of the values: `ns` per iteration, or `1` for a ratio.
    unit: &'static str,
    /// Null where the run lacks one of the two rows.
    values: Vec<Option<ValueDocument>>,
}

#[derive(Serialize, JsonSchema)]
struct ValueDocument {
    /// Null where there is none.
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Absent without a scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaled: Option<ScaledDocument>,
    /// Why there is no value; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct MeanDocument {
    /// Null for the mean over all rows.
    area: Option<String>,
    /// Rows that the means are over.
    rows: usize,
    /// Null for the baseline and for columns without a ratio.
    ratios: Vec<Option<f64>>,
}

/// Writes the document of `comparison`.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_comparison_json(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(comparison))?;
    Ok(writeln!(out)?)
}

/// The JSON Schema of the document.
pub fn comparison_schema() -> serde_json::Value {
    schemars::schema_for!(ComparisonDocument).to_value()
}

fn document(comparison: &Comparison) -> ComparisonDocument {
    ComparisonDocument {
        schema: "syscost.comparison/1",
        columns: comparison.columns.iter().map(column).collect(),
        baseline: comparison.baseline,
        margin: comparison.margin,
        study: comparison.study.as_ref().map(json_study::study),
        cautions: caution_words::lines(comparison),
        reference: verdicts(comparison, &comparison.reference),
        rows: comparison.rows.iter().map(|one| row(comparison, one)).collect(),
        derived: comparison.derived.iter().map(derived).collect(),
        means: comparison.areas.iter().map(mean).collect(),
        left_out: LeftOutDocument { same: comparison.left_out.same, unresolved: comparison.left_out.unresolved },
    }
}

fn column(info: &ColumnInfo) -> ColumnDocument {
    let tool = &info.tool;
    ColumnDocument {
        label: info.label.clone(),
        host: info.host.clone(),
        tool: ToolDocument { name: tool.name.clone(), version: tool.version.clone(), compiler: tool.compiler.clone() },
        source: info.source.as_ref().map(|source| source.title.clone()),
        started_unix_s: info.started_unix_s,
        seed: info.seed,
        budget_s: info.budget_s,
        precision_percent: info.precision_percent,
        complete: info.complete,
        warnings: info.warnings.iter().map(ToString::to_string).collect(),
    }
}

fn row(comparison: &Comparison, row: &ComparedRow) -> RowDocument {
    let scale = scale(comparison, row);
    RowDocument {
        name: row.key.label.clone(),
        operation: row.operation.clone(),
        area: row.area.clone(),
        language: row.key.language.clone(),
        environment: row.key.environment.clone(),
        params: row.key.params.clone(),
        costs: row.cells.iter().map(|cell| Some(cost(cell.as_ref()?, scale))).collect(),
        verdicts: verdicts(comparison, &row.verdicts),
    }
}

fn cost(cell: &Cell, scale: Option<&Scale>) -> CostDocument {
    let figure = cell.figure.as_ref().ok();
    let interval = figure.and_then(|figure| figure.interval);
    CostDocument {
        median_ns: figure.map(|figure| figure.median.0),
        low_ns: interval.map(|interval| interval.low),
        high_ns: interval.map(|interval| interval.high),
        samples: figure.map_or(0, |figure| figure.samples),
        entries: cell.entries.clone(),
        scaled: scale.zip(figure).map(|(scale, figure)| json_study::time(scale, figure.median.0)),
        error: cell.figure.as_ref().err().map(ToString::to_string),
    }
}

fn verdicts(comparison: &Comparison, verdicts: &[Verdict]) -> Vec<VerdictDocument> {
    verdicts.iter().enumerate().map(|(column, one)| verdict(comparison, column, one)).collect()
}

fn verdict(comparison: &Comparison, column: usize, verdict: &Verdict) -> VerdictDocument {
    VerdictDocument {
        verdict: word(verdict),
        ratio: verdict.ratio(),
        low: verdict.low_high().map(|(low, _)| low),
        high: verdict.low_high().map(|(_, high)| high),
        relative_to_reference: verdict.relative(),
        explanation: match verdict {
            Verdict::DifferentWork(how) => Some(different_work(comparison, column, how)),
            _ => None,
        },
    }
}

fn derived(row: &ComparedDerived) -> DerivedDocument {
    let is_ratio = row.combination == Combination::Ratio;
    let value = |value: &std::result::Result<Ranged, String>| {
        let found = value.as_ref().ok();
        ValueDocument {
            value: found.map(|value| value.value),
            low: found.and_then(|value| value.low_high).map(|(low, _)| low),
            high: found.and_then(|value| value.low_high).map(|(_, high)| high),
            scaled: row.scale.as_ref().zip(found).map(|(scale, value)| json_study::time(scale, value.value)),
            error: value.as_ref().err().cloned(),
        }
    };
    DerivedDocument {
        name: row.name.clone(),
        kind: if is_ratio { "ratio" } else { "difference" },
        of: row.of.clone(),
        environment: row.environment.clone(),
        params: row.params.clone(),
        unit: if is_ratio { "1" } else { "ns" },
        values: row.values.iter().map(|found| found.as_ref().map(value)).collect(),
    }
}

fn mean(mean: &AreaMean) -> MeanDocument {
    MeanDocument { area: mean.area.clone(), rows: mean.rows, ratios: mean.ratios.clone() }
}
