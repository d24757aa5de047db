//! Threads blocked in one call until the end: in which function, and by whom. A cycle among them is a deadlock.

use super::seconds::s;
use model::runtime::is_awaited;
use model::{Ending, OpenCall, ProcessName, Profile, Thread};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Threads that waited for the same object when tracing, or the thread, ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Hung {
    pub threads: Vec<u32>,
    /// The process of the first.
    pub pid: u32,
    pub process: String,
    #[serde(rename = "name")]
    pub call: String,
    /// The object of the call.
    pub on: Option<String>,
    pub lock: bool,
    /// Since before tracing began.
    pub before: bool,
    /// For at least that long, within the trace.
    pub waited_s: f64,
    pub function: Option<String>,
    /// For a lock: the thread that holds it (for one on a file, the process), its current call, and the function that made that call.
    pub holder: Option<u32>,
    pub holder_in: Option<(String, Option<String>)>,
    /// The names of those that hold the lock or, for a pipe, have its other end open.
    pub holders: Vec<ProcessName>,
    /// For a lock on a file that nobody is known to hold: the process that took it and has ended.
    pub taken_by: Option<u32>,
    /// A cycle of threads that wait for each other, ending with the first one again; empty without a deadlock.
    pub cycle: Vec<u32>,
}

/// Deadlocks first, then locks, then what most threads wait for.
pub fn hung(profile: &Profile) -> Vec<Hung> {
    let by_number: BTreeMap<u32, &Thread> = profile
        .threads
        .iter()
        .map(|thread| (thread.tid, thread))
        .collect();
    let mut groups: BTreeMap<_, Hung> = BTreeMap::new();
    for thread in &profile.threads {
        let Some(open) = hung_call(thread).filter(|open| !is_over(profile, open)) else {
            continue;
        };
        let key = (&thread.process, &open.call, &open.on, &open.function);
        let group = groups.entry(key).or_insert_with(|| Hung {
            pid: thread.pid,
            process: thread.process.clone(),
            call: open.call.clone(),
            on: open.on.clone(),
            lock: open.lock,
            before: true,
            waited_s: f64::MAX,
            function: open.function.clone(),
            holder: open.holder,
            holder_in: open
                .holder
                .and_then(|holder| by_number.get(&holder)?.open.as_ref())
                .map(|open| (open.call.clone(), open.function.clone())),
            holders: holders(open, &by_number),
            taken_by: open.taken_by,
            ..Hung::default()
        });
        group.threads.push(thread.tid);
        group.before &= open.before;
        group.waited_s = group.waited_s.min(s(open.elapsed_ns));
        if group.cycle.is_empty() {
            group.cycle = cycle(thread.tid, &by_number);
        }
    }
    let mut groups: Vec<Hung> = groups.into_values().collect();
    groups.sort_by_key(|group| {
        let rank = (group.cycle.is_empty(), !group.lock, is_unnamed(group));
        (rank, std::cmp::Reverse(group.threads.len()))
    });
    groups
}

/// Threads of a pool wait for work like this.
fn is_unnamed(group: &Hung) -> bool {
    let on = group.on.as_deref().unwrap_or_default();
    let futex = on.strip_prefix("futex ");
    futex.is_some_and(|futex| !futex.contains(' ')) || is_awaited(on) && on.contains(" at 0x")
}

/// Every thread that was left when tracing ended was in a call that took long.
pub fn all_hang(profile: &Profile) -> bool {
    let mut left = profile
        .threads
        .iter()
        .filter(|thread| !thread.ended)
        .peekable();
    left.peek().is_some() && left.all(|thread| hung_call(thread).is_some())
}

/// A thread that holds a lock has the name of its process.
fn holders(open: &OpenCall, threads: &BTreeMap<u32, &Thread>) -> Vec<ProcessName> {
    let holder = open.holder.and_then(|holder| threads.get(&holder));
    match holder {
        Some(thread) if open.lock => vec![ProcessName {
            pid: thread.tid,
            name: thread.process.clone(),
        }],
        _ => open.holders.clone(),
    }
}

// A second is long for somebody who looks at a program that hangs.
/// Shorter waits do not count as hung, unless they began before tracing.
const HANGS_NS: u64 = 1_000_000_000;

fn hung_call(thread: &Thread) -> Option<&OpenCall> {
    let open = thread.open.as_ref();
    open.filter(|open| open.before || open.elapsed_ns >= HANGS_NS)
}

/// Threads that waited for work when their command exited did not hang.
fn is_over(profile: &Profile, open: &OpenCall) -> bool {
    !open.lock && matches!(profile.ending, Some(Ending::Exited(_)))
}

/// Follows lock holders from a thread until the thread itself is reached.
fn cycle(first: u32, threads: &BTreeMap<u32, &Thread>) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let mut holders = vec![first];
    let mut at = first;
    while seen.insert(at) {
        let open = threads.get(&at).and_then(|thread| hung_call(thread));
        let Some(holder) = open.and_then(|open| open.holder) else {
            return Vec::new();
        };
        holders.push(holder);
        at = holder;
    }
    if at == first { holders } else { Vec::new() }
}
