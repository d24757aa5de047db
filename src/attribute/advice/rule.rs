//! What a rule says: plain data. The rules make it, reports print it.

use crate::attribute::seconds::Seconds;
use schemars::JsonSchema;
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    pub rule: Rule,
    /// The name of the process that makes the calls; empty if the profile does not distinguish processes.
    pub process: String,
    /// The calls that are meant.
    pub names: Vec<String>,
    pub calls: u64,
    /// What these calls were made for, or would become: as the rule says.
    pub items: u64,
    /// The programs that were started, or the error that was returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Where: the paths that are meant, the most used first.
    pub paths: Vec<PathUse>,
    /// The function that makes most of these calls, if stacks are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Their measured time, of the kind that `time` says, where it is known.
    pub measured_s: Option<f64>,
    pub time: Time,
    #[serde(rename = "saved_s")]
    pub saved: Seconds,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The same paths are opened again; `items` is how many paths.
    OpenAgain,
    /// The same paths are looked up again; `items` is how many paths.
    LookUpAgain,
    /// Lookups in directories that lack a name which is found in another; `items` were found.
    Search,
    /// Small files that are mapped and unmapped; `items` pairs.
    SmallFileMaps,
    /// Memory that is mapped or changed and given back again; `items` pairs.
    SmallMaps,
    /// A program that is started again and again: `items` processes of `of`.
    ProcessPerItem,
    /// Children of a large process that exec: they need no copy of its address space.
    ForkForExec,
    /// `items` threads.
    ThreadPerItem,
    /// `items` connections.
    ConnectionPerItem,
    /// Syncs for `items` writes.
    SyncPerRecord,
    /// `items` files that are created and unlinked.
    TemporaryFiles,
    /// File locks that nobody else wanted.
    Locks,
    /// Reads or writes of few bytes, which a buffer would turn into `items`.
    SmallTransfers,
    /// Calls on descriptors that are not open.
    DescriptorSweep,
    /// Calls that fail with the error `of`, again and again.
    Failures,
    /// Reads that found nothing (EAGAIN).
    EmptyReads,
    /// Polls that cannot all have found something: that many more than the `items` reads.
    EmptyPolls,
    /// Polls of many descriptors, which the kernel visits one by one.
    LargePollSets,
    /// Asking again and again for what a waiting call would tell.
    Spin,
    /// A process that does nothing but wake up.
    WakeUps,
    /// Wakes beyond the `items` waits: nobody was there.
    WakesOfNobody,
    /// Locks and conditions that sleep and wake; `items` waits.
    FutexTraffic,
    /// Clock readings by system calls although the vDSO could answer.
    RealClockCalls,
    /// Questions whose answer does not change, and settings that are made again.
    SameAnswer,
    /// Seeks before reads and writes.
    Seeks,
}

/// A path and how often it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathUse {
    pub path: String,
    pub calls: u64,
}

impl Rule {
    /// The rule's name, for programs.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// The least share of the wall time that is worth a line.
    pub fn least(self) -> f64 {
        self.facts().1
    }

    /// What is certain from the calls alone is worth a hundredth of the wall time; what rests on more than that may be meant, so it
    /// must matter.
    fn facts(self) -> (&'static str, f64) {
        match self {
            Rule::OpenAgain => ("open-again", 0.03),
            Rule::LookUpAgain => ("look-up-again", 0.03),
            Rule::SyncPerRecord => ("sync-per-record", 0.01),
            Rule::DescriptorSweep => ("descriptor-sweep", 0.01),
            Rule::SmallTransfers => ("small-transfers", 0.05),
            Rule::RealClockCalls => ("real-clock-calls", 0.02),
            Rule::SameAnswer => ("same-answer", 0.02),
            Rule::WakeUps => ("wake-ups", 0.02),
            Rule::Search => ("search", 0.05),
            Rule::SmallFileMaps => ("small-file-maps", 0.12),
            Rule::SmallMaps => ("small-maps", 0.12),
            Rule::ForkForExec => ("fork-for-exec", 0.05),
            Rule::ThreadPerItem => ("thread-per-item", 0.05),
            Rule::Locks => ("locks", 0.05),
            Rule::Failures => ("failures", 0.05),
            Rule::EmptyReads => ("empty-reads", 0.05),
            Rule::EmptyPolls => ("empty-polls", 0.05),
            Rule::LargePollSets => ("large-poll-sets", 0.05),
            Rule::Spin => ("spin", 0.05),
            Rule::WakesOfNobody => ("wakes-of-nobody", 0.05),
            Rule::Seeks => ("seeks", 0.05),
            Rule::ProcessPerItem => ("process-per-item", 0.1),
            Rule::ConnectionPerItem => ("connection-per-item", 0.1),
            Rule::TemporaryFiles => ("temporary-files", 0.1),
            Rule::FutexTraffic => ("futex-traffic", 0.2),
        }
    }
}
