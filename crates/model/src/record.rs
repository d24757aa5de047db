//! The result of a run: one record per case, with its samples or the reason why there are none.

use super::{Case, Counters, Entries, EntriesStatus, Host, Nanos, StudyView, TimesOrError, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of a run: raw times of all cases, from which every table and comparison can be made again. A record is a line, so that
/// version control shows which of them differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "schema", rename = "syscost.result/1")]
pub struct Run {
    /// The program that wrote the file.
    pub tool: Tool,
    /// The origin of the records, if the tool did not measure them; null for its own runs.
    pub source: Option<Source>,
    /// The study that named the cases; absent if the command line did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<StudyView>,
    /// The machine that the run was made on. Facts that could not be determined are null.
    pub host: Host,
    /// The time and precision that the run was asked for.
    pub plan: Plan,
    /// When the run began, in seconds since 1970-01-01 UTC; 0 if unknown.
    pub started_unix_s: u64,
    /// Wall time from the first launch to the last sample, in seconds.
    #[schemars(range(min = 0))]
    pub elapsed_s: f64,
    /// Whether the run came to its end; false if it was interrupted, or made fewer runs than were asked for.
    pub complete: bool,
    /// The user's labels of the run, by key; absent if there are none. A key is a lower-case letter and up to 47 lower-case letters,
    /// digits and `_`; a text has at most 4096 bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Warnings about the run as a whole, one line each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The environments of its cases other than the native one, as far as they are known; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<EnvironmentFacts>,
    /// One record per case.
    #[schemars(with = "Vec<RecordInFile>")]
    pub records: Vec<Record>,
    /// Further runs of the same cases, in the order in which they were made, each complete, with the records of this one in
    /// its order; `study`, `source` and `repeats` are empty in them. In files they have only what differs from the first.
    #[serde(skip)]
    pub repeats: Vec<Run>,
}

/// The time and precision that a run was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The seed of every random order in the run.
    pub seed: u64,
    /// Wall time that the rounds were given, in seconds: of `whole_s`, what the passes before them left; 0 if a number of iterations
    /// was given instead.
    #[schemars(range(min = 0))]
    pub budget_s: f64,
    /// Wall time that the whole run was given, in seconds; absent if it was not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub whole_s: Option<f64>,
    /// Target half-width of the 95% interval, in percent of the median.
    #[schemars(range(min = 0))]
    pub precision_percent: f64,
}

/// Facts about an environment other than the native one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentFacts {
    /// As records name it.
    #[schemars(length(min = 1))]
    pub name: String,
    pub unit: Unit,
    /// The command that started its programs, word by word; empty if they were started directly.
    #[serde(default)]
    pub started_with: Vec<String>,
    /// The release of the kernel that answered; null if it is the host's.
    pub kernel: Option<String>,
    /// The program that emulated the machine, with its version; null if none did.
    pub emulator: Option<String>,
    /// Notes that are needed to interpret its figures, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The cost of starting it; absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_up: Option<StartUp>,
    /// The machine that it ran on; absent if it is the run's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<Host>>,
}

/// A program that does nothing, started natively and in an environment in the same rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartUp {
    /// Wall time from the start of the program to its end, minus that of the native one of the round, in nanoseconds, by round.
    pub added_ns: Vec<f64>,
    /// The same of a second native one, which is the control.
    pub control_ns: Vec<f64>,
    /// Memory of all processes that the environment needs while a program waits in it, minus that of the program natively, in KiB. A page
    /// that N processes share counts 1/N (proportional set size). Null if it could not be read.
    pub memory_kib: Option<u64>,
}

/// The origin of records that were measured by another tool or taken from an article.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Its title, e.g. that of an article with the year.
    #[schemars(length(min = 1))]
    pub title: String,
    /// A note that is needed to interpret its results; may be empty.
    #[serde(default)]
    pub note: String,
}

