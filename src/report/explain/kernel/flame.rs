//! The call tree as folded lines and as a flame graph.

use crate::clean::line as cleaned;
use crate::model::explained::{Call, KernelExplanation, KernelVersus};
use crate::report::figure::tree::Tree;
use crate::report::figure::{Chart, Figure, Flame, Frame, FrameKind};
use crate::report::numbers::thousands;

/// One line per path: `operation;outermost;innermost OWN`, in instructions.
pub fn folded(explanation: &KernelExplanation) -> Vec<String> {
    let mut lines = Vec::new();
    fold(&explanation.tree, "", &mut lines);
    lines
}

fn fold(call: &Call, above: &str, lines: &mut Vec<String>) {
    let separator = if above.is_empty() { "" } else { ";" };
    // A semicolon in a name would be read as a frame's end.
    let path = format!("{above}{separator}{}", cleaned(&call.name).replace(';', ":"));
    if call.own > 0 {
        lines.push(format!("{path} {}", call.own));
    }
    call.children.iter().for_each(|child| fold(child, &path, lines));
}

/// The flame graph of one iteration, functions in the order of their first call.
pub fn kernel_flame(explanation: &KernelExplanation) -> Figure {
    let whole = explanation.tree.total.max(1);
    let mut frames = Vec::new();
    add(&explanation.tree, (0, 0.0), whole, &mut frames);
    let (operation, environment) = (&explanation.operation, &explanation.environment);
    let description = format!(
        "Flame graph of one iteration of {operation}: below each function those that it calls, in the order of their first \
         call; widths are shares of {} instructions, in {} ({environment}).",
        thousands(whole as f64),
        explanation.kernel
    );
    let title = format!("{operation} in {environment}: {} instructions", thousands(whole as f64));
    Figure { title, description, chart: Chart::Flame(Flame { frames }) }
}

/// The flame graph of what changed from one kernel to the other.
pub fn kernel_difference(versus: &KernelVersus) -> Figure {
    let sides = [&versus.before, &versus.after];
    let mut tree = Tree::default();
    sides.into_iter().enumerate().for_each(|(side, kernel)| grow(&mut tree, &kernel.tree, side));
    let [before, after] =
        sides.map(|kernel| format!("{} in {}", thousands(kernel.tree.total as f64), kernel.environment));
    let description = format!(
        "Flame graph of one iteration of {} in two kernels: widths are the larger number of instructions of both, {before} \
         before and {after} after in all; functions with more are red, with fewer blue.",
        versus.operation
    );
    let title = format!("{}: what changed from {before} to {after} instructions", versus.operation);
    let value = |instructions: f64| format!("{} instructions", thousands(instructions));
    Figure { title, description, chart: Chart::Flame(tree.difference(&value)) }
}

fn grow<'a>(tree: &mut Tree<'a>, call: &'a Call, side: usize) {
    tree.own[side] += call.own as f64;
    call.children.iter().for_each(|child| grow(tree.child((FrameKind::Function, &child.name)), child, side));
}

/// Frames narrower than this share could not be seen.
const NARROWEST: f64 = 0.0005;

fn add(call: &Call, (depth, left): (usize, f64), whole: u64, frames: &mut Vec<Frame>) {
    let share = call.total as f64 / whole as f64;
    if share < NARROWEST {
        return;
    }
    let times = if call.calls > 1 { format!(" in {} calls", call.calls) } else { String::new() };
    let words = format!(
        "{}: {} instructions{times}, {:.1}%; {} of its own; {}",
        call.name,
        thousands(call.total as f64),
        100.0 * share,
        thousands(call.own as f64),
        call.group.title()
    );
    let kind = if depth == 0 { FrameKind::Process } else { FrameKind::Function };
    frames.push(Frame { name: call.name.clone(), words, kind, change: None, depth, left, share });
    let mut left = left;
    for child in &call.children {
        add(child, (depth + 1, left), whole, frames);
        left += child.total as f64 / whole as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::explained::Group;
    use crate::model::fixtures;

    fn call(name: &str, own: u64, children: Vec<Call>) -> Call {
        fixtures::call(name, Group::Work, own, children)
    }

    #[test]
    fn own_instructions_by_path() {
        let root = call("op", 0, vec![call("a;b", 3, vec![call("c", 1, vec![])])]);
        let mut lines = Vec::new();
        fold(&root, "", &mut lines);
        assert_eq!(lines, ["op;a:b 3", "op;a:b;c 1"]);
    }

    #[test]
    fn children_stand_side_by_side_below_their_caller() {
        let root = call("op", 0, vec![call("a", 1, vec![]), call("b", 3, vec![call("c", 2, vec![])])]);
        let mut frames = Vec::new();
        add(&root, (0, 0.0), root.total, &mut frames);
        let places: Vec<_> = frames.iter().map(|f| (f.name.as_str(), f.depth, f.left, f.share)).collect();
        let sixth = 1.0 / 6.0;
        assert_eq!(places[..3], [("op", 0, 0.0, 1.0), ("a", 1, 0.0, sixth), ("b", 1, sixth, 5.0 / 6.0)]);
        assert_eq!((places[3].0, places[3].1, places[3].2), ("c", 2, sixth));
    }
}
