//! Version 1 of kernel explanations, of one kernel and of two: their wire types. FORMAT.md explains the fields.
//!
//! The same rules as for result files: only optional fields may still be added, unknown ones are ignored on reading.
//! `convert` converts from and to the model, `check` refuses values that the types allow. Only the store calls this.

mod check;
mod convert;

use super::error::FileKind;
use crate::model::explained::{Call, Change, FunctionSum, GroupChange, GroupSum, Iterations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SCHEMA: &str = "syscost.explain-kernel/1";
const VERSUS_SCHEMA: &str = "syscost.explain-kernel-versus/1";

/// How messages describe explanations.
pub const KIND: FileKind = FileKind {
    family: "syscost.explain-kernel/",
    version: 1,
    noun: "kernel explanation",
    origin: "'syscost explain OPERATION --env linux-VERSION --format json'",
    again: "explain again",
    smaller: "explain an operation that executes less",
};

/// The same of two kernels.
pub const VERSUS_KIND: FileKind = FileKind {
    family: "syscost.explain-kernel-versus/",
    noun: "comparison of kernel explanations",
    origin: "'syscost explain OPERATION --env linux-VERSION --versus linux-OTHER --format json'",
    ..KIND
};

/// What an operation executes in an emulated kernel, per iteration: instructions, never times.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.explain-kernel/1")]
pub struct ExplainedFile {
    /// Kind and version of the file.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The operation's id; of a snippet, its language, a colon and its text.
    #[schemars(length(min = 1))]
    operation: String,
    /// One iteration in words; empty for a snippet.
    what: String,
    /// All parameters, defaults included.
    params: BTreeMap<String, u64>,
    /// The emulated kernel as it was named, with boot parameters if there were any.
    #[schemars(length(min = 1))]
    environment: String,
    /// The kernel's release.
    kernel: String,
    /// Instructions of the iteration that is shown, in user mode and in the kernel.
    #[schemars(range(max = MOST))]
    instructions: u64,
    /// Instructions per iteration as `run` counts them in that kernel; null if a batch has room for one only.
    #[schemars(range(min = 0))]
    counted: Option<f64>,
    /// How the iteration that is shown compares with those recorded with it.
    iterations: Iterations,
    /// By what they are spent on, in the order of a system call.
    groups: Vec<GroupSum>,
    /// By function, those with the most instructions of their own first.
    functions: Vec<FunctionSum>,
    /// The root stands for the operation.
    tree: Call,
    /// What to know about it.
    notes: Vec<String>,
}

/// An operation in two kernels, or under two sets of boot parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.explain-kernel-versus/1")]
pub struct VersusFile {
    /// Kind and version of the file.
    #[schemars(extend("const" = VERSUS_SCHEMA))]
    pub schema: String,
    #[schemars(length(min = 1))]
    operation: String,
    what: String,
    params: BTreeMap<String, u64>,
    /// Each of the two as a document of its own.
    before: ExplainedFile,
    after: ExplainedFile,
    /// By what instructions are spent on, in the order of a system call.
    groups: Vec<GroupChange>,
    /// Those whose own instructions changed, the largest change first.
    functions: Vec<Change>,
}

/// Most instructions of one iteration, so that differences and sums of them fit into numbers of all kinds.
const MOST: u64 = 1 << 53;
