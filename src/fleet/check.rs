//! What a directory of gathered files says about the nodes of a job: who is missing, whose run is incomplete or was disturbed,
//! who measured something else. For `syscost fleet check`, which reads the files.

mod facts;

pub use facts::{NodeRun, NodeStatus};

use super::nodes::NodeList;
use facts::{most_frequent, plan_differences};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// All nodes that are expected or were heard of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetCheck {
    /// How many nodes are expected; null if no names were given.
    pub expected: Option<usize>,
    /// How many of them, or of all that were found, have a complete run.
    pub complete: usize,
    /// The version that most runs are of; null if there is no run.
    pub version: Option<String>,
    /// The expected ones in their order, then others by name.
    pub nodes: Vec<CheckedNode>,
    /// Files that were skipped.
    pub skipped: Vec<Skipped>,
}

/// A file that is not what it should be.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Skipped {
    pub file: String,
    pub reason: String,
}

/// What is known of a node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckedNode {
    pub node: String,
    pub state: NodeState,
    /// Whether it is expected; true for all if no names were given.
    pub expected: bool,
    /// The newest result file; null if there is none of the last launch.
    pub file: Option<String>,
    /// When that run began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: Option<u64>,
    /// How many result files of the node there are.
    pub runs: usize,
    /// The exit status of its last launch; null if it did not end or left no status.
    pub status: Option<i32>,
    /// The last line that it wrote on standard error.
    pub said: Option<String>,
    /// Its version, if most others are of another one.
    pub other_version: Option<String>,
    /// In what its plan differs from that of most others; empty if it does not.
    pub other_plan: Vec<String>,
    /// What disturbed its run; empty if nothing did.
    pub disturbed: Vec<String>,
    /// Cases of its run that failed.
    pub failed_cases: usize,
}

impl CheckedNode {
    /// Whether its run can be compared with those of the others.
    pub fn is_sound(&self) -> bool {
        self.state == NodeState::Complete && self.other_version.is_none() && self.other_plan.is_empty()
    }
}

/// How far a node came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Its run is complete.
    Complete,
    /// Its run was interrupted, or is still running.
    Incomplete,
    /// It ended with an error and has no run.
    Failed,
    /// It began and neither ended nor has a run: it hangs, was killed, or has just started.
    Unfinished,
    /// Nothing was heard of it.
    Missing,
}

/// The state of the `expected` nodes by `runs` and `statuses`; of all nodes if that is `None`.
pub fn check(
    expected: Option<&NodeList>,
    runs: Vec<NodeRun>,
    statuses: Vec<NodeStatus>,
    skipped: Vec<Skipped>,
) -> FleetCheck {
    let known = by_node(expected, runs, statuses);
    let (version, plan) = {
        let current = || known.values().filter_map(Known::run);
        (most_frequent(current().map(|run| &run.version)), most_frequent(current().map(|run| &run.plan)))
    };
    let named: BTreeSet<&String> = expected.into_iter().flat_map(NodeList::names).collect();
    let others = known.keys().filter(|name| !named.contains(name));
    let in_order = expected.map_or(&[][..], NodeList::names).iter().chain(others);
    let none = Known::default();
    let node = |name: &String| {
        let known = known.get(name).unwrap_or(&none);
        let run = known.run();
        CheckedNode {
            node: name.clone(),
            state: known.state(),
            expected: expected.is_none() || named.contains(name),
            file: run.map(|run| run.file.clone()),
            started_unix_s: run.map(|run| run.started_unix_s),
            runs: known.runs.len(),
            status: known.status.as_ref().and_then(|status| status.status),
            said: known.status.as_ref().and_then(|status| status.said.clone()),
            other_version: run.map(|run| run.version.clone()).filter(|own| Some(own) != version.as_ref()),
            other_plan: run.zip(plan.as_ref()).map_or(Vec::new(), |(run, plan)| plan_differences(&run.plan, plan)),
            disturbed: run.map_or(Vec::new(), |run| run.disturbed.clone()),
            failed_cases: run.map_or(0, |run| run.failed_cases),
        }
    };
    let nodes: Vec<CheckedNode> = in_order.map(node).collect();
    let complete = nodes.iter().filter(|node| node.expected && node.state == NodeState::Complete).count();
    FleetCheck { expected: expected.map(|list| list.names().len()), complete, version, nodes, skipped }
}

/// The runs and the status of each node, by its expected name.
fn by_node(expected: Option<&NodeList>, runs: Vec<NodeRun>, statuses: Vec<NodeStatus>) -> BTreeMap<String, Known> {
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    for status in statuses {
        let name = expected_name(expected, &status.node);
        known.entry(name).or_default().status = Some(status);
    }
    for run in runs {
        known.entry(expected_name(expected, &run.node)).or_default().runs.push(run);
    }
    known.values_mut().for_each(|known| known.runs.sort_by_key(|run| run.started_unix_s));
    known
}

impl FleetCheck {
    /// Whether every expected node has a complete run, all of one version and plan.
    pub fn is_sound(&self) -> bool {
        self.nodes.iter().filter(|node| node.expected).all(CheckedNode::is_sound)
    }
}

/// The runs and the status of one node.
#[derive(Default)]
struct Known {
    /// The oldest first.
    runs: Vec<NodeRun>,
    status: Option<NodeStatus>,
}

impl Known {
    /// The newest run, unless a launch began after it.
    fn run(&self) -> Option<&NodeRun> {
        let began = self.status.as_ref().map_or(0, |status| status.began_unix_s);
        self.runs.last().filter(|run| run.started_unix_s >= began)
    }

    fn state(&self) -> NodeState {
        match (self.run(), &self.status) {
            (Some(run), _) if run.complete => NodeState::Complete,
            (Some(_), _) => NodeState::Incomplete,
            (None, Some(NodeStatus { status: None, .. })) => NodeState::Unfinished,
            (None, Some(NodeStatus { status: Some(0), .. })) | (None, None) => NodeState::Missing,
            (None, Some(_)) => NodeState::Failed,
        }
    }
}

/// The expected name of what calls itself `name`: the same, or the only one with the same first label, since some systems
/// call themselves `n1` and others `n1.cluster`.
fn expected_name(expected: Option<&NodeList>, name: &str) -> String {
    let Some(list) = expected else { return name.to_string() };
    if list.names().iter().any(|expected| expected == name) {
        return name.to_string();
    }
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_string();
    let is_full = |expected: &str| expected.contains('.') && name.contains('.');
    let mut alike = list.names().iter().filter(|expected| first(expected) == first(name) && !is_full(expected));
    alike.next().filter(|_| alike.next().is_none()).map_or_else(|| name.to_string(), String::clone)
}

#[cfg(test)]
mod tests;
