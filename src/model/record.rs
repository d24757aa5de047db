//! What a run yields: records, each a case's samples or the reason why there are none.

use super::{Case, Entries, EntriesStatus, Host, Nanos, StudyView};
use schemars::JsonSchema;
use serde::Serialize;

/// All records of one run, with what is needed to understand them. What is serialized is the head of printed documents,
/// which add a summary; result files have types of their own in `store`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    pub tool: Tool,
    pub host: Host,
    /// When the run began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The seed of every random order in it.
    pub seed: u64,
    /// Wall time that measuring was given, in seconds.
    pub budget_s: f64,
    /// Target half-width of the 95% interval, in percent of the median.
    pub precision_percent: f64,
    /// Wall time from the first launch to the last sample, in seconds.
    pub elapsed_s: f64,
    /// Whether the run came to its end; false where it was interrupted.
    pub complete: bool,
    #[serde(skip)]
    pub records: Vec<Record>,
    /// What concerns the run as a whole.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Where the records come from, if this tool did not measure them; `None` for its own runs.
    pub source: Option<Source>,
    /// The study that named its cases; `None` where the command line did.
    #[serde(skip)]
    pub study: Option<StudyView>,
}

/// Where records come from that were measured elsewhere or taken from an article.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// What it is called, e.g. the title of an article with its year.
    pub title: String,
    /// What must be known to read its figures; empty for nothing.
    pub note: String,
}

/// What wrote a result file; by default this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tool {
    pub name: String,
    pub version: String,
    /// The compiler that built the probe, in its own words.
    pub compiler: String,
}

/// Why a case is in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It was asked for.
    Asked,
    /// Every run measures it, so that the others can be read against it: empty loop, empty call, reference call, spin.
    Baseline,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub case: Case,
    pub role: Role,
    pub outcome: Outcome,
    pub entries: Option<Entries>,
    pub entries_status: EntriesStatus,
    /// `None` where the mode was not sampled.
    pub mode_samples: Option<ModeSamples>,
    /// What was noticed while measuring; analysis adds its own.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Measured(Measurement),
    Failed(Failure),
    /// One figure without samples: nothing can be said about its spread.
    Published(Figure),
}

/// What is known of a case that somebody else measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Time per operation.
    pub time: Nanos,
    /// The figure as its source prints it, e.g. `31.12 s for 67108864 calls`.
    pub as_printed: String,
    /// Operations that the figure is the mean of, if the source tells.
    pub count: Option<u64>,
    /// Share of the CPU time that was spent in user mode, from 0 to 1, if the source tells.
    pub user_share: Option<f64>,
}

/// The samples of one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Iterations per batch, the same in every batch.
    pub iterations: u64,
    /// Time blocks in the order in which they were measured.
    pub blocks: Vec<Block>,
    /// CPU time over all batches, discarded ones included.
    pub cpu: CpuTime,
    /// Batches left out because the probe was preempted in them; their samples are in `preempted_ns`.
    pub preempted_ns: Vec<u64>,
    /// Minor and major page faults over all batches.
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Whether the operation itself blocks: its CPU time is then no measure of disturbance.
    pub switches: bool,
    /// Whether the cost depends on what was done to the file system before: no two runs need agree on it.
    pub history: bool,
}

/// A stretch of the run: the unit that intervals take as independent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Which launch of the worker, counted from 0 over the whole run.
    pub launch: u32,
    /// One slot a round, in the order of the rounds: slots of one index in different records were measured together.
    pub slots: Vec<Slot>,
}

/// A case's batches in one round: elapsed nanoseconds of each.
pub type Slot = Vec<u64>;

/// CPU time by mode beside wall time, over the same stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    pub user_ns: u64,
    pub system_ns: u64,
    pub wall_ns: u64,
}

/// How often a timer found the case in user and in system mode, in an untimed pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeSamples {
    pub user: u64,
    pub system: u64,
}

/// Why a case has no samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    /// One line, with the errno name where a call failed.
    pub message: String,
}

impl Default for Tool {
    fn default() -> Tool {
        Tool {
            name: env!("CARGO_PKG_NAME").to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            compiler: env!("SYSCOST_COMPILER").to_string(),
        }
    }
}

impl Record {
    /// A requested case and its outcome. Its kernel entries are not counted.
    pub fn new(case: Case, outcome: Outcome) -> Record {
        Record {
            case,
            role: Role::Asked,
            outcome,
            entries: None,
            entries_status: EntriesStatus::Unverified("not counted".into()),
            mode_samples: None,
            warnings: Vec::new(),
        }
    }
}

/// How documents write a `Result`: its fields, or `error` with why there are none.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "Result")]
pub enum OrError<T, E> {
    #[serde(rename = "error")]
    Err(E),
    #[serde(untagged)]
    Ok(T),
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }

    /// The failure of a case that an interrupt kept from being measured.
    pub fn interrupted() -> Failure {
        Failure::new(FailureKind::Interrupted, "the run was interrupted")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The system does not have it (ENOSYS, EPERM, another architecture).
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

impl Measurement {
    /// All samples in order, in nanoseconds per iteration.
    pub fn samples(&self) -> impl Iterator<Item = Nanos> + '_ {
        let n = self.iterations as f64;
        self.blocks.iter().flat_map(|b| &b.slots).flatten().map(move |ns| Nanos(*ns as f64 / n))
    }
}
