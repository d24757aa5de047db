//! Where thread time went: threads x elapsed time, divided into on-CPU, runnable and blocked for a reason.
//!
//! Threads that only waited for work are counted but not divided.

use super::blocked::{Because, because, reason};
use super::calls::Functions;
use super::requests::{Answered, answered};
use super::seconds::s;
use super::spent::{Part, Spent};
use super::waited::named;
use super::waits::Reason;
use model::runtime::is_awaited;
use model::syscall_names::bare_name;
use model::{By, ObjectKind, Profile, Thread, ThreadTime, WaitCount};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Thread time of the busy threads.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Ledger {
    /// Sum of the parts in seconds: the time of the `busy` threads, or of all threads if none was busy.
    pub thread_s: f64,
    /// Thread time of all threads in seconds, by the scheduler's accounting.
    pub all_s: f64,
    /// Threads that ran, or were held up while they had work.
    pub busy: usize,
    /// Threads that only waited for work; their time is divided only if no thread was busy.
    pub idle: usize,
    /// Threads that exited early and are known only as part of the sum.
    pub unknown: usize,
    /// On a CPU and held up, the most time first; runnable; then idle.
    pub parts: Vec<LedgerPart>,
    /// Requests; null if there were none.
    pub requests: Option<Answered>,
}

/// A part of the thread time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LedgerPart {
    #[serde(flatten)]
    pub state: State,
    pub seconds: f64,
    /// Number of calls that waited; null outside calls.
    pub waits: Option<u64>,
    /// For a wait: process, call, object, who ended it, and the waiting function.
    pub wait: Option<LedgerWait>,
    /// For CPU time: what the threads executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Part>,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    OnCpu,
    Runnable,
    Blocked {
        because: Because,
    },
    /// Blocked outside known calls: page faults, stops.
    BlockedElsewhere,
}

impl State {
    pub fn is_idle(self) -> bool {
        matches!(self, State::Blocked { because } if because.is_idle())
    }
}

/// The call that waited, and what for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct LedgerWait {
    pub process: String,
    #[serde(rename = "name")]
    pub call: String,
    pub reason: Reason,
    pub on: Option<String>,
    pub by: Option<String>,
    pub function: Option<String>,
    /// For clients: connections on which something was received or sent; null if unknown.
    pub connections: Option<u64>,
}

/// A smaller share of the time that is not idle is not large.
const LARGE: f64 = 0.03;
// Chosen with bench/services/check: a larger share would leave out threads that answer requests now and then.
/// A thread that was on a CPU, runnable and held up for a smaller share of its time is idle.
const LEAST_BUSY: f64 = 0.005;

/// `None` if the time of threads is not known, or if there is one thread, whose wall time is enough.
pub fn ledger(profile: &Profile, time: &Spent) -> Option<Ledger> {
    let all = profile.usage.thread_time?;
    if profile.waits.is_empty() || !(profile.is_service() || profile.usage.threads > Some(0)) {
        return None;
    }
    let idle = idle(profile);
    let known = profile.threads.len();
    // If no thread was busy, the idle time is all there is to divide.
    let left_out = Some(&idle).filter(|idle| idle.len() < known);
    let left_out = left_out.cloned().unwrap_or_default();
    let began = profile.usage.processes.zip(profile.usage.threads);
    let began = began.map_or(0, |(processes, threads)| processes.saturating_add(threads));
    let thread_time = without(all, &profile.threads, &left_out);
    let mut parts = blocked(profile, &left_out, s(thread_time.blocked_ns));
    parts.push(part(State::Runnable, s(thread_time.runnable_ns)));
    parts.extend(on_cpu(profile, time, s(thread_time.ran_ns)));
    parts.retain(|part| part.seconds > 0.0);
    sort(&mut parts);
    Some(Ledger {
        thread_s: s(thread_time.all_ns()),
        all_s: s(all.all_ns()),
        busy: known - idle.len(),
        idle: idle.len(),
        unknown: usize::try_from(began).unwrap_or(0).saturating_sub(known),
        parts,
        requests: answered(profile),
    })
}

