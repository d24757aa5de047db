//! A command to a profile: which system calls it and all that it starts make, how often, of which class, how long.
//!
//! Not here: what that means (`attribute`), and how it is shown (`report`). `cli::trace` calls it. A tracer is one file
//! here and one line in `open`; what it needs of the kernel is in `kernel`.
//!
//! The order of events, the same for all tracers: the command is started and held before its execve; the tracer is put
//! onto it; it is let go; the tracer follows until the whole tree has ended (or it is told to stop); what it collected
//! becomes a `Profile`. Counting begins with the execve of the command, which is counted.

pub mod bpf;
pub mod classes;

use crate::model::{Ending, Histogram, ProcessGroup, TracerFacts, Usage};
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
