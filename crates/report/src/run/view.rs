//! A run as a document: its views one below the other, or JSON.

use crate::fit::{crossover_notes, fitted, plot};
use crate::run::cmpthese::{ViewKind, cmpthese_blocks};
use crate::run::counters::counters_document;
use crate::run::latency::latency_document;
use crate::run::table::{Sort, first_run_note, summary_table, summary_tables};
use crate::run::warnings::INTERRUPTED;
use analysis::fit::{Family, families};
use analysis::summary::Summary;
use document::{Block, Document};
use model::{EnvironmentFacts, Host, JsonDocument, Plan, Run, Source, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

pub struct RunView<'a> {
    pub kinds: &'a [ViewKind],
    pub sort: Sort,
    /// `None` for no limit.
    pub width: Option<u16>,
    /// `None` for no plots.
    pub plot_width: Option<u16>,
}

/// `summary` must be that of `run`. Programs read the first view that is a table.
pub fn run_document(run: &Run, summary: &Summary, view: &RunView) -> Document {
    let parts: Vec<Document> = view
        .kinds
        .iter()
        .map(|kind| part(run, summary, *kind, view))
        .collect();
    let of_samples = !view.kinds.iter().all(|kind| *kind == ViewKind::Table)
        || families(run, summary).iter().any(Family::is_worth_a_table);
    let note = if of_samples {
        first_run_note(summary)
    } else {
        None
    };
    let records = parts
        .first()
        .map(|part| part.records.clone())
        .unwrap_or_default();
    let is_timed = summary.rows.iter().any(|row| row.latency.is_some());
    let latency = if is_timed && !view.kinds.contains(&ViewKind::Latency) {
        Some("single calls were timed: '--view latency' shows their percentiles".to_string())
    } else {
        None
    };
    let note = Block::Notes(note.into_iter().chain(latency).collect());
    let interrupted = (!run.complete).then(|| format!("warning: {INTERRUPTED}"));
    let warning = Block::Notes(interrupted.into_iter().collect());
    let blocks = parts.into_iter().flat_map(|part| part.blocks);
    Document {
        blocks: [warning].into_iter().chain(blocks).chain([note]).collect(),
        records,
    }
}

fn part(run: &Run, summary: &Summary, kind: ViewKind, view: &RunView) -> Document {
    let blocks = match kind {
        ViewKind::Table => return table(run, summary, view, false),
        ViewKind::Wide => return table(run, summary, view, true),
        ViewKind::Latency => return latency_document(summary),
        ViewKind::Counters => return counters_document(summary, &run.host),
        ViewKind::Cmpthese => cmpthese_blocks(run, summary),
        // Views of profiles, which the caller has refused for runs.
        ViewKind::Slowest | ViewKind::Stacks => Vec::new(),
    };
    Document {
        blocks,
        ..Document::default()
    }
}

fn table(run: &Run, summary: &Summary, view: &RunView, wide: bool) -> Document {
    let whole = summary_table(summary, &run.host, view.sort, wide);
    let records = whole.records().clone();
    let tables = summary_tables(summary, whole, view.sort, view.width);
    let mut blocks: Vec<Block> = tables
        .into_iter()
        .map(|table| if wide { table } else { table.without_details() })
        .map(Block::Table)
        .collect();
    for family in &families(run, summary) {
        if !family.is_worth_a_table() {
            blocks.extend(crossover_notes(family).map(Block::Table));
            continue;
        }
        let plot = view
            .plot_width
            .map(|width| plot(family, width))
            .unwrap_or_default();
        blocks.extend([Block::Pages(fitted(family, view.width)), Block::drawn(plot)]);
    }
    Document { blocks, records }
}

/// The output of `syscost run` and `syscost show`: the results of a run, without its samples. Cases that could not be measured have
/// `error` in place of results.
#[derive(Serialize, JsonSchema)]
pub struct SummaryDocument<'a> {
    tool: &'a Tool,
    host: &'a Host,
    /// When the run began, in seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    #[serde(flatten)]
    plan: Plan,
    /// Wall time from the first launch to the last sample, in seconds.
    elapsed_s: f64,
    /// False if the run was interrupted.
    complete: bool,
    /// The user's labels, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'a BTreeMap<String, String>,
    /// The environments of its cases other than the native one, as far as they are known.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    environments: &'a [EnvironmentFacts],
    /// Where the records come from if this tool did not measure them; null for its own runs.
    source: Option<&'a Source>,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Cost as a function of each parameter that was measured at two or more values.
    fits: Vec<Family<'a>>,
}

impl<'a> SummaryDocument<'a> {
    pub fn new(run: &'a Run, summary: &'a Summary) -> SummaryDocument<'a> {
        SummaryDocument {
            tool: &run.tool,
            host: &run.host,
            started_unix_s: run.started_unix_s,
            plan: run.plan,
            elapsed_s: run.elapsed_s,
            complete: run.complete,
            labels: &run.labels,
            environments: &run.environments,
            source: run.source.as_ref(),
            summary,
            fits: families(run, summary),
        }
    }
}

impl JsonDocument for SummaryDocument<'_> {
    const SCHEMA: &'static str = "syscost.summary/2";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use analysis::summary::summarize;
    use model::fixtures::{record, run};

    #[test]
    fn every_view_says_that_the_run_was_interrupted() {
        let mut run = run(vec![record("file.stat", 300)]);
        for complete in [true, false] {
            run.complete = complete;
            for kind in [ViewKind::Table, ViewKind::Wide, ViewKind::Latency] {
                let view = RunView {
                    kinds: &[kind],
                    sort: Sort::Asked,
                    width: None,
                    plot_width: None,
                };
                let text = as_text(run_document(&run, &summarize(&run), &view));
                assert_eq!(text.contains(INTERRUPTED), !complete, "{text}");
            }
        }
    }
}
