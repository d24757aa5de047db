//! What every tracer gets, does and returns.

use super::target::Target;
use crate::model::{Ending, Histogram, ProcessGroup, TracerFacts, Usage};
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a tracer attaches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A child of ours that waits to exec: counting begins with its execve.
    Held(u32),
    /// A running process: counting begins at once; the calls that its threads are in are not counted.
    Running(u32),
}

/// How much to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Calls and errors by class, with time on and off the CPU.
    Times,
    /// Calls and errors by class, no times.
    Counts,
}

/// When to stop following before the tree has ended.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// Set by a signal: detach from the tree and collect what there is.
    pub stop: Arc<AtomicBool>,
    /// Time limit for a process that was running before.
    pub after: Option<Duration>,
}

impl Until {
    /// Whether a signal asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// What a tracer collected. `usage` holds what it knows; the rest is filled in from the kernel's accounting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    pub facts: TracerFacts,
    pub groups: Vec<ProcessGroup>,
    pub latencies: BTreeMap<String, Histogram>,
    pub usage: Usage,
    pub ending: Option<Ending>,
    pub warnings: Vec<String>,
}

/// One way to count system calls of a process tree.
pub trait Tracer {
    /// What it is and its overhead, shown before the command starts: `ptrace, about 4 us a call`.
    fn introduction(&self) -> String;

    /// Whether a held root must install a seccomp filter that has every call traced.
    fn wants_filter(&self) -> bool {
        false
    }

    /// Attaches to `root` and everything that it will start, until the tracer is dropped.
    ///
    /// # Errors
    /// What the kernel refused, and the next step; the caller may then try another tracer.
    fn attach(&mut self, root: Root) -> Result<()>;

    /// Follows until the tree has ended or `until` says so. Reaps a held root, and records how it ended.
    ///
    /// # Errors
    /// If it lost track of the tree.
    fn follow(&mut self, until: &Until) -> Result<()>;

    /// Detaches and returns what was collected.
    ///
    /// # Errors
    /// If any of the data cannot be read: never returns only a part of it.
    fn collect(&mut self) -> Result<Collected>;
}

/// The IDs of a process's threads.
///
/// # Errors
/// If there is no such process.
pub fn threads(pid: u32) -> Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).map_err(|_| anyhow!("trace: no process {pid}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// A way to trace.
#[derive(Clone, Copy, Debug)]
pub struct TracerKind {
    /// The value of `--tracer`.
    pub name: &'static str,
    /// The help text of that value.
    pub what: &'static str,
    /// Whether it is tried if none was requested.
    pub automatic: bool,
    /// Whether it counts only the calls that it is given.
    pub named_calls: bool,
    pub open: fn(&TraceOptions) -> Result<Box<dyn Tracer>>,
}

/// What to trace, and how.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    pub target: Target,
    /// `None` for the first tracer that is available.
    pub tracer: Option<TracerKind>,
    pub detail: Detail,
    /// The names of the calls that the perf tracer counts.
    pub calls: Vec<String>,
}

impl TraceOptions {
    /// Whether the target is a command that we start, and that can be held before its execve.
    pub fn held(&self) -> bool {
        matches!(self.target, Target::Command(_))
    }
}
