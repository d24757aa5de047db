//! The call tree as folded lines and as a flame graph.

use crate::figure::tree::Tree;
use crate::figure::{Chart, Figure, FrameKind};
use crate::numbers::{counted, thousands};
use model::clean::line as cleaned;
use model::explained::{Call, KernelExplanation, KernelVersus};

/// One line per path: `operation;outermost;innermost OWN`, in instructions.
pub fn folded(explanation: &KernelExplanation) -> Vec<String> {
    let mut lines = Vec::new();
    fold(&explanation.tree, "", &mut lines);
    lines
}

fn fold(call: &Call, above: &str, lines: &mut Vec<String>) {
    let separator = if above.is_empty() { "" } else { ";" };
    // A semicolon in a name would be read as a frame's end.
    let path = format!(
        "{above}{separator}{}",
        cleaned(&call.name).replace(';', ":")
    );
    if call.self_instructions > 0 {
        lines.push(format!("{path} {}", call.self_instructions));
    }
    call.children
        .iter()
        .for_each(|child| fold(child, &path, lines));
}

/// The call tree as a flame graph, in instructions.
pub fn kernel_flame(explanation: &KernelExplanation) -> Figure {
    let mut tree = Tree::default();
    grow(
        tree.child((FrameKind::Process, &explanation.tree.name)),
        &explanation.tree,
        0,
    );
    let whole = thousands(explanation.tree.total as f64);
    let (operation, environment) = (&explanation.operation, &explanation.environment);
    let description = format!(
        "Flame graph of one iteration of {operation}: below each function are those that it calls; widths are shares of {whole} \
         instructions, in {} ({environment}).",
        explanation.kernel
    );
    Figure {
        title: format!("{operation} in {environment}: {whole} instructions"),
        description,
        chart: Chart::Flame(tree.flame(&value)),
    }
}

fn value(instructions: f64) -> String {
    counted(instructions as u64, "instruction")
}

/// Both call trees in one flame graph, coloured by the change.
pub fn kernel_difference(versus: &KernelVersus) -> Figure {
    let sides = [&versus.before, &versus.after];
    let mut tree = Tree::default();
    sides
        .into_iter()
        .enumerate()
        .for_each(|(side, kernel)| grow(&mut tree, &kernel.tree, side));
    let [before, after] = sides.map(|kernel| {
        format!(
            "{} in {}",
            thousands(kernel.tree.total as f64),
            kernel.environment
        )
    });
    let description = format!(
        "Flame graph of one iteration of {} in two kernels: widths are the larger number of instructions of both, {before} \
         before and {after} after in all; functions with more are red, those with fewer blue.",
        versus.operation
    );
    Figure {
        title: format!(
            "{}: changes from {before} to {after} instructions",
            versus.operation
        ),
        description,
        chart: Chart::Flame(tree.difference(&value)),
    }
}

fn grow<'a>(tree: &mut Tree<'a>, call: &'a Call, side: usize) {
    tree.weights[side] += call.self_instructions as f64;
    call.children
        .iter()
        .for_each(|child| grow(tree.child((FrameKind::Function, &child.name)), child, side));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::explained::Group;
    use model::fixtures;

    fn call(name: &str, instructions: u64, children: Vec<Call>) -> Call {
        fixtures::call(name, Group::Work, instructions, children)
    }

    #[test]
    fn own_instructions_by_path() {
        let root = call("op", 0, vec![call("a;b", 3, vec![call("c", 1, vec![])])]);
        let mut lines = Vec::new();
        fold(&root, "", &mut lines);
        assert_eq!(lines, ["op;a:b 3", "op;a:b;c 1"]);
    }
}
