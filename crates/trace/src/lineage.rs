//! Who started whom: from nodes that know what they were started from to paths of names. Pure; the tracers call it.

use model::ProcessPath;
use std::collections::BTreeMap;

/// Processes of one name that were started from the same node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub name: String,
    /// The node that started it; of a process that executed another program, its own before.
    pub from: Option<u32>,
    pub processes: u64,
    pub calls: u64,
}

const LONGEST: usize = 32;

/// One row per path of names, parents first. This program, before the command's execve, is no part of paths: it has no counts.
pub fn paths(nodes: &BTreeMap<u32, Node>) -> Vec<ProcessPath> {
    let counts = |node: &&Node| node.processes + node.calls > 0;
    let mut rows: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
    for node in nodes.values().filter(counts) {
        let ancestors =
            std::iter::successors(Some(node), |node| nodes.get(&node.from?)).take(LONGEST);
        let mut names: Vec<String> = ancestors
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(nodes: &[(u32, &str, Option<u32>, u64, u64)]) -> Vec<(String, u64, u64)> {
        let node = |(number, name, from, processes, calls): &(u32, &str, _, _, _)| {
            (
                *number,
                Node {
                    name: name.to_string(),
                    from: *from,
                    processes: *processes,
                    calls: *calls,
                },
            )
        };
        let paths = paths(&nodes.iter().map(node).collect());
        paths
            .into_iter()
            .map(|path| (path.names.join(" > "), path.processes, path.calls))
            .collect()
    }

    #[test]
    fn a_shim_and_its_helpers_are_paths_of_names() {
        let rows = found(&[
            (1, "syscost", None, 0, 0),
            (2, "python3", Some(1), 1, 90),
            (3, "pyenv", Some(2), 1, 300),
            (4, "sed", Some(3), 2, 80),
            // Its own node, as another shell had started the first one.
            (5, "sed", Some(3), 1, 40),
        ]);
        let row = |path: &str, processes, calls| (path.to_string(), processes, calls);
        let expected = [
            row("python3", 1, 90),
            row("python3 > pyenv", 1, 300),
            row("python3 > pyenv > sed", 3, 120),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn nodes_in_a_circle_or_of_nobody_end_somewhere() {
        let rows = found(&[
            (1, "a", Some(2), 1, 1),
            (2, "b", Some(1), 1, 1),
            (3, "c", Some(9), 1, 1),
        ]);
        assert_eq!(
            (
                rows.len(),
                rows.iter().map(|(_, processes, _)| processes).sum::<u64>()
            ),
            (3, 3)
        );
    }
}
