//! What every tracer is given, does and hands over.

use crate::model::{Ending, Histogram, ProcessGroup, TracerFacts, Usage};
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a tracer is put onto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A child of ours that waits to exec: counting begins with its execve.
    Held(u32),
    /// A process that runs: counting begins at once; the calls in which its threads stand are not counted.
    Running(u32),
}

/// How much is wanted.
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
    /// Raised by a signal: leave the tree to itself and collect what there is.
    pub stop: Arc<AtomicBool>,
    /// For a process that was running before.
    pub after: Option<Duration>,
}

impl Until {
    /// Whether a signal said to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// What a tracer has at the end. `usage` holds what it knows; the rest is filled in from the kernel's accounting.
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
    /// What it is and what it costs, to be said before the command starts: `ptrace, about 4 us a call`.
    fn introduction(&self) -> String;

    /// Whether a held root is to put a seccomp filter onto itself that has every call traced.
    fn wants_filter(&self) -> bool {
        false
    }

    /// Puts itself onto `root` and all that it will start. Nothing is attached any more when it is dropped.
    ///
    /// # Errors
    /// What the kernel refused, with the next step; the caller may then try another tracer.
    fn attach(&mut self, root: Root) -> Result<()>;

    /// Follows until the tree has ended or `until` says so. Reaps a held root, and says how it ended.
    ///
    /// # Errors
    /// Where it lost track of the tree.
    fn follow(&mut self, until: &Until) -> Result<()>;

    /// Detaches and returns what was collected.
    ///
    /// # Errors
    /// Where the data cannot be read: never a part of it in silence.
    fn collect(&mut self) -> Result<Collected>;
}

/// The threads of a process by their numbers.
pub fn threads(pid: u32) -> Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).map_err(|_| anyhow!("trace: no process {pid}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// A way to trace.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// As the command line has it.
    pub name: &'static str,
    pub what: &'static str,
    /// Whether it is tried when none was asked for.
    pub automatic: bool,
    /// Whether it counts only the calls that it is given.
    pub named_calls: bool,
    pub open: fn(&Options) -> Result<Box<dyn Tracer>>,
}

/// What tracers are opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub detail: Detail,
    /// The names that the perf tracer counts.
    pub calls: Vec<String>,
    /// Whether the target is a command that we start; only that can get a filter.
    pub held: bool,
}
