//! The purposes that the programs are loaded for.

use super::layout::Settings;
use std::time::Duration;

pub struct Config {
    pub record: Record,
    pub scope: Scope,
    pub group_by: GroupBy,
    /// Settings that follow from the calls alone; the others are 0.
    pub calls: Box<Settings>,
    pub details: Wanted,
    /// The time that the interrupt of a sample takes, if CPUs are to be sampled; zero if it has to be measured first.
    pub interruption: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    Counts,
    Times,
    /// Shares of CPU time by call, from samples of the CPUs, and time off the CPU; no counts, and nothing runs at calls.
    Samples,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub struct Wanted {
    pub paths: bool,
    pub descriptors: bool,
    pub stacks: bool,
    pub callers: bool,
    /// Only with times.
    pub slowest: bool,
    /// The objects and threads that calls waited for, and the functions that made them. Only with times.
    pub waits: bool,
}

/// Which processes are traced, besides children of traced ones.
#[derive(Clone, Copy, PartialEq)]
pub enum Scope {
    Command,
    Processes,
    Cgroup(u64),
    /// All processes except those that are marked as excluded.
    System,
}

/// Besides the name: `enum group_by`.
#[derive(Clone, Copy)]
pub enum GroupBy {
    Name = 0,
    Process = 1,
    Cgroup = 2,
    Tree = 3,
    Thread = 4,
}
