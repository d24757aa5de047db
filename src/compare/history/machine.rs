//! What is found of a machine over time.

use crate::compare::column::ColumnInfo;
use crate::compare::conditions::Known;
use crate::compare::row::Key;
use crate::model::Entries;
use schemars::JsonSchema;
use serde::Serialize;

/// One machine, or a group of them, and its runs, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Its host name, `unknown` if the files do not have it; of a group, what its runs have in common.
    pub host: String,
    /// Number of hosts.
    pub hosts: usize,
    pub runs: Vec<ColumnInfo>,
    pub series: Vec<Series>,
    /// Rows that are left out because they are numbers of instructions, which have no noise to find a change in.
    pub counted_rows: usize,
}

/// One operation over the runs of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    #[serde(flatten)]
    pub key: Key,
    pub area: String,
    /// Whether there are enough runs to find a change.
    pub enough_runs: bool,
    /// Whether the cost depends on earlier file system activity: no changes are sought then.
    pub depends_on_history: bool,
    pub points: Vec<Point>,
    pub changes: Vec<Change>,
    /// How hosts differ and how their runs do, as standard deviations on the log scale; absent for one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter: Option<Scatter>,
}

/// Standard deviations on the log scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scatter {
    /// Of hosts, without that of their runs; null if no host has two runs.
    pub hosts: Option<f64>,
    /// Of the runs of one host; null if no host has two runs.
    pub runs: Option<f64>,
}

/// The operation's cost in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Index of the run.
    pub run: usize,
    #[serde(rename = "median_ns")]
    pub cost_ns: f64,
    /// The same at the machine's usual speed over all its runs, if that makes the series steadier; changes are sought in it.
    pub steady_ns: f64,
}

/// A point at which the cost changed for good.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Index of the first run with the new cost.
    pub run: usize,
    /// Median over the runs before the change, and over those after it.
    pub before_ns: f64,
    pub after_ns: f64,
    /// `after_ns` divided by `before_ns`.
    pub ratio: f64,
    /// What changed between the previous run and this one; empty if nothing known did.
    pub host_changes: Vec<HostChange>,
}

/// A difference between two consecutive runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostChange {
    /// The operation does other work.
    OtherWork {
        before: Entries,
        after: Entries,
    },
    /// A condition and its values in both runs.
    Fact {
        fact: &'static str,
        before: Option<Known>,
        after: Option<Known>,
    },
    Mitigations(SetChange),
    /// Kinds of taxes on every system call.
    Taxes(SetChange),
}

/// What was added and what was removed, in alphabetical order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SetChange {
    pub come: Vec<String>,
    pub gone: Vec<String>,
}
