//! Who started whom: how many processes of each name, and which programs are started in a loop.

use super::process_per_item::{is_builder, is_wrapper};
use model::ProcessPath;
use std::collections::HashMap;

pub const LOOP: u64 = 20;

#[derive(Default)]
pub struct Tree<'a> {
    pub is_known: bool,
    processes: HashMap<&'a str, u64>,
    executed: HashMap<&'a str, u64>,
    looped: HashMap<&'a str, HashMap<&'a str, u64>>,
}

type Open<'a> = (&'a ProcessPath, u64);

impl<'a> Tree<'a> {
    /// `is_known` is false if the tracer did not record who started whom.
    pub fn new(paths: &'a [ProcessPath]) -> Tree<'a> {
        let mut tree = Tree {
            is_known: !paths.is_empty(),
            ..Tree::default()
        };
        for path in paths {
            let mut names = path.names.iter().rev();
            let counts = [&mut tree.processes, &mut tree.executed];
            for (counts, name) in counts.into_iter().zip(&mut names) {
                let sum = counts.entry(name).or_default();
                *sum = sum.saturating_add(path.processes);
            }
        }
        tree.find_loops(paths);
        tree
    }

    /// Processes that had this name last.
    pub fn processes(&self, name: &str) -> u64 {
        self.processes.get(name).copied().unwrap_or(0)
    }

    pub fn executed(&self, name: &str) -> u64 {
        self.executed.get(name).copied().unwrap_or(0)
    }

    /// The programs that processes of this name start in a loop, with their processes.
    pub fn looped(&self, name: &str) -> impl Iterator<Item = (&'a str, u64)> {
        self.looped
            .get(name)
            .into_iter()
            .flatten()
            .map(|(name, processes)| (*name, *processes))
    }

    fn find_loops(&mut self, paths: &'a [ProcessPath]) {
        let mut sorted: Vec<&ProcessPath> = paths.iter().collect();
        sorted.sort_by(|a, b| a.names.cmp(&b.names));
        let mut open: Vec<Open> = Vec::new();
        for path in sorted {
            while open
                .last()
                .is_some_and(|(last, _)| !path.names.starts_with(&last.names))
            {
                self.close(&mut open);
            }
            open.push((path, 0));
        }
        while !open.is_empty() {
            self.close(&mut open);
        }
    }

    /// One that starts others itself does more than start.
    fn close(&mut self, open: &mut Vec<Open<'a>>) {
        let Some((path, below)) = open.pop() else {
            return;
        };
        if let Some((_, most)) = open.last_mut() {
            *most = path.processes.max(below).max(*most);
        }
        if below > path.processes / 2 {
            return;
        }
        if let Some((starter, name)) = starter(open, path).zip(path.names.last()) {
            let sum = self
                .looped
                .entry(starter)
                .or_default()
                .entry(name)
                .or_default();
            *sum = sum.saturating_add(path.processes);
        }
    }
}

/// `above` are its ancestors. Copies of the command, as subshells, have its name; it was started once.
fn starter<'a>(above: &[Open], path: &'a ProcessPath) -> Option<&'a str> {
    let mut above = above.iter().rev().map(|(path, _)| path).peekable();
    for length in (1..path.names.len()).rev() {
        while above
            .next_if(|ancestor| ancestor.names.len() > length)
            .is_some()
        {}
        let processes = match above.peek() {
            _ if length == 1 => 1,
            Some(ancestor) if ancestor.names.len() == length => ancestor.processes.max(1),
            _ => return None,
        };
        let name = path.names[length - 1].as_str();
        if path.processes / processes >= LOOP {
            return Some(name).filter(|name| !is_builder(name));
        }
        if !is_wrapper(name) {
            return None;
        }
    }
    None
}