/// Other programs cause the waiting for a CPU, so it stands behind the large parts.
fn sort(parts: &mut [LedgerPart]) {
    let busy = parts.iter().filter(|part| !part.state.is_idle());
    let large_s = LARGE * busy.map(|part| part.seconds).sum::<f64>();
    parts.sort_by(|a, b| {
        let seconds = b.seconds.total_cmp(&a.seconds);
        rank(a, large_s).cmp(&rank(b, large_s)).then(seconds)
    });
}

fn rank(part: &LedgerPart, large_s: f64) -> u8 {
    match part.state {
        state if state.is_idle() => 3,
        State::Runnable => 1,
        _ if part.seconds >= large_s => 0,
        _ => 2,
    }
}

fn part(state: State, seconds: f64) -> LedgerPart {
    LedgerPart {
        state,
        seconds,
        waits: None,
        wait: None,
        cpu: None,
    }
}

/// The parts of the CPU time, scaled to the scheduler's sum.
fn on_cpu(profile: &Profile, time: &Spent, ran_s: f64) -> Vec<LedgerPart> {
    let known_s: f64 = time.parts.iter().filter_map(|part| part.cpu_s).sum();
    if known_s <= 0.0 {
        return vec![part(State::OnCpu, ran_s)];
    }
    let shares = time.parts.iter().filter_map(|cpu_part| {
        Some(LedgerPart {
            cpu: Some(Part {
                what: described_calls(profile, &cpu_part.what),
                ..cpu_part.clone()
            }),
            ..part(State::OnCpu, cpu_part.cpu_s? / known_s * ran_s)
        })
    });
    shares.collect()
}

/// `openat of app.conf`, `sendto of 1 byte`: where most of the calls are on one path, or move one byte.
fn described_calls(profile: &Profile, calls: &[String]) -> Vec<String> {
    let classes = profile.totals(By::Class);
    let objects = profile.objects.iter();
    let paths = objects.filter(|object| object.kind == ObjectKind::Path && !object.name.is_empty());
    let names = calls.iter().map(|call| {
        let counts = classes.iter().map(|total| &total.count);
        let counts = counts.filter(|count| count.call == *call);
        let paths = paths.clone().filter(|object| object.count.call == *call);
        let path = most(paths.map(|object| (object.count.calls, file(&object.name).to_string())));
        let sizes = counts.filter(|count| count.bytes.is_some());
        let size = most(sizes.map(|count| (count.calls, count.class.size)));
        let byte = size.flatten().filter(|size| *size == 1);
        let byte = byte.map(|_| "1 byte".to_string());
        match path.or(byte) {
            Some(detail) => format!("{call} of {detail}"),
            None => call.clone(),
        }
    });
    names.collect()
}

fn most<T>(values: impl Iterator<Item = (u64, T)>) -> Option<T> {
    let mut all = 0u64;
    let counted = values.inspect(|(calls, _)| all = all.saturating_add(*calls));
    let most = counted.max_by_key(|(calls, _)| *calls);
    most.filter(|(calls, _)| *calls > all / 2)
        .map(|(_, most)| most)
}

fn file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn idle(profile: &Profile) -> BTreeSet<u32> {
    let mut held_up: BTreeMap<u32, f64> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| !because(wait).is_idle()) {
        *held_up.entry(wait.tid.unwrap_or(0)).or_default() += s(wait.blocked_ns);
    }
    let idle = profile.threads.iter().filter(|thread| {
        let held_up_s = held_up.get(&thread.tid).copied().unwrap_or(0.0);
        let busy_s = s(thread.time.ran_ns) + s(thread.time.runnable_ns) + held_up_s;
        busy_s < LEAST_BUSY * s(thread.time.all_ns())
    });
    idle.map(|thread| thread.tid).collect()
}

