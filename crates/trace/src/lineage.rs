//! Who started whom: from nodes that know who started them to paths of names. Pure; the tracers call it.

use model::ProcessPath;
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub struct Node {
    pub name: String,
    /// The node that started it; for a process that executed another program, its node before that.
    pub from: Option<u32>,
    pub processes: u64,
    pub calls: u64,
    pub programs: u64,
    pub faults: [u64; 2],
    pub section: Option<Marks>,
}

#[derive(Clone, Default)]
pub struct Marks {
    pub begun: u64,
    pub ended: u64,
    pub iterations: u64,
    /// Processes started in it, but not in a section within it.
    pub processes: u64,
    /// From begin to end marks; `None` if that was not measured, or if a mark is missing.
    pub elapsed_ns: Option<u64>,
}

const LONGEST: usize = 32;

/// One row per path of names, parents first. This program, before the command's execve, is not part of paths: it has no counts.
pub fn paths(nodes: &BTreeMap<u32, Node>) -> Vec<ProcessPath> {
    fn counts(node: &&Node) -> bool {
        node.processes + node.calls > 0
    }

    let nodes = without_sections(nodes);
    let mut rows: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
    for (number, node) in nodes.iter().filter(|(_, node)| counts(node)) {
        let ancestors = outwards(&nodes, *number).take(LONGEST);
        let mut names: Vec<String> = ancestors
            .filter_map(|number| nodes.get(&number))
            // A name that a process had only between two execves is left out.
            .filter(counts)
            .map(|node| node.name.clone())
            .collect();
        names.reverse();
        let (processes, calls) = rows.entry(names).or_default();
        *processes += node.processes;
        *calls += node.calls;
    }
    rows.into_iter()
        .map(|(names, (processes, calls))| ProcessPath {
            names,
            processes,
            calls,
        })
        .collect()
}

/// Adds the counts of sections to the processes that began them.
fn without_sections(nodes: &BTreeMap<u32, Node>) -> BTreeMap<u32, Node> {
    fn process(nodes: &BTreeMap<u32, Node>, number: u32) -> Option<u32> {
        outwards(nodes, number)
            .find(|number| nodes.get(number).is_none_or(|node| node.section.is_none()))
    }

    let mut processes: BTreeMap<u32, Node> = BTreeMap::new();
    for (number, node) in nodes {
        let Some(owner) = process(nodes, *number) else {
            continue;
        };
        let sum = processes.entry(owner).or_insert_with(|| Node {
            processes: 0,
            calls: 0,
            from: nodes
                .get(&owner)
                .and_then(|node| process(nodes, node.from?)),
            ..nodes.get(&owner).unwrap_or(node).clone()
        });
        sum.processes += node.processes;
        sum.calls += node.calls;
    }
    processes
}

/// The one that started a node follows it. Numbers are given out in order: whoever starts another has a lower one.
pub fn outwards(nodes: &BTreeMap<u32, Node>, from: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(from), |number| {
        // In a circle, which only lost events could make, this ends.
        nodes.get(number)?.from.filter(|from| from < number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_in_a_circle_or_of_nobody_end_somewhere() {
        fn node(from: u32) -> Node {
            Node {
                from: Some(from),
                processes: 1,
                ..Node::default()
            }
        }

        let paths = paths(&BTreeMap::from([(1, node(2)), (2, node(1)), (3, node(9))]));
        let lengths: Vec<usize> = paths.iter().map(|path| path.names.len()).collect();
        assert_eq!(lengths, [1, 2]);
        assert_eq!(paths[0].processes, 2);
    }
}
