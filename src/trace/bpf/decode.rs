//! What the programs counted, as groups of calls. Pure.

use super::names;
use crate::kernel::bpf::layout::{VALUE_UNKNOWN, bucket_ns, gate, kind};
use crate::kernel::bpf::{Counted, Group, Key, Live, Raw};
use crate::model::{CallCount, Class, DescriptorKind, Drives, Histogram, ProcessGroup, ProcessPath, Profile, selector};
use crate::syscall_names::bare_name;
use crate::syscall_names::errno;
use crate::trace::lineage::{self, Node};
use crate::trace::{Detail, Grouping};
use std::collections::{BTreeMap, BTreeSet};

/// Stands for process names for which there was no number left.
const NAMELESS: &str = "(others)";
/// Calls after which the kernel does work without further calls.
const RINGS: [&str; 2] = ["io_uring_setup", "io_uring_enter"];

/// One process name's calls while they are added up.
type Calls = BTreeMap<(String, Class), CallCount>;

/// Fills in groups, latencies and warnings. Calls that have not returned count as unfinished. `paths` are those of control groups
/// by ID, where processes are grouped by them.
pub fn decode(raw: &Raw, detail: Detail, grouping: Grouping, paths: &BTreeMap<u64, String>, into: &mut Profile) {
    let plain = wholly_compat(raw);
    let mut groups: BTreeMap<u32, Calls> = numbers(raw).into_iter().map(|number| (number, Calls::new())).collect();
    for (key, counted) in raw.calls.iter().copied().chain(open_calls(raw)) {
        let calls = groups.entry(known(raw, key.group)).or_default();
        let call = call_name(&key, plain.contains(&key.group));
        let class = class(&key, &counted);
        let count = calls.entry((call.clone(), class.clone())).or_insert_with(|| empty(call, class, &key, detail));
        add(count, &key, &counted);
    }
    into.groups =
        groups.into_iter().map(|(number, calls)| group(raw, number, calls.into_values(), grouping, paths)).collect();
    into.latencies = latencies(raw, &plain);
    warn(raw, &plain, into);
}

/// Who started whom, where groups are those of the tree.
pub fn tree(raw: &Raw) -> Vec<ProcessPath> {
    let node = |(number, group): (&u32, &Group)| {
        let (name, from) = (group.name.clone(), u32::try_from(group.id).ok().filter(|from| *from > 0));
        (*number, Node { name, from, processes: raw.started.get(number).copied().unwrap_or(0), calls: 0 })
    };
    let mut nodes: BTreeMap<u32, Node> = raw.groups.iter().map(node).collect();
    for (key, counted) in raw.calls.iter().copied().chain(open_calls(raw)) {
        nodes.entry(key.group).and_modify(|node| node.calls += counted.calls);
    }
    for task in raw.live.iter().filter(|task| task.pid == task.process) {
        nodes.entry(task.key.group).and_modify(|node| node.processes += 1);
    }
    lineage::paths(&nodes)
}

/// The numbers of groups that made calls, in the order of `Profile::groups`. All that have no name of their own are 0.
pub fn numbers(raw: &Raw) -> BTreeSet<u32> {
    let open = open_calls(raw).map(|(key, _)| key.group);
    raw.calls.iter().map(|(key, _)| key.group).chain(open).map(|number| known(raw, number)).collect()
}

pub(super) fn known(raw: &Raw, number: u32) -> u32 {
    if raw.groups.contains_key(&number) { number } else { 0 }
}

/// The calls that tasks are in.
fn open_calls(raw: &Raw) -> impl Iterator<Item = (Key, Counted)> {
    raw.live.iter().filter(|task| task.inside != 0).map(|task| {
        let Live { elapsed, blocked, woken, preempted, stalled, .. } = *task;
        let on_cpu = elapsed.saturating_sub(blocked + woken + preempted);
        (task.key, Counted { calls: 1, unfinished: 1, on_cpu, blocked, woken, preempted, stalled, bytes: 0 })
    })
}

pub(super) fn process_name(groups: &BTreeMap<u32, Group>, number: u32) -> String {
    groups.get(&number).map_or_else(|| NAMELESS.to_string(), |group| group.name.clone())
}

