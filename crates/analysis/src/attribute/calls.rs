//! The calls of a workload on the machine where it ran, and the cost of entering the kernel.

use super::costs::Costs;
use super::seconds::{added, s};
use super::spent::{Spent, stalled_ns};
use model::runtime::{is_runtime, is_scheduler, name_and_line};
use model::syscall_names::bare_name;
use model::{By, CallCount, Profile, sum_by_key};
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
    /// Whether `null_call_ns`, `seconds` and `share` are upper bounds: the null call was slowed down when it was measured, by other
    /// tracers for example.
    pub upper_bound: bool,
}

/// A null call, as it was measured, next to the calls of the program.
#[derive(Clone, Copy)]
pub struct NullCall {
    pub ns: f64,
    /// Something else slowed it down: it took longer than the program's calls, of which each enters the kernel.
    pub slowed: bool,
}

impl NullCall {
    /// Its cost comes from `costs`, else from the tracer's own measurement. A program's mean call is never faster than a null call.
    pub fn new(profile: &Profile, costs: Option<&Costs>) -> Option<NullCall> {
        if let Some(ns) = costs.and_then(Costs::null_ns) {
            return Some(NullCall { ns, slowed: false });
        }
        let ns = profile.null_call_ns?;
        let mean_ns = profile.all_calls().mean_on_cpu_ns();
        Some(match mean_ns.filter(|mean_ns| ns > 1.25 * mean_ns) {
            Some(ns) => NullCall { ns, slowed: true },
            None => NullCall { ns, slowed: false },
        })
    }

    /// `None` if it is only an upper bound.
    pub fn known_ns(&self) -> Option<f64> {
        (!self.slowed).then_some(self.ns)
    }
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
            let process = processes.get(count.call.as_str());
            let process = process.map_or_else(String::new, ToString::to_string);
            let stalled_ns = if by_threads {
                None
            } else {
                stalled_ns(&count, alone)
            };
            let most = functions.most(&process, &[bare_name(&count.call)]);
            // If both are one function, `most` is kept: it has the line too.
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

/// In place of a function.
const SCHEDULER: &str = "[scheduler]";

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
            let unnamed = match stack.frames.iter().any(|frame| is_scheduler(frame)) {
                true => SCHEDULER,
                false => "",
            };
            let calls = by.entry(function.map_or(unnamed, String::as_str));
            let calls = calls.or_default();
            *calls = calls.saturating_add(stack.calls);
        }
        Functions(sums)
    }

    /// Whether a language's runtime makes most of these calls, to schedule or maintain its threads.
    pub fn are_schedulers(&self, process: &str, names: &[&str]) -> bool {
        self.largest(process, names).as_deref() == Some(SCHEDULER)
    }

    /// The function that makes most of these calls, with its most frequent line; `None` if it makes less than half of them.
    pub fn most(&self, process: &str, names: &[&str]) -> Option<String> {
        self.largest(process, names)
            .filter(|name| name != SCHEDULER)
    }

    /// The functions that make these calls, each with its most frequent line, and how many: the most first.
    pub fn sites(&self, process: &str, names: &[&str]) -> Vec<(String, u64)> {
        let mut sites = BTreeMap::new();
        for (line, calls) in names
            .iter()
            .filter_map(|name| self.0.get(&(process, *name)))
            .flatten()
        {
            let (sum, most) = sites
                .entry(name_and_line(line).0)
                .or_insert((0, (0, *line)));
            *sum += calls;
            *most = (*calls, *line).max(*most);
        }
        let named = sites
            .into_iter()
            .filter(|(name, _)| !name.is_empty() && *name != SCHEDULER);
        let mut named: Vec<_> = named
            .map(|(_, (sum, (_, line)))| (line.to_string(), sum))
            .collect();
        named.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
        named
    }

    fn largest(&self, process: &str, names: &[&str]) -> Option<String> {
        let keys = names
            .iter()
            .flat_map(|name| [(process, *name), ("", *name)]);
        let lines: Vec<_> = keys.filter_map(|key| self.0.get(&key)).flatten().collect();
        let calls = lines
            .iter()
            .map(|(line, calls)| (name_and_line(line).0, **calls));
        let sums = sum_by_key(calls);
        let all = added(sums.values().copied());
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
    let waits = profile.waits.iter().filter(|wait| wait.call == count.call);
    let sums = sum_by_key(waits.map(|wait| (wait.function.as_deref(), wait.blocked_ns)));
    let all_ns = added(sums.values().copied());
    let (function, ns) = sums.into_iter().max_by_key(|(_, ns)| *ns)?;
    if ns < all_ns / 2 || count.blocked_ns < count.on_cpu_ns {
        return None;
    }
    function.map(str::to_string)
}

