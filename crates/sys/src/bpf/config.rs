//! The purposes that the programs are loaded for.

use super::layout::{Rows, WaitsOf};
use std::time::Duration;

pub struct Config {
    pub record: Record,
    pub scope: Scope,
    pub group_by: GroupBy,
    pub calls: Box<Rows>,
    pub waits_of: Box<WaitsOf>,
    pub numbers: Numbers,
    pub details: Wanted,
    /// The time that the interrupt of a sample takes, if CPUs are to be sampled; zero if it has to be measured first.
    pub interruption: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// Calls and errors by class, no times.
    Counts,
    /// Calls and errors by class, with time on and off the CPU.
    Times,
    /// Shares of CPU time by call, from samples of the CPUs, and time off the CPU; no counts, and nothing runs at calls.
    Samples,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub struct Wanted {
    pub paths: bool,
    pub descriptors: bool,
    pub stacks: bool,
    /// Stacks of some calls.
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
    /// The group with that ID and those below it.
    Cgroup(u64),
    /// All processes except those that are marked as excluded.
    System,
}

/// The property, besides the name, that distinguishes groups of processes: `enum group_by`.
#[derive(Clone, Copy)]
pub enum GroupBy {
    Name = 0,
    Process = 1,
    Cgroup = 2,
    Tree = 3,
    /// The names are those of threads.
    Thread = 4,
}

/// Numbers of calls that are special, each for the machine's own calls and for 32-bit ones.
#[derive(Clone, Copy, Default)]
pub struct Numbers {
    pub exec: [[u16; 2]; 2],
    pub exit: [[u16; 2]; 2],
    pub sigreturn: [u16; 2],
    pub close: [u16; 2],
    /// mmap, and mmap2 of 32-bit calls.
    pub mmap: [u16; 2],
    pub futex: [u16; 2],
    pub epoll_ctl: [u16; 2],
}