/// Names whose processes made only 32-bit calls: these are their native ones, and carry no gate. The execve that
/// started them was made by another program.
pub(super) fn wholly_compat(raw: &Raw) -> BTreeSet<u32> {
    let keys = || raw.calls.iter().map(|(key, _)| key);
    let own = |key: &&Key| key.gate == gate::OWN && !is_exec(key);
    let mixed: BTreeSet<u32> = keys().filter(own).map(|key| key.group).collect();
    keys().filter(|key| is_compat(key) && !mixed.contains(&key.group)).map(|key| key.group).collect()
}

fn is_exec(key: &Key) -> bool {
    names::name(key.number, key.gate).starts_with("exec")
}

/// Whether it is a 32-bit call of the program itself.
fn is_compat(key: &Key) -> bool {
    key.gate == gate::COMPAT && !is_exec(key)
}

pub(super) fn call_name(key: &Key, plain: bool) -> String {
    let name = names::name(key.number, key.gate);
    match name.strip_suffix(names::COMPAT) {
        Some(bare) if key.gate == gate::COMPAT && (plain || is_exec(key)) => bare.to_string(),
        _ => name,
    }
}

pub(super) fn class(key: &Key, counted: &Counted) -> Class {
    let name = names::name(key.number, key.gate);
    let operation = selector(bare_name(&name)).and_then(|selector| selector.operation(key.operation));
    Class { operation, ..class_by_amount(key, counted) }
}

