//! Sums calls by process name, call and class. Names are numbers meanwhile, so that counting a call does not allocate.

use super::objects::Objects;
use super::tree::Inside;
use crate::lineage::{self, Marks, Node};
use crate::ptrace::descriptors::leaves_alone;
use crate::sections;
use model::syscall_names::{bare_name, errno};
use model::{
    CallCount, Class, DescriptorKind, Drives, ProcessGroup, Profile, Selector, WaitCount, drives,
    power_below, selector, summed, syscall_names,
};
use std::collections::{BTreeMap, HashMap};
use sys::syscall_stop::Call;

/// Sections with longer names are not counted, as in the eBPF programs, and neither are more deeply nested ones.
const LONGEST_NAME: usize = 511;
const DEEPEST: usize = 256;
/// Calls that take so many times as long as a null call with its stops are timed. On a busy machine, stops take several times as long.
const LONG: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub process: usize,
    pub call: usize,
    pub descriptor: Option<DescriptorKind>,
    /// Another quantity that drives the cost: bytes, names, a number of descriptors.
    pub measure: Option<u64>,
    pub selected: Option<u32>,
}

#[derive(Clone, Copy)]
pub struct Took {
    pub blocked_ns: u64,
    /// CPU time, with that of the stops; `None` if the call did not return.
    pub cpu_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Returned(i64),
    Failed(i32),
    Unfinished,
    /// The tracer does not see the end.
    Unseen,
}

impl Outcome {
    pub fn count(self, errors: &mut BTreeMap<String, u64>) {
        if let Outcome::Failed(number) = self {
            *errors.entry(errno::name(number)).or_default() += 1;
        }
    }
}

pub struct Known {
    pub name: String,
    pub drives: Option<(Drives, u8)>,
    pub selector: Option<&'static Selector>,
    pub leaves_descriptors: bool,
}

