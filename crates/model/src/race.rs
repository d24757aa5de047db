//! Commands raced against each other: what was timed, round by round. Plain data.

use super::{Host, Profile, Tool};
use std::collections::{BTreeMap, BTreeSet};

/// Whole commands that were run in turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Race {
    pub tool: Tool,
    pub host: Host,
    pub started_unix_s: u64,
    /// Starts the order of commands within rounds.
    pub seed: u64,
    /// False if it was interrupted.
    pub complete: bool,
    pub contenders: Vec<Contender>,
    /// Whether each execution started in a fresh copy of the working directory.
    pub is_copied: bool,
    /// A process that does nothing but start has at least this much memory.
    pub least_rss_kib: u64,
}

/// One command.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// As it was asked for, with the values of its parameters.
    pub command: String,
    /// Words, or code for the shell.
    pub shell: bool,
    pub parameters: BTreeMap<String, String>,
    /// The contender that it is compared with, by index; `None` for one that others are compared with.
    pub base: Option<usize>,
    /// Where it was started, if environments are compared.
    pub environment: Option<InEnvironment>,
    /// One for each round, in their order: the n-th run of each contender was in the n-th round.
    pub runs: Vec<TimedRun>,
    /// Its system calls, counted in runs of their own; or why that was not possible.
    pub counted: Result<Profile, String>,
    /// Names of programs that it left running when it had ended.
    pub left_running: BTreeSet<String>,
}

/// The environment that a command was started in.
#[derive(Clone, Debug, PartialEq)]
pub struct InEnvironment {
    pub name: String,
    /// Whether CPU time and memory of the runs include the command's own.
    pub is_accounted: bool,
    /// Whether another process does a part of the work, for which the command's processes wait.
    pub has_others: bool,
    /// The first execution there, before the rounds: what it needs was in no cache of that environment.
    pub first: Option<TimedRun>,
    /// A program that does nothing, in the same rounds: what it takes more than natively is the environment's start-up.
    pub empty: Vec<TimedRun>,
}

/// One execution of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimedRun {
    /// From the release of the waiting child, which then executes the program, until it had ended.
    pub wall_ns: u64,
    /// Of the command and of all processes that it waited for.
    pub user_ns: u64,
    pub system_ns: u64,
    /// Largest resident set of any of these processes.
    pub peak_rss_kib: u64,
    /// Minor and major page faults of all of them.
    pub faults: u64,
    /// Exit status; 128 + N for signal N.
    pub status: i32,
}

impl Contender {
    /// Whether CPU time and memory of its runs are its own.
    pub fn is_accounted(&self) -> bool {
        self.environment
            .as_ref()
            .is_none_or(|there| there.is_accounted)
    }
}

impl TimedRun {
    /// User and system time together, which the kernel counts exactly.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}
