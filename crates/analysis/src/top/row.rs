//! The rows of the live table.

use model::{CallCount, Class, ProcessGroup};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::ops::Deref;

/// The kinds of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum By {
    /// A program: all processes of one name.
    #[default]
    Program,
    /// A process.
    Process,
    /// A system call.
    Call,
    /// A system call and its class: size, kind of descriptor, depth of path.
    Class,
    /// A control group.
    Cgroup,
    /// A system call and an error.
    Error,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    pub name: String,
    pub pid: Option<u32>,
}

impl Who {
    fn has(&self, group: &ProcessGroup) -> bool {
        self.name == group.name && (self.pid.is_none() || self.pid == group.pid)
    }
}

/// `git`, or `git (12)` for one process.
impl fmt::Display for Who {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}", self.name)?;
        self.pid.map_or(Ok(()), |pid| write!(out, " ({pid})"))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Focus {
    pub process: Option<Who>,
    pub cgroup: Option<String>,
    pub call: Option<String>,
}

impl Focus {
    /// The innermost that was gone into.
    pub fn name(&self) -> String {
        self.call
            .clone()
            .or_else(|| self.process.as_ref().map(Who::to_string))
            .or_else(|| self.cgroup.clone())
            .unwrap_or_default()
    }

    pub(super) fn has(&self, group: &ProcessGroup, count: &CallCount) -> bool {
        self.process.as_ref().is_none_or(|who| who.has(group))
            && self
                .cgroup
                .as_ref()
                .is_none_or(|cgroup| group.cgroup.as_ref() == Some(cgroup))
            && self.call.as_ref().is_none_or(|call| *call == count.call)
    }
}

/// The identity of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct RowKey {
    /// The name of the program or process.
    pub process: Option<String>,
    /// Only if rows are processes.
    pub pid: Option<u32>,
    /// The control group, by its path below the mount.
    pub cgroup: Option<String>,
    /// The system call.
    pub call: Option<String>,
    #[serde(flatten)]
    pub class: Class,
    /// The name of an error.
    pub error: Option<String>,
}

/// One row: what it counts, and what happened in the interval. Names that do not apply are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    #[serde(flatten)]
    pub key: RowKey,
    /// The arguments of a process, for people only: they may hold secrets.
    #[serde(skip)]
    pub arguments: Option<String>,
    /// Calls that ended in the interval.
    pub calls: u64,
    /// Samples that found a CPU there, if CPUs were sampled instead of calls counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Calls that failed.
    pub errors: u64,
    /// Calls a second.
    pub calls_per_s: f64,
    /// Failures a second.
    pub errors_per_s: f64,
    /// Time on CPUs in calls as a share of one CPU, 0 to the number of CPUs.
    pub on_cpu_share: Option<f64>,
    /// Time runnable in calls per time: how many threads waited for a CPU on average, after a wake-up or a preemption.
    pub runnable_threads: Option<f64>,
    /// Time blocked in calls until woken, per time: how many threads were blocked on average.
    pub blocked_threads: Option<f64>,
    /// Between entry and return.
    pub mean_ns: Option<f64>,
    /// Median of the elapsed time of this call over all processes that are traced.
    pub p50_ns: Option<f64>,
    /// Its 99th percentile.
    pub p99_ns: Option<f64>,
}

impl Deref for Row {
    type Target = RowKey;

    fn deref(&self) -> &RowKey {
        &self.key
    }
}

impl Row {
    pub fn who(&self) -> Option<Who> {
        Some(Who {
            name: self.process.clone()?,
            pid: self.pid,
        })
    }

    /// `wanted` is in lower case.
    pub fn contains(&self, wanted: &str) -> bool {
        let pid = self.pid.map(|pid| pid.to_string());
        [
            &self.process,
            &pid,
            &self.arguments,
            &self.cgroup,
            &self.call,
            &self.error,
        ]
        .into_iter()
        .flatten()
        .any(|text| text.to_lowercase().contains(wanted))
    }
}
