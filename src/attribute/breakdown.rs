//! The CPU time by where it was spent, and the calls, on the machine where the workload ran. Pure; `attribute` calls it.
//!
//! Calls and the tracer are known from their own times. The rest is divided by samples that were taken meanwhile, or by the kernel's
//! accounting where there are none.

use super::blocked::has_one_thread;
use super::charged::{Charged, tracing_s};
use super::seconds::s;
use crate::model::{By, CallCount, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The CPU time of all threads together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CpuTime {
    /// What the parts add up to; `None` where user or system time is not known.
    pub seconds: Option<f64>,
    pub parts: Vec<Part>,
    /// Samples that the time outside calls was divided by; `None` without.
    pub samples: Option<u64>,
    /// Functions of user mode with most samples.
    pub functions: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    pub kind: PartKind,
    pub seconds: f64,
}

/// Where CPU time was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    UserMode,
    /// Between entry and return of system calls.
    Calls,
    /// Outside calls.
    PageFaults,
    Interrupts,
    /// The kernel outside calls, otherwise.
    Kernel,
    Tracer,
    /// Page faults, interrupts and the like, which nobody sampled.
    OtherSystem,
    /// User mode and `OtherSystem`: the CPU time is too short for ticks to tell them apart.
    UserOrSystem,
    /// The kernel with its calls: nobody timed these on a CPU.
    AllSystem,
    /// User mode and `AllSystem`, where ticks do not tell them apart.
    All,
}

/// One call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallRow {
    pub name: String,
    pub calls: u64,
    pub failures: u64,
    pub on_cpu_s: Option<f64>,
    /// Blocked while nothing else of the program ran: wall time.
    pub waiting_s: Option<f64>,
    /// Blocked, summed over threads.
    pub blocked_s: Option<f64>,
    /// Between entry and return, where that is all that is known.
    pub elapsed_s: Option<f64>,
    /// The processes that spent most of it.
    pub process: String,
}

impl CallRow {
    /// On a CPU and waiting, or between entry and return: what calls are ranked by.
    pub fn seconds(&self) -> f64 {
        match (self.on_cpu_s, self.waiting_s) {
            (None, None) => self.elapsed_s.unwrap_or(0.0),
            (on_cpu, waiting) => on_cpu.unwrap_or(0.0) + waiting.unwrap_or(0.0),
        }
    }
}

/// What all calls take to enter the kernel and to leave it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entering {
    pub calls: u64,
    pub null_call_ns: f64,
    pub seconds: f64,
    /// Of the wall time of a program that ran on one CPU at a time; else of the CPU time.
    pub share: f64,
    pub of_wall: bool,
}

/// The CPU time by parts, without those that are nothing.
pub fn cpu_time(profile: &Profile) -> CpuTime {
    let on_cpu = profile.all_calls().on_cpu_ns.map(s);
    let mut parts: Vec<Part> = on_cpu.map(|seconds| Part { kind: PartKind::Calls, seconds }).into_iter().collect();
    let tracer = tracing_s(profile);
    parts.push(Part { kind: PartKind::Tracer, seconds: tracer });
    let charged = Charged::from_profile(profile);
    let outside = profile.usage.outside.as_ref();
    if let Some(outside) = outside {
        let of = [
            (PartKind::UserMode, outside.user_ns),
            (PartKind::PageFaults, outside.page_faults_ns),
            (PartKind::Interrupts, outside.interrupts_ns),
            (PartKind::Kernel, outside.kernel_ns),
        ];
        parts.extend(of.map(|(kind, ns)| Part { kind, seconds: s(ns) }));
    } else if let Some(charged) = charged {
        let rest = charged.cpu_s - charged.known_system_s;
        let (system, both) = match on_cpu {
            Some(_) => (PartKind::OtherSystem, PartKind::UserOrSystem),
            None => (PartKind::AllSystem, PartKind::All),
        };
        parts.extend(match charged.user_s {
            Some(user) => {
                vec![Part { kind: PartKind::UserMode, seconds: user }, Part { kind: system, seconds: rest - user }]
            }
            None => vec![Part { kind: both, seconds: rest }],
        });
    }
    parts.retain(|part| part.seconds > 0.0);
    parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let seconds = (outside.is_some() || charged.is_some()).then(|| parts.iter().map(|part| part.seconds).sum());
    // Without symbols there are addresses only.
    let functions = outside.iter().flat_map(|outside| &outside.functions).map(|function| &function.name);
    let functions = functions.filter(|name| !name.contains("0x")).cloned();
    CpuTime { seconds, parts, samples: outside.map(|outside| outside.samples), functions: functions.collect() }
}

