//! All sums over an explanation must be at most its instructions, so that everything that reads one can add and subtract without
//! checking.

use crate::rules::{Checked, all_positive, name, wrong};
use model::explained::{Call, Change, KernelExplanation, KernelVersus, MOST_INSTRUCTIONS as MOST};

/// Levels of a tree: JSON is read to a depth of 128, and a level is a map in a list. Real ones have 30.
const DEEPEST: usize = 56;

/// The tree, the groups and the functions add up to at most the file's instructions.
pub fn explained(file: &KernelExplanation) -> Checked {
    name("operation", &file.operation)?;
    name("environment", &file.environment)?;
    all_positive(&[("counted", file.counted)])?;
    if file.instructions > MOST {
        return wrong(
            "instructions",
            &format!("is {}, must be at most {MOST}", file.instructions),
        );
    }
    call("tree", &file.tree, 0)?;
    if file.tree.total != file.instructions {
        return wrong(
            "tree.total",
            &format!(
                "is {}, not the {} of 'instructions'",
                file.tree.total, file.instructions
            ),
        );
    }
    within(
        "groups",
        file.groups.iter().map(|sum| sum.instructions),
        file.instructions,
    )?;
    within(
        "functions",
        file.functions.iter().map(|sum| sum.self_instructions),
        file.instructions,
    )?;
    within(
        "functions: calls",
        file.functions.iter().map(|sum| sum.calls),
        MOST,
    )?;
    let calls = calls(&file.tree).filter(|calls| *calls <= MOST);
    calls.map_or_else(|| wrong("tree", "has more calls than can be"), |_| Ok(()))
}

/// Both are of the same operation.
pub fn versus(file: &KernelVersus) -> Checked {
    name("operation", &file.operation)?;
    for (side, explanation) in [("before", &file.before), ("after", &file.after)] {
        explained(explanation).map_err(|error| error.within(&format!("{side}.")))?;
        if explanation.operation != file.operation || explanation.params != file.params {
            return wrong(
                &format!("{side}.operation"),
                "is another operation, or has other parameters",
            );
        }
    }
    let (before, after) = (file.before.instructions, file.after.instructions);
    let (groups, functions) = (file.groups.iter(), file.functions.iter());
    within(
        "groups: before",
        groups.clone().map(|group_change| group_change.before),
        before,
    )?;
    within("groups: after", groups.map(|group| group.after), after)?;
    within(
        "functions: before",
        functions.clone().map(|difference| difference.before),
        before,
    )?;
    within(
        "functions: after",
        functions.map(|difference| difference.after),
        after,
    )?;
    file.functions.iter().try_for_each(change)
}

fn change(change: &Change) -> Checked {
    if change.after.cast_signed() - change.before.cast_signed() == change.change {
        Ok(())
    } else {
        wrong(
            "functions.change",
            &format!("is {}, not after minus before", change.change),
        )
    }
}

fn within(place: &str, mut numbers: impl Iterator<Item = u64>, most: u64) -> Checked {
    match numbers
        .try_fold(0u64, u64::checked_add)
        .filter(|sum| *sum <= most)
    {
        Some(_) => Ok(()),
        None => wrong(place, &format!("add up to more than {most}")),
    }
}

fn call(place: &str, node: &Call, depth: usize) -> Checked {
    if depth > DEEPEST {
        return wrong(place, &format!("is more than {DEEPEST} calls deep"));
    }
    let totals = node.children.iter().map(|child| child.total);
    if totals
        .chain([node.self_instructions])
        .try_fold(0u64, u64::checked_add)
        != Some(node.total)
    {
        let text = format!(
            "total {} of '{}' is not the sum of 'own' and the totals of its children",
            node.total, node.name
        );
        return wrong(place, &text);
    }
    node.children
        .iter()
        .try_for_each(|child| call(place, child, depth + 1))
}

fn calls(call: &Call) -> Option<u64> {
    call.children
        .iter()
        .try_fold(call.calls, |sum, child| sum.checked_add(calls(child)?))
}