/// The program that wrote the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `syscost`, or what else made the records.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its version.
    pub version: String,
    /// The compiler that built the probe, as it reports its version, with `, static` behind it if tool and probe are linked statically.
    #[serde(default)]
    pub compiler: String,
}

/// Why a case is in the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It was asked for.
    Asked,
    /// Every run measures it for reference: empty loop, empty call, reference call, spin.
    Baseline,
}

/// The fields are described in `RecordInFile`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RecordInFile")]
pub struct Record {
    #[serde(flatten)]
    pub case: Case,
    pub role: Role,
    pub entries: Option<Entries>,
    #[serde(flatten)]
    pub entries_status: EntriesStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries_counted_unix_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries_iterations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_mode: Option<bool>,
    pub mode_samples: Option<ModeSamples>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<TimesOrError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<f64>,
    pub warnings: Vec<String>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// One case of a run, its kernel entries and its outcome.
// Its samples are not behind a flattened field, which would cost time, memory and the place of an error.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Record")]
struct RecordInFile {
    #[serde(flatten)]
    case: Case,
    role: Role,
    /// Kernel entries per iteration by system call; null if they are not known.
    entries: Option<Entries>,
    #[serde(flatten)]
    entries_status: EntriesStatus,
    /// When an earlier run counted the entries under the same conditions, in seconds since 1970-01-01 UTC; absent if this run did, or
    /// nothing.
    entries_counted_unix_s: Option<u64>,
    /// Over how many iterations rare entries were counted, after the timing: as many as were timed, or as took twice that time; absent if
    /// they are frequent or not known.
    entries_iterations: Option<u64>,
    /// Whether one iteration stays in user mode, by its kernel entries or, if these were not counted, by those that the operation
    /// declares; absent in older files.
    user_mode: Option<bool>,
    /// How often a timer found the case in user and in system mode; null if the mode was not sampled.
    mode_samples: Option<ModeSamples>,
    /// Hardware and software events, by perf's name (`:u` user mode alone, `:k` kernel mode alone): the count per iteration of each launch,
    /// none if it was not counted for this case. A count is the difference of two readings, so it may be a little below 0.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, Vec<f64>>>")]
    counters: Option<Counters>,
    /// Times of single calls, or why there are none; absent if they were not asked for.
    latency: Option<TimesOrError>,
    /// Instructions that one iteration executes in user mode, its loop included; absent unless it is a compiled snippet that does not
    /// enter the kernel.
    instructions: Option<f64>,
    /// Warnings from measuring, one line each; analysis adds its own.
    #[serde(default)]
    warnings: Vec<String>,
    /// Raw times. A record has exactly one of `samples`, `error`, `figure` and `counted`.
    samples: Option<Measurement>,
    /// Why there are none.
    error: Option<Failure>,
    /// The result of a case that somebody else measured.
    figure: Option<Figure>,
    /// The instructions of a case in an emulated machine.
    counted: Option<Counted>,
}

impl TryFrom<RecordInFile> for Record {
    type Error = &'static str;

