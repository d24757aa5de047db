//! The calls of a workload on the machine where it ran, and the cost of entering the kernel.

use super::seconds::{added, s};
use super::spent::{Spent, stalled_ns};
use model::runtime::{is_runtime, name_and_line};
use model::syscall_names::bare_name;
use model::{By, CallCount, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// One call.
#[derive(Default, Serialize, JsonSchema)]
pub struct CallRow {
    /// In `stalled_ns` nothing else of the program ran: of one thread, in all of `blocked_ns`.
    #[serde(flatten)]
    pub count: CallCount,
    /// The processes that spent most of it.
    pub process: String,
    /// The function of theirs that makes most of these calls; `None` without stacks.
    pub function: Option<String>,
}

impl CallRow {
    /// Time on a CPU and time in which nothing else of the program ran; elapsed time if neither is known.
    pub fn seconds(&self) -> f64 {
        match (self.count.on_cpu_ns, self.count.stalled_ns) {
            (None, None) => self.count.elapsed_ns.map_or(0.0, s),
            (on_cpu, stalled) => on_cpu.map_or(0.0, s) + stalled.map_or(0.0, s),
        }
    }
}

/// The time of all calls to enter the kernel and to leave it.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct Entering {
    /// All calls.
    pub calls: u64,
    /// The time of a null call.
    pub null_call_ns: f64,
    /// The time of all calls.
    pub seconds: f64,
    /// Their share of the wall time of a program that ran on one CPU at a time, without tracing; else of the CPU time. An upper bound
    /// if ptrace's stops hide the time of calls.
    pub share: f64,
    /// Whether `share` is of the wall time.
    pub of_wall: bool,
}

/// The one that took most time first. With `by_threads`, waits are those of threads and not of the program.
pub fn rows(profile: &Profile, by_threads: bool) -> Vec<CallRow> {
    let alone = profile.usage.has_one_thread();
    let (processes, functions) = (processes(profile), Functions::new(profile));
    let mut rows: Vec<CallRow> = profile
        .totals(By::Call)
        .into_iter()
        .map(|total| {
            let count = total.count;
            let process = processes
                .get(count.call.as_str())
                .map(|(name, _)| (*name).to_string())
                .unwrap_or_default();
            let stalled_ns = if by_threads {
                None
            } else {
                stalled_ns(&count, alone)
            };
            let most = functions.most(&process, &[bare_name(&count.call)]);
            // Of the same function, that has its line too.
            let has_line = |name: &str| most.as_ref().is_some_and(|it| name_and_line(it).0 == name);
            let waiting = waiting(profile, &count).filter(|name| !has_line(name));
            CallRow {
                function: waiting.or(most),
                process,
                count: CallCount {
                    stalled_ns,
                    ..count
                },
            }
        })
        .collect();
    let mean_s = profile.all_calls().mean_on_cpu_ns().unwrap_or(0.0) / 1e9;
    // Some tracers time only a part of the calls: the others count with the mean.
    let rank = |row: &CallRow| row.seconds() + row.count.untimed as f64 * mean_s;
    rows.sort_by(|a, b| {
        rank(b)
            .total_cmp(&rank(a))
            .then(b.count.calls.cmp(&a.count.calls))
    });
    rows
}

/// Calls by process and call, and by the function that makes them.
pub struct Functions<'a>(HashMap<(&'a str, &'a str), BTreeMap<&'a str, u64>>);

