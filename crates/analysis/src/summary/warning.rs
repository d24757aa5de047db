//! Doubts about a run or a row.

use model::Host;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Calm;

/// A doubt about a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// A warning in the file, in its words.
    Recorded { text: String },
    /// Too few time blocks for an interval.
    TooFewBlocks { blocks: usize },
    /// Half the interval's width is over the target; both in percent of the median.
    TargetNotMet {
        target_percent: f64,
        reached_percent: f64,
    },
    /// The share of batches that were preempted and are left out.
    Preempted { share: f64 },
    /// The share of batches that are left out because they mostly waited for a CPU, of an operation that switches by itself.
    WaitedForCpu { share: f64 },
    /// None of its rounds was undisturbed: the cost is that of disturbed ones.
    Disturbed,
    /// A tracer of system calls was on: the cost has its own in it.
    Traced,
    /// The share of the wall time that the worker was on a CPU.
    LostCpu { share: f64 },
    /// The cost does not differ significantly from the empty loop's.
    BelowResolution,
    /// A snippet does no more than the empty loop, judged by its instructions or, if these are not known, by its cost.
    FoldedBody,
    /// A snippet names this system call and makes none.
    NotEntered { name: String },
    /// The cost depends on what was done to the file system before the run.
    DependsOnHistory,
    /// The kernel entries are not proven, and why.
    Unverified { reason: String },
    /// Too few runs for an interval over them: it is from within the runs.
    FewRuns { runs: usize },
    /// It failed in some of the runs.
    FailedInRuns { failed: usize, runs: usize },
}

/// A doubt about a run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunWarning {
    /// A warning in the file, in its words.
    Recorded { text: String },
    /// Few rounds were undisturbed, or none.
    Disturbed(Disturbed),
    /// The share of CPU time that the hypervisor took, in percent.
    Stolen { percent: f64 },
    /// How many CPUs other programs kept busy on average, of how many.
    Busy { busy: f64, cpus: u32 },
    /// The study's derived rows reached this limit: there may be more.
    ManyDerived { most: usize },
}

/// A disturbance of nearly all of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Disturbed {
    /// The share of the rounds that were undisturbed, in percent.
    pub undisturbed_percent: f64,
    /// How much more everything cost than in an undisturbed run, in percent, if none of this one was.
    pub slower_percent: Option<f64>,
}

/// The limit that `doctor` uses.
const STOLEN_PERCENT: f64 = 5.0;
// Chosen with bench/interrupted, which counts wrong figures without a warning.
/// A share of the CPUs.
const BUSY_SHARE: f64 = 0.25;

/// A run with a smaller share of undisturbed rounds, in percent, has a warning.
pub const FEW_CALM: f64 = 10.0;

impl Disturbed {
    pub fn new(host: &Host, calm: &Calm) -> Option<Disturbed> {
        let slower_percent = host.disturbed_percent;
        let undisturbed_percent = match slower_percent {
            Some(_) => 0.0,
            None => 100.0 * calm.share()?,
        };
        (undisturbed_percent < FEW_CALM).then_some(Disturbed {
            undisturbed_percent,
            slower_percent,
        })
    }
}

impl RunWarning {
    /// A hypervisor that took CPU time, and CPUs that other programs kept busy.
    pub fn about_host(host: &Host) -> impl Iterator<Item = RunWarning> {
        let stolen = host
            .steal_percent
            .filter(|percent| *percent >= STOLEN_PERCENT);
        let busy = host
            .busy_cpus
            .zip(host.cpus)
            .filter(|(busy, cpus)| *busy >= BUSY_SHARE * f64::from(*cpus));
        stolen
            .map(|percent| RunWarning::Stolen { percent })
            .into_iter()
            .chain(busy.map(|(busy, cpus)| RunWarning::Busy { busy, cpus }))
    }
}
