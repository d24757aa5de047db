//! A run as a JSON document.

use analysis::fit::{Family, families};
use analysis::summary::Summary;
use model::JsonDocument;
use model::{EnvironmentFacts, Host, Plan, Run, Source, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What `syscost run` and `syscost show` print: the results of a run, without its samples. What could not be measured has `error` in place of
/// its results.
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
    /// What the user says of the run, by key.
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
            fits: families(run),
        }
    }
}

impl JsonDocument for SummaryDocument<'_> {
    const SCHEMA: &'static str = "syscost.summary/2";
}