    fn try_from(file: RecordInFile) -> Result<Record, &'static str> {
        let outcome = Outcome::only(file.samples, file.error, file.figure, file.counted)
            .ok_or("must have exactly one of samples, error, figure and counted")?;
        Ok(Record {
            case: file.case,
            role: file.role,
            entries: file.entries,
            entries_status: file.entries_status,
            entries_counted_unix_s: file.entries_counted_unix_s,
            entries_iterations: file.entries_iterations,
            user_mode: file.user_mode,
            mode_samples: file.mode_samples,
            counters: file.counters,
            latency: file.latency,
            instructions: file.instructions,
            warnings: file.warnings,
            outcome,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Outcome {
    #[serde(rename = "samples")]
    Measured(Measurement),
    #[serde(rename = "error")]
    Failed(Failure),
    /// A single value without samples: its spread is unknown.
    #[serde(rename = "figure")]
    Published(Figure),
    #[serde(rename = "counted")]
    Counted(Counted),
}

impl Outcome {
    pub fn measurement(&self) -> Option<&Measurement> {
        match self {
            Outcome::Measured(measurement) => Some(measurement),
            _ => None,
        }
    }

    pub fn counted(&self) -> Option<&Counted> {
        match self {
            Outcome::Counted(counted) => Some(counted),
            _ => None,
        }
    }

    /// `None` if there is none, or several.
    pub fn only(
        samples: Option<Measurement>,
        error: Option<Failure>,
        figure: Option<Figure>,
        counted: Option<Counted>,
    ) -> Option<Outcome> {
        Some(match (samples, error, figure, counted) {
            (Some(samples), None, None, None) => Outcome::Measured(samples),
            (None, Some(failure), None, None) => Outcome::Failed(failure),
            (None, None, Some(figure), None) => Outcome::Published(figure),
            (None, None, None, Some(counted)) => Outcome::Counted(counted),
            _ => return None,
        })
    }
}

/// Instructions that an emulated machine executed for batches of an operation, in user and kernel mode together. The difference of a
/// pair divided by `more` minus `fewer` is instructions per iteration, without what a batch itself takes. They are never time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// Iterations of the shorter batch.
    #[schemars(range(min = 1))]
    pub fewer: u64,
    /// Iterations of the longer batch.
    #[schemars(range(min = 2))]
    pub more: u64,
    /// Instructions of a shorter batch and of a longer one, in the order in which they were counted; at least one pair.
    #[schemars(length(min = 1))]
    pub batches: Vec<(u64, u64)>,
}

impl Counted {
    /// `None` without batches.
    pub fn per_operation(&self) -> Option<f64> {
        let differences = self.differences();
        // The upper middle, so that the result is a count and not the mean of two.
        differences.get(differences.len() / 2).copied()
    }

    /// Per operation; equal if every repeat agrees.
    pub fn range(&self) -> Option<(f64, f64)> {
        let differences = self.differences();
        Some((*differences.first()?, *differences.last()?))
    }

    fn differences(&self) -> Vec<f64> {
        let iterations = self.more.saturating_sub(self.fewer).max(1) as f64;
        let mut each: Vec<f64> = self
            .batches
            .iter()
            .map(|(fewer, more)| (*more as f64 - *fewer as f64) / iterations)
            .collect();
        each.sort_by(f64::total_cmp);
        each
    }
}

/// A published result of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Time per operation, in nanoseconds.
    #[serde(rename = "ns_per_op")]
    #[schemars(with = "f64", range(min = 0))]
    pub time: Nanos,
    /// The value as its source prints it, e.g. `31.12 s for 67108864 calls`.
    pub as_printed: String,
    /// Number of operations that the time is the mean of; null if the source does not give it.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Share of the CPU time spent in user mode, from 0 to 1; null if the source does not give it.
    #[schemars(range(min = 0, max = 1))]
    pub user_share: Option<f64>,
}

/// The samples of one case. They include the cost of the loop, which records of role `baseline` have alone. Slots of one index in blocks
/// of one index were measured in the same round in every record, so differences of cases may be taken slot by slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Iterations per batch, the same in every batch.
    #[schemars(range(min = 1))]
    pub iterations: u64,
    /// The smallest difference that the worker's clock shows, in nanoseconds; absent in older files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub clock_step_ns: Option<f64>,
    /// Time blocks in the order in which they were measured; empty ones if the case rested.
    pub blocks: Vec<Block>,
    /// CPU time over all batches, discarded ones included.
    pub cpu: CpuTime,
    /// Samples of batches that were left out because the probe was preempted or, for an operation that switches by itself, waited for a
    /// CPU, in nanoseconds per batch.
    #[serde(default)]
    pub preempted_ns: Vec<u64>,
    /// Page faults over all batches that were served without a read from a device.
    pub minor_faults: u64,
    /// Page faults over all batches that needed one.
    pub major_faults: u64,
    /// Whether the operation itself blocks: lost CPU time then does not mean that it was disturbed.
    pub switches: bool,
    /// Whether the cost depends on earlier changes to the file system, so that it may differ from run to run.
    #[serde(default)]
    pub history: bool,
    /// The cost of the case in earlier runs on this machine under such load, in units of the panel's geometric mean, the latest
    /// first; empty if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<f64>,
}

/// A period of the run: confidence intervals treat blocks as independent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Launch of the worker, counted from 0 over the whole run.
    pub launch: u32,
    /// One slot per round, in order: the elapsed nanoseconds of each batch. Divided by `iterations` they are nanoseconds per iteration.
    pub slots: Vec<Slot>,
}

