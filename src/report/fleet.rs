//! The table of `fleet check`: a row for each node of which there is something to say.

use super::{Cell, Spec, Style, Table};
use crate::fleet::{CheckedNode, FleetCheck, NodeState};
use crate::write::JsonDocument;

impl JsonDocument for FleetCheck {
    const SCHEMA: &'static str = "syscost.fleet-check/1";
}

/// The nodes that are not as they should be; programs get all.
pub fn fleet_table(check: &FleetCheck) -> Table {
    let style = |node: &CheckedNode| match node {
        node if node.expected && !node.is_sound() => Style::Bad,
        _ => Style::Warning,
    };
    let count = |number: usize| u64::try_from(number).ok();
    let specs = [
        Spec::left("node", |node: &CheckedNode| node.node.clone().into()).text("node", |node| node.node.clone()),
        Spec::left("state", move |node: &CheckedNode| Cell::styled(word(node.state), style(node)))
            .text("state", |node| word(node.state).to_string())
            .text("expected", |node| node.expected.to_string()),
        Spec::left("why", |node: &CheckedNode| Cell::from(reasons(node).join("; ")))
            .wrapping()
            .text("why", |node| reasons(node).join("; "))
            .text("file", |node| node.file.clone())
            .count("started_unix_s", |node| node.started_unix_s)
            .count("runs", move |node| count(node.runs))
            .text("status", |node| node.status.map(|status| status.to_string())),
    ];
    let told: Vec<&CheckedNode> = check.nodes.iter().filter(|node| is_told(node)).collect();
    let all = Table::of(&specs, &check.nodes);
    let shown: Vec<CheckedNode> = told.into_iter().cloned().collect();
    Table::of(&specs, &shown).with_records(all.records().clone()).titled(title(check)).noted(notes(check))
}

fn is_told(node: &CheckedNode) -> bool {
    !node.is_sound() || !reasons(node).is_empty()
}

fn title(check: &FleetCheck) -> String {
    let all = check.nodes.iter().filter(|node| node.expected).count();
    let which = if check.expected.is_some() { "expected nodes" } else { "nodes" };
    format!("{} of {all} {which} have a complete run", check.complete)
}

fn notes(check: &FleetCheck) -> Vec<String> {
    let of_state = |state: NodeState| {
        let number = check.nodes.iter().filter(|node| node.expected && node.state == state).count();
        (number > 0).then(|| format!("{number} {}", word(state)))
    };
    let states = [NodeState::Missing, NodeState::Failed, NodeState::Unfinished, NodeState::Incomplete];
    let states: Vec<String> = states.into_iter().filter_map(of_state).collect();
    let states = (!states.is_empty()).then(|| states.join(", "));
    let version = check.version.as_ref().map(|version| format!("syscost {version}"));
    states.into_iter().chain(version).collect()
}

fn word(state: NodeState) -> &'static str {
    match state {
        NodeState::Complete => "complete",
        NodeState::Incomplete => "incomplete",
        NodeState::Failed => "failed",
        NodeState::Unfinished => "unfinished",
        NodeState::Missing => "missing",
    }
}

/// What there is to say of a node.
fn reasons(node: &CheckedNode) -> Vec<String> {
    let unexpected = (!node.expected).then(|| "not expected".to_string());
    let version = node.other_version.as_ref().map(|version| format!("syscost {version}"));
    let failed = (node.failed_cases > 0).then(|| format!("{} cases failed", node.failed_cases));
    let plan = node.other_plan.iter().map(|difference| format!("another plan: {difference}"));
    unexpected
        .into_iter()
        .chain(ending(node))
        .chain(version)
        .chain(plan)
        .chain(node.disturbed.iter().map(|what| format!("disturbed: {what}")))
        .chain(failed)
        .collect()
}

/// How a node without a complete run ended.
fn ending(node: &CheckedNode) -> Option<String> {
    let said = node.said.as_ref().map_or(String::new(), |said| format!(": {said}"));
    match (node.state, node.status) {
        (NodeState::Complete, _) => None,
        (NodeState::Missing, None) => Some("no result file and no status".to_string()),
        (NodeState::Missing, Some(_)) => Some("exit status 0, but its result file is not here".to_string()),
        (NodeState::Unfinished, _) => Some(format!("started, not finished{said}")),
        (_, Some(124)) => Some(format!("stopped at its time limit{said}")),
        (_, Some(137)) => Some(format!("killed: time limit or out of memory{said}")),
        (_, Some(status)) => Some(format!("exit status {status}{said}")),
        (_, None) => Some(format!("interrupted or still running{said}")),
    }
}
