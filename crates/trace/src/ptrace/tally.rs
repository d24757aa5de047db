//! Sums calls by process name, call and class. Names are numbers meanwhile, so that counting a call does not allocate.

use crate::lineage::{self, Node};
use crate::ptrace::descriptors::leaves_alone;
use model::syscall_names;
use model::syscall_names::errno;
use model::{
    CallCount, Class, DescriptorKind, Drives, ProcessGroup, ProcessPath, Selector, WaitCount,
    drives, power_below, selector, summed,
};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub process: usize,
    pub call: usize,
    pub descriptor: Option<DescriptorKind>,
    /// What else drives the cost: bytes, names, a number of descriptors.
    pub measure: Option<u64>,
    /// The selector's argument, without other bits.
    pub selected: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Returned(i64),
    Failed(i32),
    Unfinished,
    /// The tracer does not see the end.
    Unseen,
}

pub struct Known {
    pub name: String,
    pub drives: Option<Drives>,
    pub selector: Option<&'static Selector>,
    pub leaves_descriptors: bool,
}

#[derive(Default)]
pub struct Tally {
    pub calls: Vec<Known>,
    by_number: HashMap<(u32, u64, u32), usize>,
    processes: Vec<Node>,
    sums: HashMap<Key, CallCount>,
    /// Calls and blocked time, by process, call, kind of descriptor, what the call was made on, and the process at the other end.
    waits: HashMap<WaitKey, (u64, u64)>,
}

type WaitKey = (
    usize,
    usize,
    Option<DescriptorKind>,
    Option<String>,
    Option<usize>,
);

impl Tally {
    /// The number of a process name: `from` itself, if that has this name, or one that it started.
    pub fn process(&mut self, from: Option<usize>, name: &str) -> usize {
        if let Some(from) = from.filter(|from| self.processes[*from].name == name) {
            return from;
        }
        let from = from.map(|from| from as u32);
        let same = |known: &Node| known.name == name && known.from == from;
        self.processes.iter().position(same).unwrap_or_else(|| {
            self.processes.push(Node {
                name: name.to_string(),
                from,
                ..Node::default()
            });
            self.processes.len() - 1
        })
    }

    /// A process that had this name leaves it.
    pub fn has_run(&mut self, process: usize) {
        self.processes[process].processes += 1;
    }

    /// Who started whom; `running` are the names of processes that have not ended.
    pub fn tree(&self, running: impl Iterator<Item = usize>) -> Vec<ProcessPath> {
        let mut nodes = self.processes.clone();
        running.for_each(|process| nodes[process].processes += 1);
        for (key, sum) in &self.sums {
            nodes[key.process].calls += sum.calls;
        }
        lineage::paths(&(0..).zip(nodes).collect())
    }

    /// The position in `calls` of a call through the gate of `architecture` in a program for `own`.
    pub fn call(&mut self, architecture: u32, number: u64, own: u32) -> usize {
        let calls = &mut self.calls;
        *self
            .by_number
            .entry((architecture, number, own))
            .or_insert_with(|| {
                let name = syscall_names::name(architecture, number, own);
                let plain = syscall_names::bare_name(&name);
                calls.push(Known {
                    drives: drives(plain),
                    selector: selector(plain),
                    leaves_descriptors: leaves_alone(plain),
                    name: name.clone(),
                });
                calls.len() - 1
            })
    }

    pub fn add(&mut self, key: Key, outcome: Outcome, blocked_ns: Option<u64>) {
        let known = &self.calls[key.call];
        let moves = matches!(known.drives, Some(Drives::Bytes { .. }));
        let bytes = match outcome {
            Outcome::Returned(result) if moves => Some(result.max(0).cast_unsigned()),
            Outcome::Failed(_) if moves => Some(0),
            _ => None,
        };
        let key = Key {
            measure: bytes.map(power_below).or(key.measure),
            ..key
        };
        let sum = self.sums.entry(key).or_default();
        if let Outcome::Failed(number) = outcome {
            *sum.errors.entry(errno::name(number)).or_default() += 1;
        }
        sum.add(&CallCount {
            calls: 1,
            unfinished: u64::from(outcome == Outcome::Unfinished),
            blocked_ns,
            bytes,
            ..CallCount::default()
        });
    }

    /// `by` is the process at the other end of what the call was made `on`.
    pub fn waited(&mut self, key: Key, on: Option<String>, by: Option<usize>, blocked_ns: u64) {
        let (calls, ns) = self
            .waits
            .entry((key.process, key.call, key.descriptor, on, by))
            .or_default();
        *calls += 1;
        *ns = ns.saturating_add(blocked_ns);
    }

    pub fn waits(&self) -> Vec<WaitCount> {
        let row = |((process, call, descriptor, on, by), (calls, ns)): (&WaitKey, &(u64, u64))| {
            let name = |process: usize| self.processes[process].name.clone();
            WaitCount {
                process: name(*process),
                call: self.calls[*call].name.clone(),
                descriptor: *descriptor,
                on: on.clone(),
                by: by.map(name),
                calls: *calls,
                blocked_ns: *ns,
                stalled_ns: None,
            }
        };
        let mut rows: Vec<WaitCount> = self.waits.iter().map(row).collect();
        rows.sort_by(|a, b| {
            b.blocked_ns
                .cmp(&a.blocked_ns)
                .then_with(|| (&a.call, &a.on).cmp(&(&b.call, &b.on)))
        });
        rows
    }

    pub fn groups(&self) -> Vec<ProcessGroup> {
        let mut groups: BTreeMap<&str, Vec<CallCount>> = BTreeMap::new();
        for (key, sum) in &self.sums {
            let known = &self.calls[key.call];
            let calls = groups.entry(&self.processes[key.process].name).or_default();
            calls.push(CallCount {
                call: known.name.clone(),
                class: known.class(key),
                ..sum.clone()
            });
        }
        let group = |(name, calls): (&str, Vec<CallCount>)| ProcessGroup {
            name: name.to_string(),
            calls: summed(&calls),
            ..ProcessGroup::default()
        };
        groups.into_iter().map(group).collect()
    }

    pub fn has_seen(&self, beginning: &str) -> bool {
        self.calls
            .iter()
            .any(|known| known.name.starts_with(beginning))
    }
}

impl Known {
    fn class(&self, key: &Key) -> Class {
        let class = self
            .drives
            .map(|drives| drives.class(key.descriptor, key.measure))
            .unwrap_or_default();
        let operation = self
            .selector
            .zip(key.selected)
            .and_then(|(selector, value)| selector.operation(value));
        Class { operation, ..class }
    }
}