fn without(all: ThreadTime, threads: &[Thread], idle: &BTreeSet<u32>) -> ThreadTime {
    let idle = threads.iter().filter(|thread| idle.contains(&thread.tid));
    idle.fold(all, |left, Thread { time, .. }| ThreadTime {
        ran_ns: left.ran_ns.saturating_sub(time.ran_ns),
        runnable_ns: left.runnable_ns.saturating_sub(time.runnable_ns),
        blocked_ns: left.blocked_ns.saturating_sub(time.blocked_ns),
    })
}

/// Waits by their reason. Short waits are sampled, so the sum is scaled down to the scheduler's blocked time.
fn blocked(profile: &Profile, idle: &BTreeSet<u32>, blocked_s: f64) -> Vec<LedgerPart> {
    let mut sums: BTreeMap<(State, LedgerWait), (f64, u64)> = BTreeMap::new();
    let functions = Functions::new(profile);
    let waits = profile.waits.iter();
    for wait in waits.filter(|wait| wait.tid.is_none_or(|tid| !idle.contains(&tid))) {
        let because = because(wait);
        let state = State::Blocked { because };
        let (seconds, waits) = sums
            .entry((state, described(profile, &functions, wait, state)))
            .or_default();
        *seconds += s(wait.blocked_ns);
        *waits = waits.saturating_add(wait.calls);
    }
    let mut parts = whoever_ended(sums);
    let known_s: f64 = parts.iter().map(|part| part.seconds).sum();
    if known_s > blocked_s {
        parts
            .iter_mut()
            .for_each(|part| part.seconds *= blocked_s / known_s);
    } else {
        parts.push(part(State::BlockedElsewhere, blocked_s - known_s));
    }
    parts
}

/// Keeps the name of whoever ended more than half.
fn whoever_ended(sums: BTreeMap<(State, LedgerWait), (f64, u64)>) -> Vec<LedgerPart> {
    let mut parts: BTreeMap<(State, LedgerWait), (LedgerPart, f64)> = BTreeMap::new();
    for ((state, mut wait), (seconds, waits)) in sums {
        let by = wait.by.take();
        let (sum, most) = parts
            .entry((state, wait.clone()))
            .or_insert_with(|| (part(state, 0.0), 0.0));
        sum.seconds += seconds;
        sum.waits = Some(sum.waits.unwrap_or(0).saturating_add(waits));
        if seconds > *most {
            *most = seconds;
            sum.wait = Some(LedgerWait { by, ..wait });
        }
    }
    let parts = parts.into_values().map(|(mut sum, most)| {
        if let Some(wait) = sum.wait.as_mut()
            && 2.0 * most < sum.seconds
        {
            wait.by = None;
        }
        sum
    });
    parts.collect()
}

fn described(
    profile: &Profile,
    functions: &Functions,
    wait: &WaitCount,
    state: State,
) -> LedgerWait {
    // Functions of scripts are known by calls alone.
    let call = [bare_name(&wait.call)];
    let caller = wait.peer.and_then(|_| functions.most(&wait.process, &call));
    let clients = wait.on.iter().flat_map(|on| {
        let requests = profile.requests.iter();
        requests
            .filter(|requests| requests.process == wait.process && requests.on.as_ref() == Some(on))
    });
    LedgerWait {
        process: wait.process.clone(),
        call: wait.call.clone(),
        reason: reason(wait),
        on: on(wait, state),
        by: wait.by.clone(),
        function: wait.function.clone().or(caller),
        connections: clients.map(|requests| requests.connections).max(),
    }
}

/// Names sockets, locks and files, but no condition variables, whose addresses mean nothing to a reader.
fn on(wait: &WaitCount, state: State) -> Option<String> {
    let on = wait.on.as_deref()?;
    let is_condition = on.starts_with("futex ") && !wait.lock;
    let is_named = wait.peer.is_some()
        || is_awaited(on)
        || matches!(state, State::Blocked { because } if because <= Because::Reader)
            && !is_condition;
    if is_named {
        named(on, wait.by.is_some())
    } else {
        None
    }
}
