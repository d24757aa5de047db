//! What a result file and a status file say of their node, and in what the plans of two runs differ.

use crate::model::{Outcome, Role, Run};
use crate::prose::some;
use crate::summary::{RunWarning, Warning, summarize};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// The label that scripts give each run: the name by which the launcher knows the node.
const NODE: &str = "node";
/// The share of the cases that lost CPU time from which the whole run counts as disturbed.
const LOST_SHARE: f64 = 0.25;
const MOST_NAMES: usize = 3;

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

/// The cases and settings of a run; those that the host decides, such as the CPU, are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Plan {
    study: Option<String>,
    cases: BTreeSet<String>,
    /// Written as the result file has them, since they are only compared.
    budget_s: String,
    precision_percent: String,
    runs: usize,
}

impl Plan {
    pub fn from_run(run: &Run) -> Plan {
        let asked = run.records.iter().filter(|record| record.role == Role::Asked);
        Plan {
            study: run.study.as_ref().map(|study| study.name.clone()),
            cases: asked.map(|record| format!("{} ({})", record.case, record.case.environment)).collect(),
            budget_s: run.budget_s.to_string(),
            precision_percent: run.precision_percent.to_string(),
            runs: 1 + run.repeats.len(),
        }
    }
}

/// In what `own` differs from the plan of `most`, a sentence each.
pub fn plan_differences(own: &Plan, most: &Plan) -> Vec<String> {
    let study = |plan: &Plan| plan.study.as_ref().map_or("no study".to_string(), |name| format!("study {name}"));
    let values = |what: &str, [own, most]: [String; 2]| (own != most).then(|| format!("{what}{own}, others {most}"));
    let settings = [
        values("", [study(own), study(most)]),
        values("budget in seconds: ", [own.budget_s.clone(), most.budget_s.clone()]),
        values("precision in percent: ", [own.precision_percent.clone(), most.precision_percent.clone()]),
        values("runs: ", [own.runs.to_string(), most.runs.to_string()]),
        names("lacks", &most.cases, &own.cases),
        names("has besides", &own.cases, &most.cases),
    ];
    settings.into_iter().flatten().collect()
}

/// The cases of `more` that are not in `fewer`.
fn names(verb: &str, more: &BTreeSet<String>, fewer: &BTreeSet<String>) -> Option<String> {
    let names: Vec<&String> = more.difference(fewer).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", some(&names, MOST_NAMES)))
}

/// The one that there are most of; of equally many, the first in the order of the nodes' names.
pub fn most_frequent<'a, T: Eq + Hash + Clone + 'a>(all: impl Iterator<Item = &'a T>) -> Option<T> {
    let mut counts: HashMap<&T, (usize, usize)> = HashMap::new();
    for (index, one) in all.enumerate() {
        counts.entry(one).or_insert((0, usize::MAX - index)).0 += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(one, _)| one.clone())
}
