//! One iteration of an operation in an emulated kernel, as `explain` records it there: a call tree with counts of instructions,
//! never times.

use crate::Returned;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most instructions of one iteration, so that differences and sums of them fit into numbers of all kinds.
pub const MOST_INSTRUCTIONS: u64 = 1 << 53;

/// The output of `syscost explain OPERATION --env linux-6.1`: the code that an operation executes in an emulated kernel, per iteration. Instructions,
/// never times; those in `tree`, in `functions` and in `groups` add up to `instructions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "schema", rename = "syscost.explain-kernel/1")]
#[schemars(rename = "ExplainedFile")]
pub struct KernelExplanation {
    /// The operation's id; for a snippet, its language, a colon and its text.
    #[schemars(length(min = 1))]
    pub operation: String,
    /// One iteration in words; empty for a snippet.
    pub what: String,
    /// All parameters, defaults included.
    pub params: BTreeMap<String, u64>,
    /// The emulated kernel as it was named, with boot parameters if there were any.
    #[schemars(length(min = 1))]
    pub environment: String,
    /// The kernel's release.
    pub kernel: String,
    /// Instructions of the iteration that is shown, in user mode and in the kernel.
    #[schemars(range(max = MOST_INSTRUCTIONS))]
    pub instructions: u64,
    /// Instructions per iteration as `run` counts them in that kernel; null if a batch has room for one only.
    #[schemars(range(min = 0))]
    pub counted: Option<f64>,
    /// The last results of its system calls; empty if they are not known.
    #[serde(default, skip_serializing_if = "Returned::is_empty")]
    pub returned: Returned,
    /// How the iteration that is shown compares with those recorded with it.
    pub iterations: Iterations,
    /// By what they are spent on, in the order of a system call.
    pub groups: Vec<GroupSum>,
    /// By function, those with the most instructions of their own first.
    pub functions: Vec<FunctionSum>,
    /// The root stands for the operation.
    pub tree: Call,
    /// Notes on it.
    pub notes: Vec<String>,
}

/// Iterations that were recorded one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Iterations {
    /// How many.
    pub recorded: usize,
    /// Iterations that executed exactly the instructions that are shown.
    pub alike: usize,
    /// Instructions of the shortest.
    pub fewest: usize,
    /// Instructions of the longest.
    pub most: usize,
}

/// Instructions that are spent on one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupSum {
    pub group: Group,
    /// In user mode and in the kernel.
    pub instructions: u64,
}

/// A function, wherever it is called from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionSum {
    /// As in the source.
    pub name: String,
    /// The purpose of most of its instructions.
    pub group: Group,
    /// How often it was entered.
    pub calls: u64,
    /// Its own instructions, without those of functions that it calls.
    #[serde(rename = "own")]
    pub self_instructions: u64,
}

/// A function as called from one place of the tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// As in the source, without the compiler's suffix; the operation for the root.
    pub name: String,
    /// The purpose of its own instructions.
    pub group: Group,
    /// How often it was entered.
    pub calls: u64,
    /// Its own instructions.
    #[serde(rename = "own")]
    pub self_instructions: u64,
    /// Its instructions with all that it called.
    pub total: u64,
    /// In the order of their first call.
    pub children: Vec<Call>,
}

/// The output of `explain` with `--versus` or `--versus-append`: an operation in two kernels, or under two sets of boot parameters.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "schema", rename = "syscost.explain-kernel-versus/1")]
#[schemars(rename = "VersusFile")]
pub struct KernelVersus {
    /// As in each of the two.
    #[schemars(length(min = 1))]
    pub operation: String,
    /// As in each of the two.
    pub what: String,
    /// As in each of the two.
    pub params: BTreeMap<String, u64>,
    /// The first kernel, a document of its own.
    pub before: KernelExplanation,
    /// The second one.
    pub after: KernelExplanation,
    /// By what instructions are spent on, in the order of a system call.
    pub groups: Vec<GroupChange>,
    /// Functions whose own instructions changed, the largest change first.
    pub functions: Vec<Change>,
}

/// Instructions that are spent on one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupChange {
    pub group: Group,
    /// In the first kernel.
    pub before: u64,
    /// In the second one.
    pub after: u64,
}

/// A function's own instructions; 0 if it is not called or does not exist.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// As in the source.
    pub name: String,
    pub group: Group,
    /// In the first kernel.
    pub before: u64,
    /// In the second one.
    pub after: u64,
    /// After minus before.
    pub change: i64,
}

/// A part of a system call.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The probe's loop, the C library, the vDSO.
    Caller,
    /// From the `syscall` instruction to the call's own function.
    Entry,
    /// Code against speculative execution.
    Mitigations,
    /// Audit, seccomp, ptrace and tracepoints.
    Tracing,
    /// Finding a file by its path.
    PathWalk,
    /// Permissions, capabilities and security modules.
    Permissions,
    /// Copies to and from the caller's memory.
    UserCopy,
    /// Getting and freeing memory.
    Memory,
    /// Faults, page tables, TLB.
    Faults,
    /// Switching threads and waking them.
    Scheduling,
    /// The rest: the work of the call itself.
    #[default]
    Work,
    /// Timers and devices that happened to interrupt.
    Interrupts,
    /// From the call's own function back to the caller.
    Exit,
}

impl Group {
    /// All, in the order in which they are shown, with their names in tables.
    pub const ALL: [(Group, &str); 13] = [
        (Group::Caller, "caller (user mode)"),
        (Group::Entry, "entry"),
        (Group::Mitigations, "spectre mitigations"),
        (Group::Tracing, "audit, seccomp, tracing"),
        (Group::PathWalk, "path walk"),
        (Group::Permissions, "permission checks"),
        (Group::UserCopy, "copy to and from user"),
        (Group::Memory, "memory allocation"),
        (Group::Faults, "page faults and tables"),
        (Group::Scheduling, "scheduling"),
        (Group::Work, "the call's own work"),
        (Group::Interrupts, "interrupts"),
        (Group::Exit, "exit work"),
    ];

    /// The name in tables.
    pub fn title(self) -> &'static str {
        Group::ALL[self as usize].1
    }
}
