//! The summary as one JSON document, schema `syscost.summary/1`. FORMAT.md documents it; fields are only ever added.

use super::json_fits::{CrossoverDocument, FitDocument, crossovers, fits};
use super::json_study::{self, DerivedDocument, ScaledDocument, StudyDocument};
use crate::fit::families;
use crate::model::{Entries, EntriesStatus, FailureKind, Host, Run, StudyView};
use crate::summary::{Row, RowCost, Summary};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// What `--format json` prints.
#[derive(Serialize, JsonSchema)]
pub struct SummaryDocument {
    /// `syscost.summary/1`
    schema: &'static str,
    tool: Tool,
    /// The study that named the cases; null where the command line did.
    study: Option<StudyDocument>,
    host: Host,
    /// Seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    /// Wall time of the measurement in seconds.
    elapsed_s: f64,
    /// Seed of all random orders.
    seed: u64,
    /// False where the run was interrupted.
    complete: bool,
    /// What concerns all records.
    warnings: Vec<String>,
    /// What was asked for.
    records: Vec<RecordDocument>,
    /// What the study makes of two records each.
    derived: Vec<DerivedDocument>,
    /// What every run measures beside it.
    baselines: Vec<RecordDocument>,
    /// Cost models: one for each strategy and parameter that was measured at two values or more.
    fits: Vec<FitDocument>,
    /// Where one strategy overtakes another, for each two strategies with two values of a parameter in common.
    crossovers: Vec<CrossoverDocument>,
}

#[derive(Serialize, JsonSchema)]
struct Tool {
    name: String,
    version: String,
    /// The compiler that built the probe.
    compiler: String,
}

#[derive(Serialize, JsonSchema)]
struct RecordDocument {
    /// Id of the operation, or text of the snippet.
    operation: String,
    /// The name that a study gives it.
    name: Option<String>,
    /// Language of a snippet.
    language: Option<String>,
    /// How the probe was built and started.
    environment: String,
    /// All parameters it was measured with.
    params: BTreeMap<String, u64>,
    /// Unit of median, low, high, best and net: `ns`, per iteration.
    unit: &'static str,
    /// Median over all batches; null where the case failed.
    median: Option<f64>,
    /// Lower end of the median's interval of at least 95%.
    low: Option<f64>,
    /// Upper end of it.
    high: Option<f64>,
    /// Smallest sample.
    best: Option<f64>,
    /// Median minus that of the empty loop.
    net: Option<f64>,
    /// Median in units of an empty function call.
    times_empty_call: Option<f64>,
    /// The median as the time of so many calls; absent without a scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaled: Option<ScaledDocument>,
    /// Batches that the figures rest on.
    samples: usize,
    /// User mode's share of the CPU time, 0 to 1; null where it is not known well enough.
    user_share: Option<f64>,
    /// Standard error of `user_share`.
    user_share_error: Option<f64>,
    /// Kernel entries per iteration by name; null where they could not be counted.
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    entries: Option<Entries>,
    /// `verified` or `unverified`.
    entries_status: &'static str,
    /// In words.
    warnings: Vec<String>,
    /// Why there are no figures; absent where there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ErrorDocument {
    /// `unsupported`, `failed`, `timeout`, `crashed`, `start` or `interrupted`.
    kind: &'static str,
    /// One line, with the errno name where a call failed.
    message: String,
}

/// Writes the document of `run`, which `summary` sums up.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_summary(run: &Run, summary: &Summary, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(run, summary))?;
    Ok(writeln!(out)?)
}

/// The JSON Schema of the document.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(SummaryDocument).to_value()
}

fn document(run: &Run, summary: &Summary) -> SummaryDocument {
    let families = families(run);
    SummaryDocument {
        schema: "syscost.summary/1",
        tool: Tool {
            name: run.tool.name.clone(),
            version: run.tool.version.clone(),
            compiler: run.tool.compiler.clone(),
        },
        study: summary.study.as_ref().map(json_study::study),
        host: run.host.clone(),
        started_unix_s: run.started_unix_s,
        elapsed_s: run.elapsed_s,
        seed: run.seed,
        complete: run.complete,
        warnings: summary.warnings.iter().map(ToString::to_string).collect(),
        records: summary.rows.iter().map(|row| record(row, summary.study.as_ref())).collect(),
        derived: summary.derived.iter().map(json_study::derived).collect(),
        baselines: summary.baselines.iter().map(|row| record(row, None)).collect(),
        fits: fits(&families),
        crossovers: crossovers(&families),
    }
}

fn record(row: &Row, study: Option<&StudyView>) -> RecordDocument {
    let figure: Option<&RowCost> = row.figure.as_ref().ok();
    let interval = figure.and_then(|f| f.interval);
    let split = figure.and_then(|f| f.user_share);
    RecordDocument {
        operation: row.case.operation.clone(),
        name: row.case.name.clone(),
        language: row.case.language.clone(),
        environment: row.case.environment.clone(),
        params: row.case.effective_params(),
        unit: "ns",
        median: figure.map(|f| f.median.0),
        low: interval.map(|i| i.low),
        high: interval.map(|i| i.high),
        best: figure.and_then(|f| f.best).map(|best| best.0),
        net: figure.and_then(|f| f.net).map(|net| net.0),
        times_empty_call: figure.and_then(|f| f.times_empty_call),
        scaled: json_study::scaled(study, row),
        samples: figure.map_or(0, |f| f.samples),
        user_share: split.map(|split| split.share),
        user_share_error: split.map(|split| split.standard_error),
        entries: row.entries.clone(),
        entries_status: status(&row.entries_status),
        warnings: row.warnings.iter().map(|w| w.to_string()).collect(),
        error: row.figure.as_ref().err().map(|f| ErrorDocument { kind: kind(f.kind), message: f.message.clone() }),
    }
}

fn status(status: &EntriesStatus) -> &'static str {
    match status {
        EntriesStatus::Verified => "verified",
        EntriesStatus::Unverified(_) => "unverified",
    }
}

fn kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unsupported => "unsupported",
        FailureKind::Failed => "failed",
        FailureKind::Timeout => "timeout",
        FailureKind::Crashed => "crashed",
        FailureKind::Start => "start",
        FailureKind::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::synthetic::{Noise, run};
    use crate::summary::summarize;

    #[test]
    fn the_document_holds_models_and_crossovers_and_keeps_its_schema() {
        let sizes = [1, 10, 100, 1000];
        let run = run(&[("io.a", &sizes, &|_| 100.0), ("io.b", &sizes, &|x| x as f64)], 12, Noise::NONE);
        let mut text = Vec::new();
        write_summary(&run, &summarize(&run), &mut text).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert!(jsonschema::is_valid(&schema(), &document));
        assert_eq!(
            (document["fits"][0]["operation"].as_str(), document["fits"][0]["fixed"].as_f64()),
            (Some("io.a"), Some(100.0))
        );
        let crossover = &document["crossovers"][0];
        assert_eq!((crossover["cheaper_below"].as_str(), crossover["cheaper_above"].as_str()), (Some("b"), Some("a")));
        assert!((crossover["at"].as_f64().unwrap() - 100.0).abs() < 1e-6, "{crossover}");
    }
}