impl<'a> Functions<'a> {
    pub fn new(profile: &'a Profile) -> Functions<'a> {
        // Older files have frames alone.
        let known = profile.stacks.iter().any(|stack| stack.function.is_some());
        let mut sums: HashMap<_, BTreeMap<_, u64>> = HashMap::new();
        for stack in &profile.stacks {
            let mut frames = stack.frames.iter().rev();
            let function = match &stack.function {
                None if !known => frames.find(|frame| !is_runtime(frame)),
                named => named.as_ref(),
            };
            let key = (stack.process.as_str(), bare_name(&stack.call));
            let by = sums.entry(key).or_default();
            let calls = by.entry(function.map_or("", String::as_str)).or_default();
            *calls = calls.saturating_add(stack.calls);
        }
        Functions(sums)
    }

    /// The function that makes most of these calls, with its most frequent line; `None` if it makes less than half of them.
    pub fn most(&self, process: &str, names: &[&str]) -> Option<String> {
        let keys = names
            .iter()
            .flat_map(|name| [(process, *name), ("", *name)]);
        let lines: Vec<_> = keys.filter_map(|key| self.0.get(&key)).flatten().collect();
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (line, calls) in &lines {
            let sum = sums.entry(name_and_line(line).0).or_default();
            *sum = sum.saturating_add(**calls);
        }
        let all = sums
            .values()
            .fold(0, |all: u64, calls| all.saturating_add(*calls));
        let (name, calls) = sums.into_iter().max_by_key(|(_, calls)| *calls)?;
        if name.is_empty() || calls < all / 2 {
            return None;
        }
        let function_lines = lines
            .into_iter()
            .filter(|(line, _)| name_and_line(line).0 == name);
        let (line, _) = function_lines.max_by_key(|(_, calls)| **calls)?;
        Some(line.to_string())
    }
}

/// The function that waits most in calls that wait for most of their time; `None` if it does so for less than half of it.
fn waiting(profile: &Profile, count: &CallCount) -> Option<String> {
    let mut sums: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    let waits = profile.waits.iter();
    for wait in waits.filter(|wait| wait.call == count.call) {
        let sum = sums.entry(wait.function.as_deref()).or_default();
        *sum = sum.saturating_add(wait.blocked_ns);
    }
    let all_ns = added(sums.values().copied());
    let (function, ns) = sums.into_iter().max_by_key(|(_, ns)| *ns)?;
    if ns < all_ns / 2 || count.blocked_ns < count.on_cpu_ns {
        return None;
    }
    function.map(str::to_string)
}

fn processes(profile: &Profile) -> BTreeMap<&str, (&str, u64)> {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for group in &profile.groups {
        for count in &group.calls {
            let time = count
                .on_cpu_ns
                .map(|ns| ns.saturating_add(count.stalled_ns.unwrap_or(0)));
            let sum = sums
                .entry((count.call.as_str(), group.name.as_str()))
                .or_default();
            *sum = sum.saturating_add(time.or(count.elapsed_ns).unwrap_or(count.calls));
        }
    }
    let mut most: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for ((call, process), sum) in sums {
        let longest = most.entry(call).or_insert((process, sum));
        if sum > longest.1 {
            *longest = (process, sum);
        }
    }
    most
}

/// `None` without calls, or if the cost of a null call is not known.
pub fn entering(
    profile: &Profile,
    null_ns: Option<f64>,
    spent: &Spent,
    by_threads: bool,
) -> Option<Entering> {
    let calls = profile.all_calls().calls;
    if calls == 0 {
        return None;
    }
    let null_call_ns = null_ns?;
    let is_known = profile.usage.has_one_thread() || !spent.on_cpus_s.is_empty();
    let serial_s = if is_known && !by_threads && spent.parallel_s().is_none() {
        spent.wall_s
    } else {
        None
    };
    let seconds = calls as f64 * null_call_ns / 1e9;
    let untraced_s = serial_s.and_then(|_| spent.untraced_s(seconds));
    let whole_s = untraced_s
        .or(spent.cpu_s)
        .filter(|whole_s| *whole_s > 0.0)?;
    Some(Entering {
        calls,
        null_call_ns,
        seconds,
        // Sums of parts are rounded: they may be less than the calls by a last digit.
        share: (seconds / whole_s).min(1.0),
        of_wall: serial_s.is_some(),
    })
}
