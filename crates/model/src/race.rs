use super::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// Whole commands that were run in turn, round by round.
#[derive(Default)]
pub struct Race {
    /// The seed of the order of commands within rounds.
    pub seed: u64,
    pub complete: bool,
    pub contenders: Vec<Contender>,
    /// Each execution started in a fresh copy of the working directory.
    pub is_copied: bool,
    /// Peak memory of a process that does nothing but start.
    pub least_rss_kib: u64,
    /// How often the command was started in all, or all commands together.
    pub executions: u32,
}

pub struct Contender {
    pub command: String,
    pub parameters: BTreeMap<String, String>,
    /// By index; `None` for one that others are compared with.
    pub base: Option<usize>,
    /// The base once more, in the same rounds: what nothing changed differs by.
    pub is_control: bool,
    pub environment: Option<InEnvironment>,
    /// The n-th run of each contender was in the n-th round.
    pub runs: Vec<TimedRun>,
    /// Counted in runs of their own.
    pub counted: Result<Profile, String>,
    /// Names of programs.
    pub left_running: BTreeSet<String>,
}

pub struct InEnvironment {
    pub name: String,
    /// CPU time and memory of the runs include the command's own.
    pub is_accounted: bool,
    /// Another process stops the command's processes at each call.
    pub is_traced: bool,
    /// Before the rounds: what it needs was in no cache of that environment.
    pub first: Option<TimedRun>,
    /// A program that does nothing, in the same rounds: what it takes more than natively is the environment's start-up.
    pub empty: Vec<TimedRun>,
}

#[derive(Clone, Copy)]
pub struct TimedRun {
    /// From the release of the waiting child, which then executes the program, to its end.
    pub wall_ns: u64,
    /// With all processes that the command waited for.
    pub user_ns: u64,
    pub system_ns: u64,
    pub peak_rss_kib: u64,
    pub faults: u64,
    /// Exit status; 128 + N for signal N.
    pub status: i32,
}

impl Contender {
    /// Whether the runs' CPU time and memory include the command's own.
    pub fn is_accounted(&self) -> bool {
        self.environment
            .as_ref()
            .is_none_or(|there| there.is_accounted)
    }
}

impl TimedRun {
    /// The kernel counts the sum exactly.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}
