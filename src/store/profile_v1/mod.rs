//! Version 1 of the profile: its wire types. FORMAT.md explains the fields.
//!
//! The same rules as for result files: only optional fields may still be added, unknown ones are ignored on reading.
//! `convert` converts from and to the model, `check` refuses values that the types allow. Only the store calls this.

mod check;
mod convert;
mod detail;

use super::buckets::Bucket;
use super::error::FileKind;
use crate::model::{
    Class, Ending, Host, ProcessGroup, ProcessPath, Source, StackCount, Tool, TracerFacts, Usage, WaitCount,
};
use detail::{Object, SlowCall, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SCHEMA: &str = "syscost.profile/1";

/// How messages describe profiles.
pub const KIND: FileKind = FileKind {
    family: "syscost.profile/",
    version: 1,
    noun: "profile",
    origin: "a trace",
    again: "trace again",
    smaller: "trace for a shorter time",
};

/// A syscost profile: which system calls a workload made, and where its time went.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.profile/1")]
pub struct ProfileFile {
    /// Kind and version of the file.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What wrote the file; omitted if written by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Tool>,
    /// Where the profile comes from, if the tool did not trace it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    /// The machine that the workload ran on. What could not be found out is null.
    #[serde(default)]
    host: Host,
    /// When tracing began, in seconds since 1970-01-01 UTC; 0 if unknown.
    #[serde(default)]
    started_unix_s: u64,
    /// The command with its arguments; empty where something that was already running was followed.
    #[serde(default)]
    command: Vec<String>,
    /// What was followed instead of a command: `process 12, 13`, `cgroup /user.slice`, `the whole system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// Which tracer made it.
    #[serde(default)]
    tracer: TracerFacts,
    /// False where tracing was ended before the workload, or data was lost.
    #[serde(default = "yes")]
    complete: bool,
    /// How the command ended; null if unknown.
    #[serde(default)]
    ending: Option<Ending>,
    /// The kernel's accounting of all processes. What is not known is null.
    #[serde(default)]
    usage: Usage,
    /// What is known of the processes of each name, apart from their calls.
    #[serde(default)]
    processes: Vec<ProcessGroup>,
    /// One entry for each process name, system call and class.
    calls: Vec<Call>,
    /// Who started whom, by names; left out if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tree: Vec<ProcessPath>,
    /// Elapsed time per call, over all processes, by call: pairs of bucket and count. With 32 buckets per power of two, bucket
    /// 32 k + i begins at 2^k (1 + i / 32) nanoseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    durations: BTreeMap<String, Vec<Bucket>>,
    /// Paths and descriptors that calls were made on, those with the most calls first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    objects: Vec<Object>,
    /// Calls on objects that there was no room to count; left out if objects were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objects_dropped: Option<u64>,
    /// What calls waited for while they were blocked, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waits: Vec<WaitCount>,
    /// Calls by user stack; `blocked_ns` is until the thread ran again, as in `calls`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stacks: Vec<StackCount>,
    /// Calls whose stacks were recorded, if that was a sample of them: the others are divided as these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stacks_sampled: Option<u64>,
    /// The slowest calls, slowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    slowest: Vec<SlowCall>,
    /// Further runs of the same command; everything else is of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<Repeat>,
    /// What a null call took on the same machine, in nanoseconds; left out if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    null_call_ns: Option<f64>,
    /// What concerns the profile as a whole, one line each.
    #[serde(default)]
    warnings: Vec<String>,
}

/// One more run of the same command.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Repeat {
    /// One entry for each system call and class, over all processes.
    calls: Vec<Call>,
    #[serde(default)]
    usage: Usage,
}

fn yes() -> bool {
    true
}

/// One system call of one class, made by the processes of one name.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Call {
    /// Name of the processes; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    process: String,
    /// The process, where processes of the same name are distinguished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// The control group, where they are distinguished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    /// The system call's name.
    #[schemars(length(min = 1))]
    name: String,
    /// What drives its cost.
    #[serde(default, skip_serializing_if = "Class::is_unknown")]
    class: Class,
    /// How often it was entered.
    calls: u64,
    /// How many samples found a CPU there, where CPUs were sampled instead of calls counted; left out where calls were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    /// How many of them never returned.
    #[serde(default, skip_serializing_if = "is_zero")]
    unfinished: u64,
    /// Failures by errno name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    errors: BTreeMap<String, u64>,
    /// Time on a CPU between entry and return, all calls together, in nanoseconds; null where it is not known.
    #[serde(default)]
    on_cpu_ns: Option<u64>,
    /// Time off the CPU because the call waited, until it ran again, in nanoseconds.
    #[serde(default)]
    blocked_ns: Option<u64>,
    /// The part of `blocked_ns` from the wake-up until on a CPU, in nanoseconds: runnable, waiting for a CPU; left out if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    woken_ns: Option<u64>,
    /// The part of `blocked_ns` during which all threads were blocked, and which the end of this call's wait ended: wall time,
    /// in nanoseconds; left out if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stalled_ns: Option<u64>,
    /// Time off the CPU because something else was to run, in nanoseconds.
    #[serde(default)]
    preempted_ns: Option<u64>,
    /// Time between entry and return, in nanoseconds, only where its split into on_cpu_ns, blocked_ns and preempted_ns is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elapsed_ns: Option<u64>,
    /// Bytes moved, of calls that return a byte count.
    #[serde(default)]
    bytes: Option<u64>,
}