/// By call, the process that spent most of it: the first by name of those that spent as much.
fn processes(profile: &Profile) -> BTreeMap<&str, &str> {
    let groups = profile.groups.iter();
    let counts =
        groups.flat_map(|group| group.calls.iter().map(move |count| (&*group.name, count)));
    let sums = sum_by_key(counts.map(|(process, count)| {
        let time = count
            .on_cpu_ns
            .map(|ns| ns.saturating_add(count.stalled_ns.unwrap_or(0)));
        let weight = time.or(count.elapsed_ns).unwrap_or(count.calls);
        ((count.call.as_str(), process), weight)
    }));
    let mut sums: Vec<_> = sums.into_iter().rev().collect();
    sums.sort_by_key(|(_, sum)| *sum);
    sums.into_iter().map(|(pair, _)| pair).collect()
}

/// `None` without calls.
pub fn entering(
    profile: &Profile,
    null: &NullCall,
    spent: &Spent,
    by_threads: bool,
) -> Option<Entering> {
    let calls = profile.all_calls().calls;
    if calls == 0 {
        return None;
    }
    let is_known = profile.usage.has_one_thread() || !spent.on_cpus_s.is_empty();
    let serial_s = if is_known && !by_threads && spent.parallel_s().is_none() {
        spent.wall_s
    } else {
        None
    };
    let seconds = calls as f64 * null.ns / 1e9;
    let untraced_s = serial_s.and_then(|_| spent.untraced_s(seconds));
    let whole_s = untraced_s
        .or(spent.cpu_s)
        .filter(|whole_s| *whole_s > 0.0)?;
    Some(Entering {
        calls,
        null_call_ns: null.ns,
        seconds,
        // Sums of parts are rounded: they may be less than the calls by a last digit.
        share: (seconds / whole_s).min(1.0),
        of_wall: serial_s.is_some(),
        upper_bound: null.slowed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::StackCount;

    #[test]
    fn schedulers_are_no_functions_and_sites_have_their_calls() {
        let stack = |call: &str, function: Option<&str>, outermost: &str, calls: u64| StackCount {
            process: "app".to_string(),
            call: call.to_string(),
            frames: vec![outermost.to_string()],
            function: function.map(str::to_string),
            calls,
            ..StackCount::default()
        };
        let profile = Profile {
            stacks: vec![
                stack("nanosleep", None, "runtime.mstart.abi0", 900),
                stack("nanosleep", Some("main.poll"), "runtime.goexit.abi0", 10),
                stack("vfork", Some("count (a.py:3)"), "_start", 100),
                stack("vfork", Some("count (a.py:4)"), "_start", 60),
                stack("vfork", Some("sum (a.py:9)"), "_start", 20),
            ],
            ..Profile::default()
        };
        let functions = Functions::new(&profile);
        assert!(functions.are_schedulers("app", &["nanosleep"]));
        assert!(!functions.are_schedulers("app", &["vfork"]));
        assert_eq!(functions.most("app", &["nanosleep"]), None);
        let expected = [("count (a.py:3)", 160), ("sum (a.py:9)", 20)];
        let expected = expected.map(|(line, calls)| (line.to_string(), calls));
        assert_eq!(
            functions.sites("app", &["vfork", "nanosleep"])[..2],
            expected
        );
    }
}