#[derive(Default)]
pub struct Tally {
    pub calls: Vec<Known>,
    by_number: HashMap<(u32, u64, u32), usize>,
    nodes: Vec<Node>,
    by_name: HashMap<(Option<u32>, String, bool), usize>,
    /// Marks of sections that were not open, and of those that are not counted.
    stray_ends: u64,
    lost_begins: u64,
    sums: HashMap<Key, CallCount>,
    /// CPU time between the stops of a null call; `None` if times on a CPU are not wanted.
    pub within_ns: Option<u64>,
    pub objects: Objects,
    /// CPU time of ended processes, with that of their stops.
    cpu_ns: HashMap<usize, u64>,
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
        if let Some(from) = from
            .filter(|from| self.nodes[*from].name == name && self.nodes[*from].section.is_none())
        {
            return from;
        }
        self.node(from, name, None)
    }

    fn node(&mut self, from: Option<usize>, name: &str, section: Option<Marks>) -> usize {
        let from = from.map(|from| from as u32);
        // A section and a process may have the same name below the same node.
        let key = (from, name.to_string(), section.is_some());
        *self.by_name.entry(key).or_insert_with_key(|(_, name, _)| {
            self.nodes.push(Node {
                name: name.clone(),
                from,
                section,
                ..Node::default()
            });
            self.nodes.len() - 1
        })
    }

    /// The section that processes of the node `from` begin; that node, if the section is not counted.
    pub fn begin(&mut self, from: usize, name: &[u8]) -> usize {
        let depth = self
            .outwards(from)
            .filter(|at| self.nodes[*at].section.is_some())
            .count();
        if depth >= DEEPEST || name.len() > LONGEST_NAME {
            self.lost_begins += 1;
            return from;
        }
        let name = String::from_utf8_lossy(name);
        let section = self.node(Some(from), &name, Some(Marks::default()));
        self.marks(section).begun += 1;
        section
    }

    /// Ends the innermost section that the path names around the node `from`, and returns it and what it was begun in; those within it
    /// were not ended.
    pub fn end(&mut self, from: usize, path: &[u8]) -> Option<(usize, usize)> {
        // The innermost open section of that name: an end mark may have skipped those within.
        let ended = self.outwards(from).find_map(|at| {
            let node = &self.nodes[at];
            node.section.as_ref()?;
            Some((at, sections::iterations(path, &node.name)?))
        });
        let Some((at, iterations)) = ended else {
            self.stray_ends += 1;
            return None;
        };
        let marks = self.marks(at);
        marks.ended += 1;
        marks.iterations = marks.iterations.saturating_add(iterations);
        Some((at, self.nodes[at].from? as usize))
    }

    pub fn starts(&mut self, from: usize) {
        let section = self
            .outwards(from)
            .find(|at| self.nodes[*at].section.is_some());
        if let Some(section) = section {
            self.marks(section).processes += 1;
        }
    }

    fn marks(&mut self, section: usize) -> &mut Marks {
        self.nodes[section].section.get_or_insert_default()
    }

    fn outwards(&self, from: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(from), |at| {
            self.nodes[*at].from.map(|from| from as usize)
        })
    }

    /// The name of the processes that are in a node, which may be a section.
    fn name(&self, node: usize) -> &str {
        let process = self
            .outwards(node)
            .find(|at| self.nodes[*at].section.is_none());
        &self.nodes[process.unwrap_or(node)].name
    }

    /// Counts a process that leaves this name.
    pub fn has_run(&mut self, process: usize) {
        self.nodes[process].processes += 1;
    }

    /// Adds the CPU time of a process that ended with this name.
    pub fn ran(&mut self, process: usize, cpu_ns: u64) {
        let ran_ns = self.cpu_ns.entry(process).or_default();
        *ran_ns = ran_ns.saturating_add(cpu_ns);
    }

    /// The process has this name from then on.
    pub fn executed(&mut self, process: usize) {
        self.nodes[process].programs += 1;
    }

    pub fn programs(&self) -> u64 {
        self.nodes.iter().map(|node| node.programs).sum()
    }

    /// Minor and major ones.
    pub fn faulted(&mut self, node: usize, faults: [u64; 2]) {
        let sums = &mut self.nodes[node].faults;
        *sums = [sums[0] + faults[0], sums[1] + faults[1]];
    }

    /// `running` are the nodes of processes that have not ended.
    pub fn fill_tree(&self, running: impl Iterator<Item = usize>, into: &mut Profile) {
        let mut nodes = self.nodes.clone();
        running.for_each(|process| nodes[process].processes += 1);
        for (key, sum) in &self.sums {
            nodes[key.process].calls += sum.calls;
        }
        let nodes = (0..).zip(nodes).collect();
        into.tree = lineage::paths(&nodes);
        let marks = [self.stray_ends, self.lost_begins];
        sections::fill(&nodes, self.counts(), marks, into);
    }

    fn counts(&self) -> impl Iterator<Item = (u32, CallCount)> {
        self.sums.iter().map(|(key, sum)| {
            let known = &self.calls[key.call];
            let count = CallCount {
                call: known.name.clone(),
                class: known.class(key),
                ..self.without_stops(sum.clone())
            };
            (key.process as u32, count)
        })
    }

    /// Calls that are not much longer than their stops have no time on a CPU.
    fn without_stops(&self, count: CallCount) -> CallCount {
        let Some(within_ns) = self.within_ns else {
            return CallCount {
                on_cpu_ns: None,
                ..count
            };
        };
        let stopped_ns = count.calls.saturating_mul(within_ns);
        let ran_ns = count.on_cpu_ns.unwrap_or(0);
        if ran_ns < stopped_ns.saturating_mul(LONG) {
            return CallCount {
                on_cpu_ns: Some(0),
                untimed: count.calls,
                ..count
            };
        }
        CallCount {
            on_cpu_ns: Some(ran_ns - stopped_ns),
            ..count
        }
    }

    /// The position in `calls` of a call through the gate of `architecture` in a program for `native`.
    pub fn call(&mut self, architecture: u32, number: u64, native: u32) -> usize {
        let calls = &mut self.calls;
        *self
            .by_number
            .entry((architecture, number, native))
            .or_insert_with(|| {
                let name = syscall_names::name(architecture, number, native);
                let plain = bare_name(&name);
                calls.push(Known {
                    drives: drives(plain),
                    selector: selector(plain),
                    leaves_descriptors: leaves_alone(plain),
                    name: name.clone(),
                });
                calls.len() - 1
            })
    }

    /// The position in `calls`, and whether it is the call of that number in which tracing interrupted the thread.
    pub fn resumed(&mut self, call: &Call, native: u32, interrupted: Option<u64>) -> (usize, bool) {
        let number = self.call(call.architecture, call.number, native);
        let restarts = self.calls[number].name.starts_with("restart_syscall");
        match interrupted {
            Some(before) if restarts => (self.call(call.architecture, before, native), true),
            _ => (number, interrupted == Some(call.number)),
        }
    }

    /// Counts a call that has ended, or that nothing more will be heard of.
    pub fn add(&mut self, key: Key, outcome: Outcome, took: Option<Took>) {
        let known = &self.calls[key.call];
        let moves = matches!(known.drives, Some((Drives::Bytes, _)));
        let bytes = match outcome {
            Outcome::Returned(result) if moves => Some(result.max(0).cast_unsigned()),
            Outcome::Failed(_) if moves => Some(0),
            _ => None,
        };
        let key = Key {
            // Calls that move bytes have their class only now: it depends on the result.
            measure: bytes.map(power_below).or(key.measure),
            ..key
        };
        let sum = self.sums.entry(key).or_default();
        outcome.count(&mut sum.errors);
        sum.add(&CallCount {
            calls: 1,
            unfinished: u64::from(outcome == Outcome::Unfinished),
            blocked_ns: took.map(|took| took.blocked_ns),
            on_cpu_ns: took.and_then(|took| took.cpu_ns),
            bytes,
            ..CallCount::default()
        });
    }

    /// `by` is the process at the other end of the object that the call was made `on`.
    pub fn waited(&mut self, key: Key, on: Option<String>, by: Option<usize>, blocked_ns: u64) {
        let (calls, ns) = self
            .waits
            .entry((key.process, key.call, key.descriptor, on, by))
            .or_default();
        *calls += 1;
        *ns = ns.saturating_add(blocked_ns);
    }

    /// A call that has not returned.
    pub fn open(&self, inside: &Inside, on: Option<String>, by: Option<usize>) -> WaitCount {
        let call = &self.calls[inside.key.call].name;
        let [address, operation, value, ..] = inside.arguments;
        let is_futex = bare_name(call).starts_with("futex");
        WaitCount {
            on: match is_futex {
                true => Some(format!("futex {address:#x}")),
                false => on,
            },
            lock: is_futex && is_lock(operation as i32, value as u32),
            process: self.name(inside.key.process).to_string(),
            call: call.clone(),
            descriptor: inside.key.descriptor,
            by: by.map(|process| self.name(process).to_string()),
            ..WaitCount::default()
        }
    }

    /// The longest first.
    pub fn waits(&self) -> Vec<WaitCount> {
        let mut rows: Vec<WaitCount> = self
            .waits
            .iter()
            .map(
                |((process, call, descriptor, on, by), (calls, ns))| WaitCount {
                    process: self.name(*process).to_string(),
                    call: self.calls[*call].name.clone(),
                    descriptor: *descriptor,
                    on: on.clone(),
                    by: by.map(|process| self.name(process).to_string()),
                    calls: *calls,
                    blocked_ns: *ns,
                    ..WaitCount::default()
                },
            )
            .collect();
        rows.sort_by(|a, b| {
            b.blocked_ns
                .cmp(&a.blocked_ns)
                .then_with(|| (&a.call, &a.on).cmp(&(&b.call, &b.on)))
        });
        rows
    }

    /// The calls by process name and class, with the CPU time of processes that ended with that name.
    pub fn groups(&self) -> Vec<ProcessGroup> {
        let mut groups: BTreeMap<&str, ProcessGroup> = BTreeMap::new();
        for (node, count) in self.counts() {
            let name = self.name(node as usize);
            groups.entry(name).or_default().calls.push(count);
        }
        for (node, ran_ns) in &self.cpu_ns {
            if let Some(group) = groups.get_mut(self.name(*node)) {
                let sum_ns = group.cpu_ns.get_or_insert_default();
                *sum_ns = sum_ns.saturating_add(*ran_ns);
            }
        }
        groups
            .into_iter()
            .map(|(name, group)| ProcessGroup {
                name: name.to_string(),
                calls: summed(&group.calls),
                ..group
            })
            .collect()
    }

    pub fn fill_objects(&self, into: &mut Profile) {
        self.objects.fill(
            |node| self.name(node),
            |call| self.calls[call].name.as_str(),
            into,
        );
    }

    pub fn has_seen(&self, beginning: &str) -> bool {
        self.calls
            .iter()
            .any(|known| known.name.starts_with(beginning))
    }
}

