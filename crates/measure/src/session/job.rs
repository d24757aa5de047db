//! The cases and options of a session.

use crate::runner::Fixture;
use analysis::summary;
use model::{Planned, Role, StartUp, StudyView};
use std::collections::BTreeMap;
use std::time::Duration;
use sys::affinity::Wanted;

#[derive(Default)]
pub struct Job {
    pub planned: Vec<Planned>,
    pub fixtures: Vec<Fixture>,
    pub study: Option<StudyView>,
    pub labels: BTreeMap<String, String>,
    /// Named by the user, and tried before anything is measured.
    pub named_environments: Vec<String>,
    pub names_snippets: bool,
    pub start_ups: BTreeMap<String, StartUp>,
    pub runs: u32,
}

/// The speed of the machine.
pub fn only_for_speed(planned: &Planned) -> bool {
    planned.role == Role::Baseline && !summary::is_baseline(&planned.case)
}

#[derive(Clone, Copy)]
pub struct RunOptions {
    pub cpu: Wanted,
    /// Wall time for the rounds; else by the number of cases.
    pub budget: Option<Duration>,
    /// Wall time for all of a run; replaces `budget`.
    pub whole: Option<Duration>,
    /// Wall time for each case in the rounds, all of which is spent; replaces `budget`.
    pub per_case: Option<Duration>,
    /// Half-width of an interval in percent of its median; as narrow ones end the run early.
    pub precision_percent: f64,
    pub seed: Option<u64>,
    pub timeout: Duration,
    pub verify: bool,
    pub counters: bool,
    pub latency: bool,
    /// Time for each case; else [`crate::singles::TIME`] or what the run has.
    pub latency_time: Option<Duration>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            cpu: Wanted::Best,
            budget: None,
            whole: None,
            per_case: None,
            precision_percent: 1.0,
            seed: None,
            timeout: Duration::from_secs(10),
            verify: true,
            counters: false,
            latency: false,
            latency_time: None,
        }
    }
}

pub trait Watch {
    /// A new part of the run begins, whose share starts at 0.
    fn stage(&self, stage: Stage);

    /// `share` is 0 to 1 of the stage; `doing` is next.
    fn advance(&self, share: f64, doing: &str);
}

#[derive(Clone, Copy)]
pub enum Stage {
    Starting,
    Proving,
    Counting,
    Singles,
    Measuring,
}
