//! Nodes of known facts, and their state.

use super::facts::{NodeRun, NodeStatus, Plan};
use super::*;
use crate::model::fixtures::{record, run};

fn of(node: &str, started_unix_s: u64) -> NodeRun {
    let mut run = run(vec![record("id.getppid", 50), record("file.stat", 500)]);
    run.labels.insert("node".into(), node.into());
    run.started_unix_s = started_unix_s;
    NodeRun::new(format!("{node}-{started_unix_s}.json"), &run)
}

fn status(node: &str, text: &str) -> NodeStatus {
    NodeStatus::parse(node, text, "warning: x\nsyscost: no room\n\n").unwrap()
}

fn list(names: &str) -> NodeList {
    names.parse().unwrap()
}

fn state(check: &FleetCheck, node: &str) -> NodeState {
    check.nodes.iter().find(|known| known.node == node).unwrap_or_else(|| panic!("{node} in {check:?}")).state
}

#[test]
fn each_node_is_in_the_state_that_its_files_tell() {
    let incomplete = NodeRun { complete: false, ..of("c", 100) };
    let statuses = vec![
        status("a", "began 90\nstatus 0\n"),
        status("d", "began 90\nstatus 7\n"),
        status("e", "began 90\n"),
        status("f", "began 90\nstatus 0\n"),
    ];
    let found = check(Some(&list("a,b,c,d,e,f,g")), vec![of("a", 100), of("b", 5), incomplete], statuses, Vec::new());
    let states = ["a", "b", "c", "d", "e", "f", "g"].map(|node| state(&found, node));
    use NodeState::{Complete, Failed, Incomplete, Missing, Unfinished};
    assert_eq!(states, [Complete, Complete, Incomplete, Failed, Unfinished, Missing, Missing]);
    assert_eq!((found.complete, found.expected, found.is_sound()), (2, Some(7), false));
    assert_eq!((found.nodes[3].status, found.nodes[3].said.as_deref()), (Some(7), Some("syscost: no room")));
}

#[test]
fn a_run_from_before_the_last_launch_is_not_counted() {
    let found = check(None, vec![of("a", 100)], vec![status("a", "began 101\nstatus 1\n")], Vec::new());
    assert_eq!((state(&found, "a"), &found.nodes[0].file, found.nodes[0].runs), (NodeState::Failed, &None, 1));
    let found = check(None, vec![of("a", 102), of("a", 100)], vec![status("a", "began 101\nstatus 0\n")], Vec::new());
    assert_eq!((state(&found, "a"), found.nodes[0].started_unix_s), (NodeState::Complete, Some(102)));
    assert!(found.is_sound());
}

#[test]
fn another_version_or_plan_is_that_of_the_few() {
    let version = NodeRun { version: "9 (cc)".into(), ..of("b", 1) };
    let mut other = run(vec![record("id.getppid", 50), record("io.read", 50)]);
    other.precision_percent = 5.0;
    let plan = NodeRun { plan: Plan::from_run(&other), ..of("c", 1) };
    let found = check(None, vec![of("a", 1), version, plan, of("d", 1)], Vec::new(), Vec::new());
    assert_eq!(found.version.as_deref(), Some("0 (cc)"));
    assert_eq!(found.nodes.iter().map(CheckedNode::is_sound).collect::<Vec<_>>(), [true, false, false, true]);
    assert_eq!(found.nodes[1].other_version.as_deref(), Some("9 (cc)"));
    let differences = ["precision in percent: 5, others 1", "lacks file.stat (native)", "has besides io.read (native)"];
    assert_eq!(found.nodes[2].other_plan, differences);
    assert!(!found.is_sound());
}

#[test]
fn a_disturbed_run_is_reported_and_can_be_compared() {
    let mut disturbed = run(vec![record("id.getppid", 50)]);
    disturbed.host.steal_percent = Some(12.0);
    (disturbed.host.busy_cpus, disturbed.host.cpus) = (Some(1.0), Some(4));
    let found = check(None, vec![NodeRun::new("x.json".into(), &disturbed)], Vec::new(), Vec::new());
    let told = ["the hypervisor took 12% of CPU time", "other programs kept 1.0 of 4 CPUs busy"];
    assert_eq!(found.nodes[0].disturbed, told);
    assert_eq!((found.nodes[0].node.as_str(), found.is_sound()), ("x.json", true));
}

#[test]
fn a_name_is_the_expected_one_with_or_without_its_domain() {
    let runs = || vec![of("n1.cluster", 1), of("n2", 1), of("m", 1)];
    let found = check(Some(&list("n1,n2.cluster")), runs(), Vec::new(), Vec::new());
    assert_eq!((found.complete, found.nodes.len(), found.nodes[2].expected), (2, 3, false));
    assert!(found.is_sound(), "who is not expected spoils nothing");
    let found = check(Some(&list("n1.a,n1.b")), runs(), Vec::new(), Vec::new());
    assert_eq!(found.complete, 0, "another domain is another node");
}

#[test]
fn what_is_no_status_is_none() {
    for text in ["", "ended 1\n", "began x\n", "began 1\nstatus y\n", "began 1\nsomething\n"] {
        assert_eq!(NodeStatus::parse("a", text, ""), None, "{text:?}");
    }
}
