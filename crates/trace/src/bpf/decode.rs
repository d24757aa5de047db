//! The programs' counts as groups of calls. Pure.

use super::{names, totals};
use crate::lineage::{Marks, Node};
use crate::tracer::RINGS_USED;
use crate::{Detail, Grouping};
use model::prose::{counted, few};
use model::syscall_names::{bare_name, errno};
use model::{
    By, CallCount, Class, DescriptorKind, Drives, Histogram, ProcessGroup, Profile, REQUEST,
    ring_latency, ring_operation, selector, summed,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use sys::bpf::layout::{
    NUMBER_REQUEST, NUMBER_RING, NUMBER_RING_END, PROCESSES, VALUE_UNKNOWN, bucket_ns, gate, kind,
};
use sys::bpf::{Counted, Group, Key, Live, Raw, text};

const NAMELESS: &str = "(others)";
/// The error of both sums: a task is counted to its last moment, its time on a CPU to its last switch.
const ROUNDING_NS: u64 = 10_000_000;
/// Calls after which the kernel does work without further calls.
const RINGS: [&str; 2] = ["io_uring_setup", "io_uring_enter"];

pub(super) struct Decoder<'a> {
    pub raw: &'a Raw,
    detail: Detail,
    /// Numbers of groups whose processes made only 32-bit calls: these are their native ones, and carry no gate. The execve that
    /// started them was made by another program.
    compat: BTreeSet<u32>,
}