/// As in bpf/waits.h: by the operation, and what the locks of C libraries and Rust have in them while somebody waits.
fn is_lock(operation: i32, value: u32) -> bool {
    const LOCKS_2: i32 = 13;
    match operation & libc::FUTEX_CMD_MASK {
        libc::FUTEX_LOCK_PI | LOCKS_2 => true,
        libc::FUTEX_WAIT => value == 2 || has_owner(value),
        libc::FUTEX_WAIT_BITSET => value == 2 || value == 3 || has_owner(value),
        _ => false,
    }
}

/// FUTEX_WAITERS with a thread's number, at most PID_MAX_LIMIT.
fn has_owner(value: u32) -> bool {
    value & 0x8000_0000 > 0 && value & 0x3fff_ffff <= 1 << 22
}

impl Known {
    /// The value of the argument that chooses the call's operation, e.g. FUTEX_WAKE; `None` if it has only one.
    pub fn selected(&self, arguments: &[u64; 6]) -> Option<u32> {
        let selector = self.selector?;
        Some(arguments[usize::from(selector.argument)] as u32 & selector.mask())
    }

    /// The position of the argument that is a path.
    pub fn path(&self) -> Option<u8> {
        match self.drives {
            Some((Drives::Path, place)) => Some(place),
            _ => None,
        }
    }

    fn class(&self, key: &Key) -> Class {
        let class = self
            .drives
            .map(|(drives, _)| drives.class(key.descriptor, key.measure))
            .unwrap_or_default();
        let operation = self
            .selector
            .zip(key.selected)
            .and_then(|(selector, value)| selector.operation(value));
        Class { operation, ..class }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_have_times_without_their_stops() {
        fn timed(within_ns: Option<u64>, ran_ns: u64) -> (Option<u64>, u64) {
            let tally = Tally {
                within_ns,
                ..Tally::default()
            };
            let count = tally.without_stops(CallCount {
                calls: 10,
                on_cpu_ns: Some(ran_ns),
                ..CallCount::default()
            });
            (count.on_cpu_ns, count.untimed)
        }

        assert_eq!(timed(Some(1000), 500_000), (Some(490_000), 0));
        assert_eq!(timed(Some(1000), 50_000), (Some(0), 10));
        assert_eq!(timed(None, 500_000), (None, 0));
    }
}
