//! What the programs are loaded for.

use super::layout::Rows;
use std::time::Duration;

/// What the programs are loaded for.
#[derive(Clone)]
pub struct Config {
    pub record: Record,
    pub scope: Scope,
    pub group_by: GroupBy,
    pub calls: Box<Rows>,
    pub numbers: Numbers,
    pub details: Wanted,
    /// How long an interrupt for a sample takes, if CPUs are to be sampled: zero if that is not known.
    pub interruption: Option<Duration>,
}

/// How the programs learn what tasks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// They count calls.
    Counts,
    /// They count and time calls.
    Times,
    /// They look many times a second at what each CPU is in, and time waits. Nothing runs at calls.
    Samples,
}

/// What the programs record besides, on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Calls by path.
    pub paths: bool,
    /// Calls by what their descriptor refers to.
    pub descriptors: bool,
    /// Calls by user stack.
    pub stacks: bool,
    /// The slowest calls; only with times.
    pub slowest: bool,
    /// What calls waited for; only with times.
    pub waits: bool,
}

/// Which tasks are traced, besides children of those that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A command from its execve on.
    Command,
    /// The processes that are marked.
    Processes,
    /// Those in the cgroup with that ID, and in those below it.
    Cgroup(u64),
    /// All but processes that are marked as excluded.
    System,
}

/// What, besides its name, distinguishes a group of processes: `enum group_by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Name = 0,
    Process = 1,
    Cgroup = 2,
    /// What started it.
    Tree = 3,
}

/// Numbers of calls that the programs treat specially, each for the machine's own calls and for 32-bit ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// execve and execveat.
    pub exec: [[u16; 2]; 2],
    /// exit and exit_group.
    pub exit: [[u16; 2]; 2],
    pub sigreturn: [u16; 2],
    pub close: [u16; 2],
    /// mmap, and mmap2 of 32-bit calls.
    pub mmap: [u16; 2],
}
