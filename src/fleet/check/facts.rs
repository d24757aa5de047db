//! What a result file and a status file say of their node.

use super::plan::Plan;
use crate::model::{Outcome, Run};
use crate::summary::{RunWarning, Warning, summarize};

/// The label that scripts give each run: the name by which the launcher knows the node.
const NODE: &str = "node";
/// The share of the cases that lost CPU time from which the whole run counts as disturbed.
const LOST_SHARE: f64 = 0.25;

/// What a run says of its node, without its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRun {
    pub file: String,
    pub node: String,
    pub started_unix_s: u64,
    pub complete: bool,
    /// Of the program and of the compiler of its probe.
    pub version: String,
    pub plan: Plan,
    pub failed_cases: usize,
    pub disturbed: Vec<String>,
}

impl NodeRun {
    /// Of `run`, read from `file`. A run without the label and without a host's name is its own node.
    pub fn new(file: String, run: &Run) -> NodeRun {
        let node = run.labels.get(NODE).or(run.host.name.as_ref()).unwrap_or(&file).clone();
        let failed =
            |run: &Run| run.records.iter().filter(|record| matches!(record.outcome, Outcome::Failed(_))).count();
        NodeRun {
            node,
            started_unix_s: run.started_unix_s,
            complete: run.complete && run.repeats.iter().all(|run| run.complete),
            version: format!("{} ({})", run.tool.version, run.tool.compiler),
            plan: Plan::from_run(run),
            failed_cases: run.runs().map(failed).max().unwrap_or(0),
            disturbed: disturbances(run),
            file,
        }
    }
}

fn disturbances(run: &Run) -> Vec<String> {
    let summary = summarize(run);
    let of_run = summary.warnings.iter().filter_map(|warning| match warning {
        RunWarning::Recorded { text } => Some(text.clone()),
        RunWarning::StateChanged(change) => {
            Some(format!("the kernel was {:.0}% slower for a while", change.share * 100.0))
        }
        RunWarning::Stolen { percent } => Some(format!("the hypervisor took {percent:.0}% of CPU time")),
        RunWarning::Busy { busy, cpus } => Some(format!("other programs kept {busy:.1} of {cpus} CPUs busy")),
        RunWarning::ManyDerived { .. } => None,
    });
    let lost = |warning: &Warning| {
        matches!(warning, Warning::Preempted { .. } | Warning::WaitedForCpu { .. } | Warning::LostCpu { .. })
    };
    let disturbed = summary.rows.iter().filter(|row| row.warnings.iter().any(lost)).count();
    let is_much = disturbed > 0 && disturbed as f64 >= LOST_SHARE * summary.rows.len() as f64;
    let of_rows = is_much.then(|| format!("{disturbed} of {} cases lost CPU time", summary.rows.len()));
    of_run.chain(of_rows).collect()
}

/// How the last launch on a node ended, as the script wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    pub node: String,
    pub began_unix_s: u64,
    /// `None` if it did not end.
    pub status: Option<i32>,
    /// The last line of standard error.
    pub said: Option<String>,
}

impl NodeStatus {
    /// Of a status file's text, and of what the node wrote on standard error; `None` if it is no status file.
    pub fn parse(node: &str, text: &str, stderr: &str) -> Option<NodeStatus> {
        let mut lines = text.lines();
        let began_unix_s = lines.next()?.strip_prefix("began ")?.parse().ok()?;
        let status = match lines.next() {
            Some(line) => Some(line.strip_prefix("status ")?.parse().ok()?),
            None => None,
        };
        let said = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_string);
        Some(NodeStatus { node: node.to_string(), began_unix_s, status, said })
    }
}
