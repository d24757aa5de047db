//! The call tree: each function below its caller, with small ones summed.

use crate::numbers::thousands;
use document::Branch;
use model::explained::Call;
use model::prose::counted;

/// Larger subtrees are open at first.
const LARGE: f64 = 0.05;

pub const TITLES: [&str; 2] = ["total", "own"];

/// Subtrees below the share `least` are summed.
pub fn branches(root: &Call, least: f64) -> Vec<Branch> {
    below(
        root,
        &Shares {
            least: least * root.total as f64,
            large: LARGE * root.total as f64,
        },
    )
}

struct Shares {
    least: f64,
    large: f64,
}

fn below(call: &Call, shares: &Shares) -> Vec<Branch> {
    let (shown, small): (Vec<&Call>, Vec<&Call>) = call
        .children
        .iter()
        .partition(|child| child.total as f64 >= shares.least);
    let mut branches: Vec<Branch> = shown
        .into_iter()
        .map(|child| branch(child, shares))
        .collect();
    if !small.is_empty() {
        let total: u64 = small.iter().map(|child| child.total).sum();
        let calls: u64 = small.iter().map(|child| child.calls).sum();
        let name = format!("... {}", counted(calls, "small call"));
        branches.push(Branch {
            name,
            numbers: vec![thousands(total as f64), String::new()],
            ..Branch::default()
        });
    }
    branches
}

fn branch(call: &Call, shares: &Shares) -> Branch {
    Branch {
        name: call.name.clone(),
        times: if call.calls > 1 {
            format!(" x{}", thousands(call.calls as f64))
        } else {
            String::new()
        },
        numbers: vec![thousands(call.total as f64), thousands(call.own as f64)],
        is_large: call.total as f64 >= shares.large,
        below: below(call, shares),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use document::write::text::tree_lines;
    use model::explained::Group;
    use model::fixtures;

    fn call(name: &str, calls: u64, own: u64, children: Vec<Call>) -> Call {
        Call {
            calls,
            ..fixtures::call(name, Group::Work, own, children)
        }
    }

    #[test]
    fn small_subtrees_are_summed() {
        let small = vec![
            call("tiny", 1, 1, vec![]),
            call("memset", 1, 1500, vec![]),
            call("slight", 2, 3, vec![]),
        ];
        let root = call(
            "",
            0,
            0,
            vec![call(
                "run",
                1,
                10,
                vec![call("__x64_sys_newfstat", 2, 20, small)],
            )],
        );
        let expected = [
            "   total     own  name",
            "   1,534      10  run",
            "   1,524      20    __x64_sys_newfstat x2",
            "   1,500   1,500      memset",
            "       4              ... 3 small calls",
        ];
        assert_eq!(
            tree_lines(&TITLES, &branches(&root, 0.01), Some(80)),
            expected
        );
        assert_eq!(tree_lines(&TITLES, &branches(&root, 0.0), None).len(), 6);
    }
}
