//! What one kernel executes that another does not, function by function. Pure. Called by the `explain` command.

use crate::model::explained::{Change, FunctionSum, Group, GroupChange, KernelExplanation, KernelVersus};
use std::collections::BTreeMap;

/// Compares two explanations of the same operation.
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
    let of = |side: &KernelExplanation, group| {
        side.groups.iter().find(|sum| sum.group == group).map_or(0, |sum| sum.instructions)
    };
    let all = Group::ALL.iter().map(|group| GroupChange {
        group: *group,
        before: of(before, *group),
        after: of(after, *group),
    });
    all.filter(|change| change.before > 0 || change.after > 0).collect()
}

fn changes(before: &[FunctionSum], after: &[FunctionSum]) -> Vec<Change> {
    let mut all: BTreeMap<&str, Change> = BTreeMap::new();
    let sides = before.iter().map(|f| (f, f.own, 0)).chain(after.iter().map(|f| (f, 0, f.own)));
    for (function, before, after) in sides {
        let (name, group) = (function.name.clone(), function.group);
        let change = all.entry(&function.name).or_insert(Change { name, group, before: 0, after: 0, change: 0 });
        (change.before, change.after) = (change.before + before, change.after + after);
    }
    let with_change =
        |change: Change| Change { change: change.after.cast_signed() - change.before.cast_signed(), ..change };
    let mut changes: Vec<Change> = all.into_values().map(with_change).filter(|change| change.change != 0).collect();
    changes.sort_by(|a, b| b.change.unsigned_abs().cmp(&a.change.unsigned_abs()).then_with(|| a.name.cmp(&b.name)));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(name: &str, own: u64) -> FunctionSum {
        FunctionSum { name: name.into(), group: Group::Work, calls: 1, own }
    }

    #[test]
    fn functions_that_came_went_or_changed() {
        let before = [sum("gone", 50), sum("same", 5), sum("less", 9)];
        let after = [sum("came", 60), sum("same", 5), sum("less", 2)];
        let changes: Vec<_> =
            changes(&before, &after).into_iter().map(|c| (c.name, c.before, c.after, c.change)).collect();
        assert_eq!(
            changes,
            [("came".to_string(), 0, 60, 60), ("gone".to_string(), 50, 0, -50), ("less".to_string(), 9, 2, -7)]
        );
    }
}
