//! What a rule says: plain data. The rules make it, reports print it.

use crate::attribute::costs::Basis;
use crate::attribute::spread::Seconds;
use crate::model::DescriptorKind;
use schemars::JsonSchema;
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    #[serde(flatten)]
    pub rule: Rule,
    /// The name of the process that makes the calls; empty if the profile does not distinguish processes.
    pub process: String,
    /// The calls that are meant.
    pub names: Vec<String>,
    pub calls: u64,
    /// Their measured time, of the kind that `time` says, where it is known.
    pub measured_s: Option<f64>,
    pub time: Time,
    /// `None` if it cannot be derived from the profile.
    #[serde(rename = "saved_s")]
    pub saved: Option<Seconds>,
    /// The unit costs that it rests on.
    #[serde(rename = "unit")]
    pub basis: Vec<Basis>,
}

/// Which seconds are saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// On a CPU: of wall time too where the process has one thread and nothing else to wait for.
    #[default]
    Cpu,
    /// Between entry and return: with the time that calls wait.
    Elapsed,
}

/// What was noticed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum Rule {
    /// Reads or writes of under 128 bytes, which a 4 KiB buffer would turn into this many.
    SmallTransfers { descriptor: Option<DescriptorKind>, bytes: u64, buffered: u64 },
    /// Reads that found nothing (EAGAIN).
    EmptyReads { descriptor: Option<DescriptorKind> },
    /// Polls that cannot all have found something: that many more than reads.
    EmptyPolls { inputs: u64 },
    /// Polls of many descriptors, which the kernel visits one by one.
    LargePollSets,
    /// Lookups of names in directories that lack them, and the successful ones beside them; the most used of these paths.
    Probing { found: u64, paths: Vec<PathUse> },
    /// Stats of the same paths again, the most used first, and how many such paths there are.
    StatStorm { paths: Vec<PathUse>, distinct: u64 },
    /// Files that are created and unlinked.
    TemporaryFiles,
    /// A sync for every few of these writes.
    SyncPerRecord { writes: u64 },
    /// Clock readings by system calls although the vDSO could answer.
    RealClockCalls,
    /// Questions whose answer does not change.
    IdentityCalls,
    /// Locks and conditions that sleep and wake; `raced` waits found that the value had changed (EAGAIN).
    FutexTraffic { waits: u64, wakes: u64, raced: u64, blocked_s: Option<f64> },
    /// Mappings of `size` bytes that are unmapped again, and the page faults in them.
    SmallMaps { size: u64, faults: u64 },
    /// Children that exec: they need no copy of the parent's address space.
    ForkForExec { peak_rss_kib: Option<u64> },
}

/// A path and how often it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathUse {
    pub path: String,
    pub calls: u64,
}

impl Rule {
    /// The rule's name, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::SmallTransfers { .. } => "small-transfers",
            Rule::EmptyReads { .. } => "empty-reads",
            Rule::EmptyPolls { .. } => "empty-polls",
            Rule::LargePollSets => "large-poll-sets",
            Rule::Probing { .. } => "probing",
            Rule::StatStorm { .. } => "stat-storm",
            Rule::TemporaryFiles => "temporary-files",
            Rule::SyncPerRecord { .. } => "sync-per-record",
            Rule::RealClockCalls => "real-clock-calls",
            Rule::IdentityCalls => "identity-calls",
            Rule::FutexTraffic { .. } => "futex-traffic",
            Rule::SmallMaps { .. } => "small-maps",
            Rule::ForkForExec { .. } => "fork-for-exec",
        }
    }
}

/// Fewer calls than this do not matter.
pub const MANY: u64 = 1000;

/// The same, for calls that cost a thousand times as much.
pub const SOME: u64 = 10;