fn class_by_amount(key: &Key, counted: &Counted) -> Class {
    let Some(drives) = names::drives_of(key.number, key.gate) else { return Class::default() };
    let bytes = || key.value.checked_sub(1).map_or(0, |log| 1u64.checked_shl(log.into()).unwrap_or(0));
    let known = key.value != VALUE_UNKNOWN;
    // The bytes of a call that never returned are unknown.
    let returned = counted.calls > counted.unfinished;
    let number = match drives {
        Drives::Bytes { .. } => returned.then(bytes),
        Drives::Length { .. } | Drives::Set { .. } => Some(bytes()),
        Drives::Path { .. } => known.then_some(key.value.into()),
        Drives::Descriptor { .. } => None,
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

pub(super) fn empty(call: String, class: Class, key: &Key, detail: Detail) -> CallCount {
    let timed = (detail == Detail::Times).then_some(0);
    let moves = matches!(names::drives_of(key.number, key.gate), Some(Drives::Bytes { .. }));
    CallCount {
        call,
        class,
        on_cpu_ns: timed,
        blocked_ns: timed,
        woken_ns: timed,
        runnable_ns: timed,
        stalled_ns: timed,
        bytes: moves.then_some(0),
        ..CallCount::default()
    }
}

pub(super) fn add(count: &mut CallCount, key: &Key, counted: &Counted) {
    count.calls += counted.calls;
    count.unfinished += counted.unfinished;
    if key.error != 0 {
        *count.errors.entry(errno::name(key.error.into())).or_insert(0) += counted.calls;
    }
    let add = |sum: &mut Option<u64>, more: u64| *sum = sum.map(|sum| sum + more);
    add(&mut count.on_cpu_ns, counted.on_cpu);
    add(&mut count.blocked_ns, counted.blocked);
    add(&mut count.woken_ns, counted.woken);
    add(&mut count.runnable_ns, counted.woken + counted.preempted);
    add(&mut count.stalled_ns, counted.stalled);
    add(&mut count.bytes, counted.bytes);
}

/// Subtracts the tracer's own share of each call, `ns`, from the calls' time on the CPU.
pub fn subtract(ns: f64, from: &mut Profile) {
    let by_class = from.groups.iter_mut().flat_map(|group| &mut group.calls);
    let counts = by_class.chain(from.objects.iter_mut().map(|object| &mut object.count));
    let counts = counts.map(|count| (count.calls, &mut count.on_cpu_ns));
    for (calls, on_cpu_ns) in counts.chain(from.stacks.iter_mut().map(|stack| (stack.calls, &mut stack.on_cpu_ns))) {
        *on_cpu_ns = on_cpu_ns.map(|measured| (measured as f64 - calls as f64 * ns).max(0.0).round() as u64);
    }
}

pub(super) fn group(
    raw: &Raw,
    number: u32,
    calls: impl Iterator<Item = CallCount>,
    by: Grouping,
    paths: &BTreeMap<u64, String>,
) -> ProcessGroup {
    let id = raw.groups.get(&number).map(|group| group.id);
    ProcessGroup {
        name: process_name(&raw.groups, number),
        pid: id.filter(|_| by == Grouping::Process).and_then(|id| id.try_into().ok()),
        cgroup: id
            .filter(|_| by == Grouping::Cgroup)
            .map(|id| paths.get(&id).cloned().unwrap_or_else(|| format!("({id})"))),
        calls: calls.collect(),
        ..ProcessGroup::default()
    }
}

/// Histograms by call. They are not kept per process: 32-bit calls get plain names if all processes that made any do.
fn latencies(raw: &Raw, plain: &BTreeSet<u32>) -> BTreeMap<String, Histogram> {
    let mut compat = raw.calls.iter().filter(|(key, _)| is_compat(key));
    let plain = compat.all(|(key, _)| plain.contains(&key.group));
    let mut latencies: BTreeMap<String, Histogram> = BTreeMap::new();
    for row in &raw.durations {
        let key = Key { number: row.number, gate: row.gate, ..Key::default() };
        let histogram = latencies.entry(call_name(&key, plain)).or_default();
        histogram.add(histogram.bucket(bucket_ns(row.bucket as usize)), row.calls);
    }
    latencies
}

fn warn(raw: &Raw, plain: &BTreeSet<u32>, into: &mut Profile) {
    let gate = names::COMPAT.trim_matches(['(', ')']);
    let list: Vec<String> = plain.iter().map(|number| process_name(&raw.groups, *number)).collect();
    let ring = |call: &CallCount| RINGS.contains(&bare_name(&call.call));
    let rings = into.groups.iter().any(|group| group.calls.iter().any(ring));
    let (unseen, unseen_ms, lost) = (raw.globals.unseen, raw.globals.unseen_ns as f64 / 1e6, raw.globals.lost);
    let all = [
        (!list.is_empty()).then(|| {
            format!("32-bit programs ({gate}): {}; their calls have that architecture's names", list.join(", "))
        }),
        rings.then(|| "io_uring was used: what its rings carry enters the kernel without calls and is not here".into()),
        (raw.globals.nameless > 0)
            .then(|| format!("more process names than can be told apart: the rest is under '{NAMELESS}'")),
        (unseen > 0).then(|| {
            format!("calls left by a switch whose end was not seen: {unseen}; of {unseen_ms:.3} ms in them, it is not known how much was on a CPU")
        }),
        raw.torn
            .then(|| "calls were counted while the counts were read: some may be here twice or not at all".into()),
        (lost > 0).then(|| format!("{lost} events could not be counted: the profile is incomplete")),
    ];
    into.warnings.extend(all.into_iter().flatten());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bpf::Durations;

    fn key(number: i64, gate: u8, error: i32, kind: u8, value: u8, group: u32) -> Key {
        Key { group, number: number as u16, gate, error: error as u16, kind, value, ..Key::default() }
    }

    fn counted(calls: u64, on_cpu: u64, bytes: u64) -> Counted {
        Counted { calls, on_cpu, bytes, ..Counted::default() }
    }

    fn decoded(raw: &Raw, detail: Detail) -> Profile {
        let mut into = Profile::default();
        decode(raw, detail, Grouping::Name, &BTreeMap::new(), &mut into);
        into
    }

    fn named(names: &[(u32, &str)]) -> BTreeMap<u32, Group> {
        names.iter().map(|(number, name)| (*number, Group { name: name.to_string(), id: 0 })).collect()
    }

    #[test]
    fn the_tracers_share_is_subtracted_and_no_time_is_negative() {
        let calls = vec![
            (key(libc::SYS_getpid, gate::OWN, 0, 0, 0, 7), counted(10, 2000, 0)),
            (key(libc::SYS_getuid, gate::OWN, 0, 0, 0, 7), counted(1, 30, 0)),
        ];
        let mut collected = decoded(&Raw { calls, ..Raw::default() }, Detail::Times);
        subtract(50.0, &mut collected);
        let times: Vec<Option<u64>> = collected.groups[0].calls.iter().map(|count| count.on_cpu_ns).collect();
        assert_eq!(times, [Some(1500), Some(0)]);
    }

    #[test]
    fn a_key_that_occurs_twice_is_one_row_and_errors_are_separate() {
        let ok = key(libc::SYS_read, gate::OWN, 0, kind::FIFO, 1 + 12, 7);
        let none = key(libc::SYS_read, gate::OWN, 0, kind::FIFO, 0, 7);
        let failed = key(libc::SYS_read, gate::OWN, libc::EAGAIN, kind::FIFO, 0, 7);
        let calls = vec![
            (ok, counted(2, 10, 9000)),
            (ok, counted(1, 3, 4096)),
            (none, counted(1, 1, 0)),
            (failed, counted(4, 8, 0)),
        ];
        let raw = Raw { calls, groups: named(&[(7, "cat")]), ..Raw::default() };
        let groups = decoded(&raw, Detail::Times).groups;
        assert_eq!((groups.len(), groups[0].name.as_str(), groups[0].calls.len()), (1, "cat", 2));
        let (nothing, moved) = (&groups[0].calls[0], &groups[0].calls[1]);
        assert_eq!(
            (nothing.calls, nothing.class.size, &nothing.errors),
            (5, Some(0), &BTreeMap::from([("EAGAIN".into(), 4)]))
        );
        assert_eq!((moved.calls, moved.class.size, moved.bytes), (3, Some(4096), Some(13096)));
        assert_eq!((moved.class.descriptor, moved.on_cpu_ns), (Some(DescriptorKind::Pipe), Some(13)));
        assert_eq!(decoded(&raw, Detail::Counts).groups[0].calls[0].on_cpu_ns, None);
    }

    #[test]
    fn classes_are_those_of_the_call() {
        let class_of = |number, kind, value| class(&key(number, gate::OWN, 0, kind, value, 1), &counted(1, 0, 0));
        assert_eq!(class_of(libc::SYS_openat, 0, 3).depth, Some(3));
        assert_eq!(class_of(libc::SYS_openat, 0, 127).depth, None);
        let wake = Key { operation: 1, ..key(libc::SYS_futex, gate::OWN, 0, 0, 0, 1) };
        assert_eq!(class(&wake, &counted(1, 0, 0)).operation.as_deref(), Some("wake"));
        assert_eq!(class_of(libc::SYS_munmap, 0, 13).size, Some(4096));
        assert_eq!(class_of(libc::SYS_ppoll, 0, 0).set, Some(0));
        assert_eq!(class_of(libc::SYS_close, kind::CLOSED, 0).descriptor, Some(DescriptorKind::None));
        assert_eq!(class_of(libc::SYS_getppid, 0, 0), Class::default());
    }

    #[test]
    fn wholly_32_bit_programs_have_plain_names() {
        if cfg!(not(target_arch = "x86_64")) {
            return eprintln!("SKIPPED: numbers of x86_64");
        }
        let once = counted(1, 0, 0);
        let calls = vec![
            (key(20, gate::COMPAT, 0, 0, 0, 1), once),
            (key(libc::SYS_execve, gate::OWN, 0, 0, 2, 1), once),
            (key(20, gate::COMPAT, 0, 0, 0, 2), once),
            (key(libc::SYS_getppid, gate::OWN, 0, 0, 0, 2), once),
            (key(11, gate::COMPAT, 0, 0, 2, 2), once),
        ];
        let raw = Raw { calls, groups: named(&[(1, "old"), (2, "mixed")]), ..Raw::default() };
        let collected = decoded(&raw, Detail::Times);
        let names =
            |group: usize| -> Vec<&str> { collected.groups[group].calls.iter().map(|c| c.call.as_str()).collect() };
        assert_eq!((names(1), names(0)), (vec!["execve", "getpid(i386)", "getppid"], vec!["execve", "getpid"]));
        let warning = &collected.warnings[0];
        assert!(warning.contains("i386") && warning.contains("old"), "{warning}");
    }

    #[test]
    fn what_is_missing_is_reported() {
        let ring = (key(425, gate::OWN, 0, 0, 0, 0), counted(1, 0, 0));
        let mut raw = Raw { calls: vec![ring], ..Raw::default() };
        (raw.globals.lost, raw.globals.nameless, raw.torn) = (3, 1, true);
        let warnings = decoded(&raw, Detail::Times).warnings.join("\n");
        for words in ["io_uring", "(others)", "3 events", "twice or not at all"] {
            assert!(warnings.contains(words), "{warnings}");
        }
    }

    #[test]
    fn durations_are_by_call() {
        let row = |bucket, calls| Durations { number: libc::SYS_read as u16, gate: gate::OWN, bucket, calls };
        let raw = Raw { durations: vec![row(40, 4), row(40, 1), row(100, 2)], ..Raw::default() };
        let latencies = decoded(&raw, Detail::Times).latencies;
        let of = |ns| Histogram::default().bucket(ns);
        assert_eq!(latencies["read"].counts, BTreeMap::from([(of(40), 5), (of(144), 2)]));
    }
}
