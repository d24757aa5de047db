//! Advice, as a rule gives it.

use crate::attribute::seconds::Seconds;
use schemars::JsonSchema;
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// Its name.
    pub rule: &'static str,
    /// The rule's words.
    #[serde(skip)]
    pub phrase: &'static str,
    #[serde(skip)]
    pub change: &'static str,
    /// If it is greater than the rule's.
    #[serde(skip)]
    pub least: f64,
    /// The name of the process that makes the calls; empty if the profile does not distinguish processes.
    pub process: String,
    /// The calls that are meant.
    pub names: Vec<String>,
    /// How many calls these are.
    pub calls: u64,
    /// The number of things that these calls were made for, or would become: each rule defines it.
    pub items: u64,
    /// The programs that were started, the error that was returned, or the bytes of a transfer.
    #[serde(rename = "of", skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The failure that led to these.
    #[serde(skip)]
    pub after: Option<String>,
    /// Where: the paths that are meant, those with most time first; without times the most used.
    pub paths: Vec<PathUse>,
    /// The function that makes most of these calls; absent without stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The functions that make these calls, if there are several, and how many calls each makes.
    #[serde(skip)]
    pub sites: Vec<(String, u64)>,
    /// Their measured time, of the kind in `time`, if it is known.
    pub measured_s: Option<f64>,
    pub time: Time,
    /// They wait in a loop, which takes as long untraced, with more turns: the saving includes time of tracing.
    #[serde(skip)]
    pub spins: bool,
    /// The time that could be saved; null if the calls have no times. Savings of different rules may be the same seconds.
    #[serde(rename = "saved_s")]
    pub saved: Option<Seconds>,
}

/// Which seconds are saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// On a CPU: also wall time if the process has one thread and nothing else to wait for. Those of a table of `strace -c` are elapsed
    /// times if it was made with -w.
    #[default]
    Cpu,
    /// Between entry and return: with the time that calls wait.
    Elapsed,
}

/// A path and how often it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PathUse {
    /// The path.
    pub path: String,
    /// Calls with it.
    pub calls: u64,
    /// Their elapsed time, 0 if it is not known.
    #[serde(skip)]
    pub elapsed_ns: u64,
}
