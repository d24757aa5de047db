//! What was recorded as people read it: sums by function and by group, and what one kernel executes that another does not. Pure.

use super::names::in_source;
use indexmap::IndexMap;
use model::explained::{
    Call, Change, FunctionSum, Group, GroupChange, GroupSum, Iterations, KernelExplanation,
    KernelVersus,
};
use model::program::side_by_side;
use std::collections::HashMap;

pub(super) fn sums(tree: &Call) -> (Vec<GroupSum>, Vec<FunctionSum>) {
    let functions = functions(tree);
    (groups(&functions), merged(functions))
}

type Functions = HashMap<(String, Group), (u64, u64)>;

fn functions(tree: &Call) -> Functions {
    fn add(call: &Call, sums: &mut Functions) {
        let sum = sums
            .entry((in_source(&call.name).to_string(), call.group))
            .or_default();
        *sum = (sum.0 + call.self_instructions, sum.1 + call.calls);
        call.children.iter().for_each(|child| add(child, sums));
    }
    let mut sums = HashMap::new();
    tree.children.iter().for_each(|child| add(child, &mut sums));
    sums
}

fn groups(functions: &Functions) -> Vec<GroupSum> {
    let sum = |group| {
        let own = functions.iter().filter(|((_, of), _)| *of == group);
        own.map(|(_, (own, _))| own).sum()
    };
    Group::ALL
        .iter()
        .map(|(group, _)| GroupSum {
            group: *group,
            instructions: sum(*group),
        })
        .filter(|sum| sum.instructions > 0)
        .collect()
}

/// A row's group is that of most of its instructions.
fn merged(functions: Functions) -> Vec<FunctionSum> {
    let mut all: Vec<_> = functions.into_iter().collect();
    all.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    let mut rows: IndexMap<String, FunctionSum> = IndexMap::new();
    for ((name, group), (own, calls)) in all {
        let row = rows.entry(name.clone()).or_insert(FunctionSum {
            name,
            group,
            calls: 0,
            self_instructions: 0,
        });
        (row.self_instructions, row.calls) = (row.self_instructions + own, row.calls + calls);
    }
    let mut rows: Vec<FunctionSum> = rows.into_values().collect();
    rows.sort_by(|a, b| (b.self_instructions, &a.name).cmp(&(a.self_instructions, &b.name)));
    rows
}

/// The share by which the tree may miss the emulator's own count.
const AGREES: f64 = 0.01;

pub(super) fn notes(
    instructions: u64,
    counted: Option<f64>,
    iterations: &Iterations,
) -> Vec<String> {
    let mut notes = Vec::new();
    let Iterations {
        recorded,
        alike,
        fewest,
        most,
    } = *iterations;
    if fewest != most {
        notes.push(format!(
            "iterations differ, from {fewest} to {most} instructions: {alike} of {recorded} executed what is shown"
        ));
    }
    let missing = |counted: f64| counted - instructions as f64;
    if let Some(counted) = counted.filter(|all| missing(*all).abs() > AGREES * all) {
        let other = if missing(counted) > 0.0 {
            "more"
        } else {
            "fewer"
        };
        notes.push(format!(
            "over many iterations the emulator counts {counted:.1} instructions each: some execute {other} than the one shown"
        ));
    }
    notes
}

pub fn versus(before: KernelExplanation, after: KernelExplanation) -> KernelVersus {
    KernelVersus {
        operation: before.operation.clone(),
        what: before.what.clone(),
        params: before.params.clone(),
        groups: group_changes(&before, &after),
        functions: changes(&before.functions, &after.functions),
        before,
        after,
    }
}

fn group_changes(before: &KernelExplanation, after: &KernelExplanation) -> Vec<GroupChange> {
    fn of(side: &KernelExplanation, group: Group) -> u64 {
        let sum = side.groups.iter().find(|sum| sum.group == group);
        sum.map_or(0, |sum| sum.instructions)
    }

    Group::ALL
        .iter()
        .map(|(group, _)| GroupChange {
            group: *group,
            before: of(before, *group),
            after: of(after, *group),
        })
        .filter(|change| change.before > 0 || change.after > 0)
        .collect()
}

fn changes(before: &[FunctionSum], after: &[FunctionSum]) -> Vec<Change> {
    let [before, after] = [before, after].map(|side| {
        side.iter()
            .map(|f| (f.name.as_str(), f.group, f.self_instructions))
    });
    side_by_side(before, after)
        .into_iter()
        .map(|(name, group, before, after)| Change {
            name: name.to_string(),
            group,
            before,
            after,
            change: after.cast_signed() - before.cast_signed(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::call;

    #[test]
    fn functions_are_summed_over_the_tree_and_groups_by_call() {
        fn memset(group: Group, own: u64) -> Call {
            call("memset", group, own, vec![])
        }

        let inner = vec![memset(Group::PathWalk, 7)];
        let walk = call("getname", Group::PathWalk, 5, inner);
        let inner = vec![walk, memset(Group::Work, 2)];
        let work = call("__x64_sys_x.constprop.0", Group::Work, 3, inner);
        let (groups, rows) = sums(&call("", Group::Caller, 0, vec![work]));
        let groups: Vec<u64> = groups.iter().map(|sum| sum.instructions).collect();
        assert_eq!(groups, [12, 5]);
        let names: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.self_instructions, row.calls))
            .collect();
        assert_eq!(
            names,
            [("memset", 9, 2), ("getname", 5, 1), ("__x64_sys_x", 3, 1)]
        );
        assert_eq!(rows[0].group, Group::PathWalk);
    }

    #[test]
    fn a_sum_that_differs_from_the_count_is_reported() {
        let alike = Iterations {
            recorded: 7,
            alike: 7,
            fewest: 329,
            most: 329,
        };
        assert!(notes(329, Some(329.0), &alike).is_empty());
        assert!(
            notes(329, Some(340.0), &alike)[0].ends_with("some execute more than the one shown")
        );
        assert!(
            notes(329, Some(318.0), &alike)[0]
                .contains("318.0 instructions each: some execute fewer")
        );
        let differ = Iterations {
            alike: 4,
            most: 400,
            ..alike
        };
        assert!(notes(329, None, &differ)[0].contains("from 329 to 400 instructions: 4 of 7"));
    }

    #[test]
    fn functions_that_came_went_or_changed() {
        fn side(functions: [(&str, u64); 3]) -> [FunctionSum; 3] {
            functions.map(|(name, own)| FunctionSum {
                name: name.into(),
                group: Group::Work,
                calls: 1,
                self_instructions: own,
            })
        }

        let before = side([("gone", 50), ("same", 5), ("less", 9)]);
        let after = side([("came", 60), ("same", 5), ("less", 2)]);
        let changes = changes(&before, &after);
        let changes: Vec<_> = changes
            .iter()
            .map(|c| (c.name.as_str(), c.before, c.after, c.change))
            .collect();
        assert_eq!(
            changes,
            [
                ("came", 0, 60, 60),
                ("gone", 50, 0, -50),
                ("less", 9, 2, -7)
            ]
        );
    }
}