/// Elapsed nanoseconds per batch.
pub type Slot = Vec<u64>;

/// CPU time, 0 with the parameter `cold` above 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Wall time over the same period.
    pub wall_ns: u64,
}

/// How often a timer found the case in user mode and in system mode, in an untimed pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModeSamples {
    /// In user mode.
    pub user: u64,
    /// In the kernel.
    pub system: u64,
}

/// Why a case has no samples.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// One line, with the errno name if a call failed.
    pub message: String,
}

impl Run {
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        std::iter::once(self).chain(&self.repeats)
    }

    /// The records of cases that were asked for, without baselines.
    pub fn asked(&self) -> impl Iterator<Item = &Record> + Clone {
        let records = self.records.iter();
        records.filter(|record| record.role == Role::Asked)
    }

    /// Keeps these records, in the repeats as well.
    pub fn retain_records(&mut self, keep: impl Fn(&Record) -> bool) {
        self.records.retain(&keep);
        self.repeats
            .iter_mut()
            .for_each(|run| run.records.retain(&keep));
    }
}

impl Record {
    /// A record that was asked for, whose entries are not counted.
    pub fn new(case: Case, outcome: Outcome) -> Record {
        Record {
            case,
            role: Role::Asked,
            outcome,
            entries: None,
            entries_status: EntriesStatus::Unverified("not counted".into()),
            entries_counted_unix_s: None,
            entries_iterations: None,
            user_mode: None,
            mode_samples: None,
            counters: None,
            latency: None,
            instructions: None,
            warnings: Vec::new(),
        }
    }
}

/// How documents write a `Result`: the fields of the value, or `error`.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "Result")]
pub enum OrError<T, E> {
    #[serde(rename = "error")]
    Err(E),
    #[serde(untagged)]
    Ok(T),
}

impl Failure {
    /// The message is one line.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            message: message.into(),
        }
    }

    pub fn failed(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Failed, message)
    }

    pub fn unsupported(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Unsupported, message)
    }

    /// The process ended without an answer.
    pub fn crashed(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Crashed, message)
    }

    pub fn timeout(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Timeout, message)
    }

    pub fn start(message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Start, message)
    }

    pub fn interrupted() -> Failure {
        Failure::new(FailureKind::Interrupted, "the run was interrupted")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Not supported by the system (ENOSYS, EPERM, another architecture).
    Unsupported,
    /// A call made by the operation failed.
    Failed,
    /// It did not answer in time and was killed.
    Timeout,
    /// Its process ended without an answer.
    Crashed,
    /// The process could not be started.
    Start,
    /// The run was interrupted before it was measured.
    Interrupted,
}

impl Measurement {
    /// Nanoseconds per iteration.
    pub fn samples(&self) -> impl Iterator<Item = Nanos> + '_ {
        let n = self.iterations as f64;
        self.blocks
            .iter()
            .flat_map(|b| &b.slots)
            .flatten()
            .map(move |ns| Nanos(*ns as f64 / n))
    }

    pub fn calls(&self) -> u64 {
        self.iterations
            .saturating_mul(self.samples().count() as u64)
    }
}