impl<'a> Decoder<'a> {
    /// Finds the groups of 32-bit programs first, by all of their calls.
    pub fn new(raw: &'a Raw, detail: Detail) -> Decoder<'a> {
        let keys = raw.calls.iter().map(|(key, _)| key);
        let mixed: BTreeSet<u32> = keys
            .clone()
            .filter(|key| key.gate == gate::NATIVE && !is_exec(key))
            .map(|key| key.group)
            .collect();
        let compat = keys.filter(|key| is_compat(key) && !mixed.contains(&key.group));
        Decoder {
            raw,
            detail,
            compat: compat.map(|key| key.group).collect(),
        }
    }

    /// The counts of each class, by number of group. Calls that have not returned count as unfinished.
    pub fn counts(&self) -> impl Iterator<Item = (u32, CallCount)> {
        all_calls(self.raw).map(|(key, counted)| {
            let count = CallCount {
                class: class(&key, &counted),
                ..self.call_count(&key, &counted)
            };
            (key.group, count)
        })
    }

    /// `paths` are those of control groups by ID.
    pub fn fill(&self, by: Grouping, paths: &BTreeMap<u64, String>, into: &mut Profile) {
        into.groups = groups(self.raw, self.counts(), by, paths);
        into.latencies = self.latencies();
        self.warn(into);
    }

    pub fn process(&self, key: &Key) -> String {
        process_name(self.raw, key.group)
    }

    /// The name of a call, with its gate if that is not the native one of the program.
    pub fn call(&self, key: &Key) -> String {
        call_name(key, self.compat.contains(&key.group))
    }

    pub fn timed(&self, ns: u64) -> Option<u64> {
        (self.detail == Detail::Times).then_some(ns)
    }

    /// Rows by object have no class.
    pub fn call_count(&self, key: &Key, counted: &Counted) -> CallCount {
        let moves = names::drives_of(key.number, key.gate) == Some(Drives::Bytes);
        let failed = if key.error != 0 {
            Some((errno::name(key.error.into()), counted.calls))
        } else {
            None
        };
        let count = CallCount {
            call: self.call(key),
            calls: counted.calls,
            unfinished: counted.unfinished,
            errors: failed.into_iter().collect(),
            bytes: moves.then_some(counted.bytes),
            ..CallCount::default()
        };
        if key.untimed > 0 {
            return CallCount {
                untimed: counted.calls,
                ..count
            };
        }
        CallCount {
            on_cpu_ns: self.timed(counted.on_cpu),
            blocked_ns: self.timed(counted.blocked),
            woken_ns: self.timed(counted.woken),
            runnable_ns: self.timed(counted.woken + counted.preempted),
            stalled_ns: self.timed(counted.stalled),
            ..count
        }
    }

    /// Histograms by call. They are not kept per process: 32-bit calls get plain names if all processes that made any do.
    fn latencies(&self) -> BTreeMap<String, Histogram> {
        let mut compat = self.raw.calls.iter().filter(|(key, _)| is_compat(key));
        // Latencies have no groups: one name serves both architectures only if all 32-bit calls are those of 32-bit programs.
        let plain = compat.all(|(key, _)| self.compat.contains(&key.group));
        let mut latencies: BTreeMap<String, Histogram> = BTreeMap::new();
        for (duration_key, calls) in &self.raw.durations {
            let key = Key {
                number: duration_key.number,
                gate: duration_key.gate as u8,
                ..Key::default()
            };
            let name = match duration_key.number {
                NUMBER_REQUEST => REQUEST.to_string(),
                NUMBER_RING..NUMBER_RING_END => {
                    ring_latency(&ring_operation(duration_key.number - NUMBER_RING))
                }
                _ => call_name(&key, plain),
            };
            let histogram = latencies.entry(name).or_default();
            histogram.add(
                histogram.bucket(bucket_ns(duration_key.bucket as usize)),
                *calls,
            );
        }
        latencies
    }

    fn warn(&self, into: &mut Profile) {
        let gate = names::COMPAT.trim_matches(['(', ')']);
        let programs = self
            .compat
            .iter()
            .map(|group| process_name(self.raw, *group));
        let programs: Vec<String> = programs.collect();
        let rings = self.raw.rings.is_empty()
            && into.groups.iter().any(|group| {
                group
                    .calls
                    .iter()
                    .any(|call| RINGS.contains(&bare_name(&call.call)))
            });
        let untimed = untimed(into);
        let with_pid: BTreeSet<bool> = into
            .groups
            .iter()
            .map(|group| group.pid.is_some())
            .collect();
        let globals = &self.raw.globals;
        let (unseen, unseen_ms) = (globals.unseen, globals.unseen_ns as f64 / 1e6);
        let all = [
            (
                !programs.is_empty(),
                format!("32-bit programs ({gate}): {}; their calls have that architecture's names", programs.join(", ")),
            ),
            (
                rings,
                RINGS_USED.into(),
            ),
            (
                !untimed.is_empty(),
                format!("calls without times, since a seccomp filter or a debugger answered them: {}", few(&untimed)),
            ),
            (
                globals.nameless > 0,
                format!("too many process names: the rest is counted under '{NAMELESS}'"),
            ),
            (
                with_pid.len() == 2,
                format!("more than {PROCESSES} processes and programs: the later ones are counted by name"),
            ),
            (
                unseen > 0,
                format!("in {}, the tracer missed when the thread returned to a CPU: up to {unseen_ms:.3} ms that count as waiting may be time on a CPU", counted(unseen, "call")),
            ),
            (
                self.raw.torn,
                "calls were counted while the counts were read: some may be missing or counted twice".into(),
            ),
        ];
        let applicable = all.into_iter().filter(|(applies, _)| *applies);
        into.warnings.extend(applicable.map(|(_, text)| text));
    }
}

/// Calls whose times are not known, those with most first.
fn untimed(profile: &Profile) -> Vec<String> {
    let totals = profile
        .totals(By::Call)
        .into_iter()
        .map(|total| total.count);
    // The most frequent ones first, since only a few are named.
    let mut counts: Vec<CallCount> = totals.filter(|count| count.untimed > 0).collect();
    counts.sort_by_key(|count| Reverse(count.untimed));
    counts
        .iter()
        .map(|count| format!("{} {}", count.call, count.untimed))
        .collect()
}

/// The groups of a process tree, and the sections in it, by number.
pub fn nodes(raw: &Raw) -> BTreeMap<u32, Node> {
    let groups = raw.groups.iter();
    let mut nodes: BTreeMap<u32, Node> = groups
        .map(|(number, group)| (*number, node(raw, *number, group)))
        .collect();
    for (key, counted) in all_calls(raw) {
        nodes.entry(key.group).and_modify(|node| {
            node.calls += counted.calls;
            node.programs += executed(&key, counted);
        });
    }
    for (number, used) in totals::used(raw) {
        nodes.entry(number).and_modify(|node| {
            node.faults[0] += used.minor_faults;
            node.faults[1] += used.major_faults;
        });
    }
    for task in raw.live.iter().filter(|task| task.pid == task.process) {
        nodes
            .entry(task.key.group)
            .and_modify(|node| node.processes += 1);
    }
    nodes
}

fn node(raw: &Raw, number: u32, group: &Group) -> Node {
    let section = raw.sections.get(&number);
    let text = section.map(|section| {
        let name = raw.names.get(&section.name);
        name.map_or("(unknown)".into(), |name| text(&name.text).into_owned())
    });
    Node {
        name: text.unwrap_or_else(|| group.name.clone()),
        from: u32::try_from(group.id).ok().filter(|from| *from > 0),
        processes: raw.started.get(&number).copied().unwrap_or(0),
        section: section.map(|section| Marks {
            begun: section.begun,
            ended: section.ended,
            iterations: section.iterations,
            processes: section.processes,
            elapsed_ns: if section.begun == section.ended {
                Some(section.elapsed)
            } else {
                None
            },
        }),
        ..Node::default()
    }
}

pub fn programs(raw: &Raw) -> u64 {
    let calls = all_calls(raw);
    calls.map(|(key, counted)| executed(&key, counted)).sum()
}

fn executed(key: &Key, counted: Counted) -> u64 {
    if is_exec(key) && key.error == 0 {
        // An execve that has not returned may still fail.
        counted.calls - counted.unfinished
    } else {
        0
    }
}

/// The numbers of the groups that made calls, in the order of `Profile::groups`. Groups for whose name there was no room are all 0.
pub fn numbers(raw: &Raw) -> BTreeSet<u32> {
    all_calls(raw)
        .map(|(key, _)| known(raw, key.group))
        .collect()
}

fn known(raw: &Raw, number: u32) -> u32 {
    if raw.groups.contains_key(&number) {
        number
    } else {
        0
    }
}

/// The calls that have returned, and those that tasks are in.
fn all_calls(raw: &Raw) -> impl Iterator<Item = (Key, Counted)> {
    raw.calls.iter().copied().chain(open_calls(raw))
}

pub(super) fn open_calls(raw: &Raw) -> impl Iterator<Item = (Key, Counted)> {
    raw.live.iter().filter(|task| task.inside != 0).map(|task| {
        let Live {
            elapsed,
            blocked,
            woken,
            preempted,
            stalled,
            ..
        } = *task;
        // The parts were copied while the task ran: together they may be a little longer than the call so far.
        let on_cpu = [blocked, woken, preempted]
            .into_iter()
            .fold(elapsed, u64::saturating_sub);
        (
            task.key,
            Counted {
                calls: 1,
                unfinished: 1,
                on_cpu,
                blocked,
                woken,
                preempted,
                stalled,
                bytes: 0,
            },
        )
    })
}

fn process_name(raw: &Raw, number: u32) -> String {
    let group = raw.groups.get(&number);
    group.map_or_else(|| NAMELESS.to_string(), |group| group.name.clone())
}

fn is_exec(key: &Key) -> bool {
    names::name(key.number, key.gate).starts_with("exec")
}

fn is_compat(key: &Key) -> bool {
    key.gate == gate::COMPAT && !is_exec(key)
}

fn call_name(key: &Key, plain: bool) -> String {
    let name = names::name(key.number, key.gate);
    match name.strip_suffix(names::COMPAT) {
        Some(bare) if key.gate == gate::COMPAT && (plain || is_exec(key)) => bare.to_string(),
        _ => name,
    }
}

pub(super) fn class(key: &Key, counted: &Counted) -> Class {
    let name = names::name(key.number, key.gate);
    let operation =
        selector(bare_name(&name)).and_then(|selector| selector.operation(key.operation));
    Class {
        operation,
        ..class_by_amount(key, counted)
    }
}

fn class_by_amount(key: &Key, counted: &Counted) -> Class {
    let Some(drives) = names::drives_of(key.number, key.gate) else {
        return Class::default();
    };
    // A base-2 logarithm plus 1; 0 stands for no bytes.
    let bytes = key
        .value
        .checked_sub(1)
        .map_or(0, |log| 1u64.checked_shl(log.into()).unwrap_or(0));
    let known = key.value != VALUE_UNKNOWN;
    // The bytes of a call that never returned are unknown.
    let returned = counted.calls > counted.unfinished;
    let number = match drives {
        Drives::Bytes if !returned => None,
        Drives::Bytes | Drives::Length | Drives::Set => Some(bytes),
        Drives::Path => known.then_some(key.value.into()),
        Drives::Descriptor => None,
    };
    drives.class(descriptor(key.kind), number)
}

pub(super) fn descriptor(code: u8) -> Option<DescriptorKind> {
    match code {
        kind::REGULAR | kind::LINK => Some(DescriptorKind::File),
        kind::DIRECTORY => Some(DescriptorKind::Directory),
        kind::FIFO => Some(DescriptorKind::Pipe),
        kind::SOCKET => Some(DescriptorKind::Socket),
        kind::TERMINAL => Some(DescriptorKind::Terminal),
        kind::CHARACTER | kind::BLOCK => Some(DescriptorKind::Device),
        kind::ANONYMOUS => Some(DescriptorKind::Event),
        kind::CLOSED => Some(DescriptorKind::None),
        _ => None,
    }
}

/// Subtracts `ns`, the tracer's share of each call, from times on the CPU, which never become negative.
pub fn subtract(ns: f64, from: &mut Profile) {
    change_on_cpu(from, |calls, measured| {
        Some((measured as f64 - calls as f64 * ns).max(0.0).round() as u64)
    });
}

/// Times of calls that are more than their threads were on a CPU are wrong, as after an unseen switch: they are removed.
pub fn check(ran_ns: u64, profile: &mut Profile) {
    let on_cpu_ns = profile.all_calls().on_cpu_ns.unwrap_or(0);
    if on_cpu_ns <= ran_ns + ran_ns / 20 + ROUNDING_NS {
        return;
    }
    // A share of such times would look like a result: none is shown, and the waits stay.
    change_on_cpu(profile, |_, _| None);
    let [on_cpu_s, ran_s] = [on_cpu_ns, ran_ns].map(|ns| ns as f64 / 1e9);
    profile.warnings.push(format!(
        "the times of calls are not known: their sum on a CPU, {on_cpu_s:.3} s, is more than the {ran_s:.3} s that their threads ran"
    ));
}

/// Changes each time on a CPU, by the number of calls and the time measured for them.
fn change_on_cpu(from: &mut Profile, change: impl Fn(u64, u64) -> Option<u64>) {
    let by_class = from.groups.iter_mut().flat_map(|group| &mut group.calls);
    let sections = from
        .sections
        .iter_mut()
        .flat_map(|section| &mut section.calls);
    let counts = by_class
        .chain(sections)
        .chain(from.objects.iter_mut().map(|object| &mut object.count));
    // Untimed calls added nothing to the times.
    let counts = counts.map(|count| (count.calls - count.untimed, &mut count.on_cpu_ns));
    let stacks = from.stacks.iter_mut();
    let stacks = stacks.map(|stack| (stack.calls, &mut stack.on_cpu_ns));
    for (calls, on_cpu_ns) in counts.chain(stacks) {
        *on_cpu_ns = on_cpu_ns.and_then(|measured| change(calls, measured));
    }
}

/// The groups of the profile, in the order of [`numbers`].
pub(super) fn groups(
    raw: &Raw,
    counts: impl Iterator<Item = (u32, CallCount)>,
    by: Grouping,
    paths: &BTreeMap<u64, String>,
) -> Vec<ProcessGroup> {
    let mut groups: BTreeMap<u32, Vec<CallCount>> = BTreeMap::new();
    for (number, count) in counts {
        groups.entry(known(raw, number)).or_default().push(count);
    }
    groups
        .into_iter()
        .map(|(number, calls)| {
            let id = raw.groups.get(&number).map(|group| group.id);
            ProcessGroup {
                name: process_name(raw, number),
                pid: id
                    .filter(|id| by == Grouping::Process && *id > 0)
                    .and_then(|id| id.try_into().ok()),
                cgroup: if by == Grouping::Cgroup {
                    id.map(|id| paths.get(&id).cloned().unwrap_or_else(|| format!("({id})")))
                } else {
                    None
                },
                threads: by == Grouping::Thread,
                calls: summed(&calls),
                ..ProcessGroup::default()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracers_share_is_subtracted_and_no_time_is_negative() {
        fn counted(number: i64, calls: u64, on_cpu: u64) -> (Key, Counted) {
            let key = Key {
                number: number as u16,
                ..Key::default()
            };
            let counted = Counted {
                calls,
                on_cpu,
                ..Counted::default()
            };
            (key, counted)
        }

        let raw = Raw {
            calls: vec![
                counted(libc::SYS_getpid, 10, 2000),
                counted(libc::SYS_getuid, 1, 30),
            ],
            ..Raw::default()
        };
        let mut profile = Profile::default();
        Decoder::new(&raw, Detail::Times).fill(Grouping::Name, &BTreeMap::new(), &mut profile);
        subtract(50.0, &mut profile);
        let calls = profile.groups[0].calls.iter();
        let times: Vec<Option<u64>> = calls.map(|count| count.on_cpu_ns).collect();
        assert_eq!(times, [Some(1500), Some(0)]);
    }

    #[test]
    fn more_time_in_calls_than_on_a_cpu_is_not_shown() {
        let count = CallCount {
            calls: 1,
            on_cpu_ns: Some(2_630_000_000),
            ..CallCount::default()
        };
        let group = ProcessGroup {
            calls: vec![count],
            ..ProcessGroup::default()
        };
        let mut profile = Profile {
            groups: vec![group],
            ..Profile::default()
        };
        check(2_600_000_000, &mut profile);
        assert_eq!(profile.all_calls().on_cpu_ns, Some(2_630_000_000));
        check(87_000_000, &mut profile);
        assert_eq!(
            (profile.all_calls().on_cpu_ns, profile.warnings.len()),
            (None, 1)
        );
    }
}