/// The calls by falling time.
pub fn rows(profile: &Profile) -> Vec<CallRow> {
    let alone = has_one_thread(profile);
    let processes = processes(profile);
    let mut rows: Vec<CallRow> = profile.totals(By::Call).into_iter().map(|total| row(total.count, alone)).collect();
    for row in &mut rows {
        row.process = processes.get(row.name.as_str()).map(|(name, _)| (*name).to_string()).unwrap_or_default();
    }
    rows.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()).then(b.calls.cmp(&a.calls)));
    rows
}

fn row(count: CallCount, alone: bool) -> CallRow {
    let waiting_ns = count.stalled_ns.or(count.blocked_ns.filter(|_| alone));
    CallRow {
        calls: count.calls,
        failures: count.failures(),
        on_cpu_s: count.on_cpu_ns.map(s),
        waiting_s: waiting_ns.map(s),
        blocked_s: count.blocked_ns.map(s),
        elapsed_s: count.elapsed_ns.map(s),
        name: count.call,
        process: String::new(),
    }
}

/// The processes that spent most time in each call, or made most calls where there are no times.
fn processes(profile: &Profile) -> BTreeMap<&str, (&str, u64)> {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for group in &profile.groups {
        for count in &group.calls {
            let time = count.on_cpu_ns.map(|ns| ns.saturating_add(count.stalled_ns.unwrap_or(0)));
            let own = sums.entry((count.call.as_str(), group.name.as_str())).or_default();
            *own = own.saturating_add(time.or(count.elapsed_ns).unwrap_or(count.calls));
        }
    }
    let mut most: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for ((call, process), sum) in sums {
        let own = most.entry(call).or_insert((process, sum));
        if sum > own.1 {
            *own = (process, sum);
        }
    }
    most
}

/// What entering the kernel takes, if a null call takes `null_ns`.
pub fn entering(profile: &Profile, null_ns: Option<f64>) -> Option<Entering> {
    let calls = profile.all_calls().calls;
    let null_call_ns = null_ns.filter(|_| calls > 0)?;
    let of_wall = super::path::is_serial(profile);
    let whole = if of_wall { profile.usage.wall_ns.map(s) } else { cpu_time(profile).seconds };
    let seconds = calls as f64 * null_call_ns / 1e9;
    Some(Entering { calls, null_call_ns, seconds, share: seconds / whole.filter(|whole| *whole > 0.0)?, of_wall })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Outside, ProcessGroup, Usage};

    fn group(name: &str, calls: &[(&str, u64, u64, u64)]) -> ProcessGroup {
        let count = |(call, calls, on_cpu, stalled): &(&str, u64, u64, u64)| CallCount {
            call: (*call).to_string(),
            calls: *calls,
            on_cpu_ns: Some(*on_cpu),
            blocked_ns: Some(10 * *stalled),
            stalled_ns: Some(*stalled),
            ..CallCount::default()
        };
        ProcessGroup { name: name.into(), calls: calls.iter().map(count).collect(), ..ProcessGroup::default() }
    }

    #[test]
    fn a_parent_that_waits_is_not_on_top_and_each_call_has_its_program() {
        let groups = vec![
            group("sh", &[("wait4", 1, 1_000, 0), ("read", 1, 500, 0)]),
            group("db", &[("fsync", 3, 2_000, 9_000_000), ("read", 9, 5_000, 0)]),
        ];
        let rows = rows(&Profile { groups, ..Profile::default() });
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.process.as_str())).collect();
        assert_eq!(found, [("fsync", "db"), ("read", "db"), ("wait4", "sh")]);
        assert!((rows[0].seconds() - 0.009002).abs() < 1e-9 && rows[0].blocked_s == Some(0.09));
    }

    #[test]
    fn samples_divide_what_is_outside_calls_and_parts_add_up() {
        let outside = Outside { user_ns: 6_000, page_faults_ns: 3_000, samples: 9, ..Outside::default() };
        let usage = Usage { user_ns: Some(10_000), system_ns: Some(0), outside: Some(outside), ..Usage::default() };
        let found =
            cpu_time(&Profile { usage, groups: vec![group("x", &[("read", 1, 1_000, 0)])], ..Profile::default() });
        let kinds: Vec<PartKind> = found.parts.iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [PartKind::UserMode, PartKind::PageFaults, PartKind::Calls]);
        assert!((found.seconds.unwrap() - 1e-5).abs() < 1e-12);
    }
}
