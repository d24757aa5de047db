//! `syscost compare --metric`: files side by side by an event that was counted.

use super::CompareArgs;
use crate::clean;
use crate::cli::error::usage;
use crate::cli::exit::Exit;
use crate::cli::messages::Notes;
use crate::cli::{result_files, terminal};
use crate::compare::{Metric, MetricColumn, MetricComparison, MetricOptions, Selection, compare_metric};
use crate::model::Run;
use crate::report::{Format, metric_growth_lines, write_json, write_metric};
use anyhow::{Result, anyhow};
use std::io::Write;

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

/// Compares by `metric`.
///
/// # Errors
/// If a file cannot be read or has no counts of it, or `out` cannot be written.
pub fn run(
    metric: &Metric,
    args: &CompareArgs,
    selection: Selection,
    notes: Notes,
    out: &mut dyn Write,
) -> Result<Exit> {
    let mut comparison = compared(metric, args, selection)?;
    if let Some(limit) = args.fail_over {
        comparison.limit_growth(limit);
    }
    if args.threshold.is_some() {
        comparison.keep_differing();
    }
    match args.format {
        Format::Json => write_json(&comparison, out)?,
        format => write_metric(&comparison, format, terminal::screen(), out)?,
    }
    out.flush()?;
    let grown = metric_growth_lines(&comparison);
    grown.iter().for_each(|line| notes.tell(line));
    Ok(if grown.is_empty() { Exit::Success } else { Exit::CostGrown })
}

fn compared(metric: &Metric, args: &CompareArgs, selection: Selection) -> Result<MetricComparison> {
    let condense = |_, mut run: Run| {
        selection.study.iter().for_each(|study| study.apply(&mut run));
        MetricColumn::new(metric, &run)
    };
    let columns = result_files::read(&args.files, &args.labels, condense, MetricColumn::info)?;
    if let Some((label, reason)) = columns.iter().find_map(MetricColumn::missing) {
        return usage(Err(anyhow!("--metric: {} in {label}: {}", metric.name, clean::line(reason))));
    }
    let labels = columns.iter().map(MetricColumn::label);
    let baseline = usage(result_files::baseline(args.baseline.as_deref(), &args.files, labels))?;
    let options = MetricOptions { baseline, margin: args.threshold, selection, order: args.sort };
    let comparison = compare_metric(metric, &columns, &options);
    let common = comparison.rows.iter().any(|row| row.counts.iter().flatten().count() > 1);
    match common {
        true => Ok(comparison),
        false => usage(Err(anyhow!("--metric: the files have no row in common that --only and --study leave"))),
    }
}
