//! Version 1 of the result file: its wire types. FORMAT.md explains the fields.
//!
//! Only optional fields may still be added. Unknown fields are ignored on reading, so that additions do not break older
//! programs; any other change needs a version 2 in its own module.
//!
//! `convert` converts from and to the model, `check` refuses values that the types allow. Only the store calls this.

mod check;
mod convert;
mod latency;
mod repeats;
mod study;

use super::error::FileKind;
use crate::model::{
    Counted, Counters, EnvironmentFacts, Failure, Figure, Host, Measurement, ModeSamples, Role, Source, Tool,
};
use indexmap::IndexMap;
use latency::Latency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use study::Study;

const SCHEMA: &str = "syscost.result/1";

/// How messages describe result files.
pub const KIND: FileKind = FileKind {
    family: "syscost.result/",
    version: 1,
    noun: "result file",
    origin: "a run",
    again: "measure again",
    smaller: "measure fewer cases a run",
};

/// A syscost result file: all records of one run, with what is needed to understand them.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.result/1")]
pub struct ResultFile {
    /// Kind and version of the file.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What wrote the file.
    tool: Tool,
    /// Where the records come from, if the tool did not measure them; null for its own runs.
    #[serde(default)]
    source: Option<Source>,
    /// The study that named the cases; absent if the command line did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    study: Option<Study>,
    /// The machine that the run was made on. What could not be found out is null.
    host: Host,
    /// What was asked of the run.
    plan: Plan,
    /// When the run began, in seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    /// Wall time from the first launch to the last sample, in seconds.
    #[schemars(range(min = 0))]
    elapsed_s: f64,
    /// Whether the run came to its end; false where it was interrupted.
    complete: bool,
    /// What the user says of the run, by key; absent if nothing is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    /// What concerns the run as a whole, one line each.
    #[serde(default)]
    warnings: Vec<String>,
    /// The environments of its cases other than the native one, as far as they are known; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    environments: Vec<EnvironmentFacts>,
    /// One record per case.
    records: Vec<Record>,
    /// Further runs of the same cases, in the order in which they were made; absent if there was one run only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<Repeat>,
}

/// A further run of the same cases, with new processes in a new random order. What it does not say is as in the first run.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Repeat {
    /// When it began, in seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    /// The seed of its random orders.
    seed: u64,
    /// Wall time from the first launch to the last sample, in seconds.
    #[schemars(range(min = 0))]
    elapsed_s: f64,
    /// The machine, looked at again when this run began.
    host: Host,
    /// What concerns this run as a whole, one line each.
    #[serde(default)]
    warnings: Vec<String>,
    /// One result per record of the file, in the same order.
    results: Vec<Again>,
}

/// What a further run found for one record: its samples, its error or its counted instructions, exactly one of the three.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = one_of(&["samples", "error", "counted"])))]
struct Again {
    /// What was noticed while measuring, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<Measurement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// What was asked of a run.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Plan {
    /// The seed of every random order in the run.
    seed: u64,
    /// Wall time that measuring was given, in seconds.
    #[schemars(range(min = 0))]
    budget_s: f64,
    /// Target half-width of the 95% interval, in percent of the median.
    #[schemars(range(min = 0))]
    precision_percent: f64,
}

/// A case with its samples, its error, its published result or its counted instructions: exactly one of the four.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = one_of(&["samples", "error", "figure", "counted"])))]
struct Record {
    /// The operation's id, e.g. `file.lstat`; for a snippet its source text, which may be empty.
    operation: String,
    /// The name that a study gives the case.
    #[serde(default)]
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The language of a snippet; null for an operation of the native probe.
    #[serde(default)]
    #[schemars(length(min = 1))]
    language: Option<String>,
    /// A snippet's code at file scope; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    prelude: String,
    /// A snippet's untimed set-up; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    setup: String,
    /// How the probe is built and started, e.g. `native`.
    #[schemars(length(min = 1))]
    environment: String,
    /// The parameters that were asked for.
    #[serde(default)]
    params: BTreeMap<String, u64>,
    /// The parameters that were left out, with the operation's defaults.
    #[serde(default)]
    defaults: BTreeMap<String, u64>,
    role: Role,
    /// Kernel entries per iteration by system call; null if they are not known.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    entries: Option<IndexMap<String, f64>>,
    entries_status: EntriesStatus,
    /// Why the entries are unverified; null if they are verified.
    #[serde(default)]
    entries_reason: Option<String>,
    /// When an earlier run counted the entries, in seconds since 1970-01-01 UTC; absent if this run did, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entries_counted_unix_s: Option<u64>,
    /// How often a timer found the case in user and in system mode; null if the mode was not sampled.
    #[serde(default)]
    mode_samples: Option<ModeSamples>,
    /// Hardware and software events per iteration; absent if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Vec<f64>>>")]
    counters: Option<Counters>,
    /// Times of single calls; absent if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency: Option<Latency>,
    /// What was noticed while measuring, one line each.
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<Measurement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    figure: Option<Figure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// Exactly one of these members is an object.
#[cfg(test)]
fn one_of(names: &[&str]) -> serde_json::Value {
    let one = |name: &&str| serde_json::json!({"required": [name], "properties": {*name: {"type": "object"}}});
    names.iter().map(one).collect()
}

/// How the entries are known.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EntriesStatus {
    /// Counted in a separate pass.
    Verified,
    /// Not counted; `entries_reason` says why.
    Unverified,
}
