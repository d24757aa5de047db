//! `syscost compare --metric`: files side by side by an event that was counted.

use super::gate::GateArgs;
use crate::clean;
use crate::cli::error::usage;
use crate::cli::exit::Exit;
use crate::cli::messages::Notes;
use crate::cli::{result_files, terminal};
use crate::compare::{Metric, MetricColumn, MetricComparison, MetricOptions, Order, Selection, compare_metric};
use crate::model::Run;
use crate::report::{Format, metric_findings, write_json, write_metric};
use anyhow::{Result, anyhow};
use std::io::Write;
use std::path::PathBuf;

/// What `--metric` names.
#[derive(Clone, Debug)]
pub enum MetricChoice {
    Time,
    Event(Metric),
}

/// Parses the flag.
///
/// # Errors
/// That there is no such metric, with the names of all.
pub fn parse(text: &str) -> Result<MetricChoice, String> {
    Metric::find(text).map(|metric| metric.map_or(MetricChoice::Time, MetricChoice::Event))
}

/// What is compared, and what counts as a difference.
pub struct MetricQuestion<'a> {
    pub metric: &'a Metric,
    pub files: &'a [PathBuf],
    pub labels: &'a [String],
    pub baseline: Option<&'a str>,
    pub selection: Selection,
    pub order: Order,
    /// A margin, as a share; smaller differences are not shown.
    pub threshold: Option<f64>,
    pub gate: &'a GateArgs,
}

/// Compares by a metric.
///
/// # Errors
/// If a file cannot be read or has no counts of it, or `out` cannot be written.
pub fn run(question: &MetricQuestion, format: Format, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let mut comparison = compared(question)?;
    if question.gate.is_set() {
        comparison.gate(&question.gate.gate());
    }
    if question.threshold.is_some() {
        comparison.keep_differing();
    }
    match format {
        Format::Json => write_json(&comparison, out)?,
        format => write_metric(&comparison, format, terminal::screen(), out)?,
    }
    out.flush()?;
    let complete = comparison.columns.iter().all(|column| column.complete);
    question.gate.conclude(&metric_findings(&comparison), complete, notes)
}

fn compared(question: &MetricQuestion) -> Result<MetricComparison> {
    let condense = |_, mut run: Run| {
        question.selection.study.iter().for_each(|study| study.apply(&mut run));
        MetricColumn::new(question.metric, &run)
    };
    let columns = result_files::read(question.files, question.labels, condense, MetricColumn::info)?;
    if let Some((label, reason)) = columns.iter().find_map(MetricColumn::missing) {
        let name = &question.metric.name;
        return usage(Err(anyhow!("--metric: {name} in {label}: {}", clean::line(reason))));
    }
    let labels = columns.iter().map(MetricColumn::label);
    let baseline = usage(result_files::baseline(question.baseline, question.files, labels))?;
    let (selection, order) = (question.selection.clone(), question.order);
    let options = MetricOptions { baseline, margin: question.threshold, selection, order };
    let comparison = compare_metric(question.metric, &columns, &options);
    match comparison.rows.iter().any(|row| row.counts.iter().flatten().count() > 1) {
        true => Ok(comparison),
        false => usage(Err(anyhow!("--metric: the files have no row in common that --only and --study leave"))),
    }
}
