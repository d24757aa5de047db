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
use crate::model::Host;
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
    samples: Option<Samples>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// What wrote a result file.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Tool {
    #[schemars(length(min = 1))]
    name: String,
    version: String,
    /// The compiler that built the probe, in its own words.
    compiler: String,
}

/// Where records come from that were measured elsewhere or taken from an article.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Source {
    /// What it is called, e.g. the title of an article with its year.
    #[schemars(length(min = 1))]
    title: String,
    /// What to know about its results; empty for nothing.
    #[serde(default)]
    note: String,
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
    /// How often a timer found the case in user and in system mode; null if the mode was not sampled.
    #[serde(default)]
    mode_samples: Option<ModeSamples>,
    /// Hardware and software events per iteration; absent if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counters: Option<Counters>,
    /// Times of single calls; absent if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency: Option<Latency>,
    /// What was noticed while measuring, one line each.
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<Samples>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    figure: Option<Figure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// Exactly one of these members is an object.
fn one_of(names: &[&str]) -> serde_json::Value {
    let one = |name: &&str| serde_json::json!({"required": [name], "properties": {*name: {"type": "object"}}});
    names.iter().map(one).collect()
}

/// Why a case is in the run.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    /// It was asked for.
    Asked,
    /// Every run measures it, so that the others can be read against it.
    Baseline,
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

/// Counts of an untimed pass.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ModeSamples {
    user: u64,
    system: u64,
}

/// Hardware and software events of one case, counted in an untimed pass.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Counters {
    /// By event, in perf's spelling: for each launch of a worker, the counts per iteration of its repeats. A count is a
    /// difference of two readings, so it may be a little below 0.
    #[schemars(with = "BTreeMap<String, Vec<Vec<f64>>>")]
    counted: IndexMap<String, Vec<Vec<f64>>>,
    /// Events that could not be counted for this case, and why.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    not_counted: IndexMap<String, String>,
}

/// What is known of an environment other than the native one.
#[derive(Serialize, Deserialize, JsonSchema)]
struct EnvironmentFacts {
    /// As records name it.
    #[schemars(length(min = 1))]
    name: String,
    unit: Unit,
    /// The command that started its programs, word by word; empty if they were started directly.
    #[serde(default)]
    started_with: Vec<String>,
    /// The release of the kernel that answered; null if it is the host's.
    #[serde(default)]
    kernel: Option<String>,
    /// The program that emulated the machine, with its version; null if none did.
    #[serde(default)]
    emulator: Option<String>,
    /// What to know before believing its figures, a sentence each.
    #[serde(default)]
    notes: Vec<String>,
    /// The machine that it ran on; absent if it is the run's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<Box<Host>>,
}

/// What figures of an environment are.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    /// Times.
    Nanoseconds,
    /// Numbers of instructions.
    Instructions,
}

/// Instructions that an emulated machine executed for batches of one case.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Counted {
    /// Iterations of the shorter batch.
    #[schemars(range(min = 1))]
    fewer: u64,
    /// Iterations of the longer batch.
    #[schemars(range(min = 2))]
    more: u64,
    /// Instructions of a shorter batch and of a longer one, in the order in which they were counted.
    #[schemars(length(min = 1))]
    batches: Vec<(u64, u64)>,
}

/// The raw times of one case.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Samples {
    /// Iterations per batch, the same in every batch.
    #[schemars(range(min = 1))]
    iterations: u64,
    /// Time blocks in the order in which they were measured.
    blocks: Vec<Block>,
    /// CPU time over all batches, discarded ones included.
    cpu: CpuTime,
    /// Times of batches that were left out since the probe was preempted in them, in nanoseconds per batch.
    #[serde(default)]
    preempted_ns: Vec<u64>,
    /// Page faults over all batches that needed no device.
    minor_faults: u64,
    /// Page faults over all batches that waited for a device.
    major_faults: u64,
    /// Whether the operation itself blocks: its CPU time is then no measure of disturbance.
    switches: bool,
    /// Whether the cost depends on what was done to the file system before, so that no two runs need agree on it.
    #[serde(default)]
    history: bool,
}

/// A stretch of the run: the unit that intervals take as independent.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Block {
    /// Which launch of the worker, counted from 0 over the whole run.
    launch: u32,
    /// One slot a round; in it the elapsed time of each batch, in nanoseconds per batch.
    slots: Vec<Vec<u64>>,
}

/// CPU time by mode beside wall time, over the same stretch.
#[derive(Serialize, Deserialize, JsonSchema)]
struct CpuTime {
    user_ns: u64,
    system_ns: u64,
    wall_ns: u64,
}

/// Why a case has no samples.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Failure {
    kind: FailureKind,
    /// One line, with the errno name where a call failed.
    message: String,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FailureKind {
    /// The system does not have it.
    Unsupported,
    /// A call of the operation failed.
    Failed,
    /// It did not answer in time and was ended.
    Timeout,
    /// Its process ended without an answer.
    Crashed,
    /// The process could not be started.
    Start,
    /// The run was interrupted before it was measured.
    Interrupted,
}

/// The result of a case that somebody else measured.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Figure {
    /// Time per operation, in nanoseconds.
    #[schemars(range(min = 0))]
    ns_per_op: f64,
    /// The result as its source prints it, e.g. `31.12 s for 67108864 calls`.
    as_printed: String,
    /// Operations that the result is the mean of; null if unknown.
    #[serde(default)]
    #[schemars(range(min = 1))]
    count: Option<u64>,
    /// Share of the CPU time spent in user mode; null if unknown.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    user_share: Option<f64>,
}
