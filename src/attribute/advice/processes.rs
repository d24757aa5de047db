//! Rules about processes: forks of large ones that exec at once.

use super::caller::{Caller, is_one_of, total};
use super::rule::{Advice, Rule, SOME, Time};
use crate::attribute::breakdown::{fault_count, s};
use crate::attribute::costs::{Basis, Price, UnitCost};
use crate::attribute::spread::{MODEL_SD, Seconds, less, measured, plus};
use crate::model::{CallCount, ProcessGroup, Profile};

/// A process that was created with a copy of its parent's memory: `clone` of a thread makes none, and one that waits
/// until its child execs is a vfork. What `clone3` does is not known: C libraries make threads by it.
fn forks(count: &CallCount) -> bool {
    let copies = count.class.operation.as_deref() == Some("process");
    let waited = count.blocked_ns.is_none_or(|blocked| blocked > count.on_cpu_ns.unwrap_or(0));
    is_one_of(count, &["fork"]) || (is_one_of(count, &["clone"]) && copies && !waited)
}

/// A fork that takes this many times as long as that of a small process copies much: others gain little, and a shell, which
/// prepares its children in the copy, could not do without.
const LARGE: f64 = 2.0;

fn copies_much(caller: &Caller, forks: &CallCount) -> bool {
    let small = caller.costs.price_of("process.fork_wait").map(|price| forks.calls as f64 * price.cost.ns);
    forks.on_cpu_ns.zip(small).is_some_and(|(ns, small)| ns as f64 > LARGE * small)
}

/// A fork copies page tables, and its exec frees them again: both cost more the more memory the parent has. In between,
/// pages that are written to are copied.
pub fn fork_for_exec(caller: &Caller) -> Vec<Advice> {
    let all = caller.sum(forks);
    let usage = &caller.profile.usage;
    let children = usage.processes.map_or(u64::MAX, |processes| processes.saturating_sub(1));
    // The first execve is the workload's own.
    let calls = all.calls.min(execs(caller.profile).calls.saturating_sub(1)).min(children);
    let share = calls as f64 / all.calls.max(1) as f64;
    let part = caller.part(|count| if forks(count) { share } else { 0.0 });
    let is_worth_it = calls >= SOME && copies_much(caller, &all);
    let vfork = caller.costs.price_of("process.vfork_wait").filter(|_| is_worth_it);
    let Some((vfork, now)) = vfork.zip(part.takes(Time::Cpu)) else { return Vec::new() };
    let copied = less(now, vfork.cost.times(calls, MODEL_SD));
    let (freed, exec) = freed(caller).unzip();
    let (faults, fault) = copied_pages(caller, calls).unzip();
    let saved = [freed, faults].into_iter().flatten().fold(copied, plus);
    let bases = [vfork.basis].into_iter().chain(exec).chain(fault);
    vec![part.advice(Rule::ForkForExec { peak_rss_kib: usage.peak_rss_kib }, Some(saved), bases)]
}

/// The execs of all processes that succeeded, with the time of all.
fn execs(profile: &Profile) -> CallCount {
    total(profile.groups.iter().map(execs_of))
}

fn execs_of(group: &ProcessGroup) -> CallCount {
    let sum = total(group.calls.iter().filter(|count| is_one_of(count, &["execve", "execveat"])));
    CallCount { calls: sum.calls.saturating_sub(sum.failures()), ..sum }
}

/// The time of execs beyond that of a small process's: they free the copy of the parent's address space. Of several programs
/// that fork, each has a share in it by the time that its forks took.
fn freed(caller: &Caller) -> Option<(Seconds, Basis)> {
    let small = exec_of_a_small_process(caller)?;
    let execs = execs(caller.profile);
    let every = caller.profile.groups.iter().flat_map(|group| &group.calls).filter(|count| forks(count));
    let all = total(every);
    let calls = all.calls.min(execs.calls.saturating_sub(1));
    let share = caller.sum(forks).on_cpu_ns? as f64 / all.on_cpu_ns?.max(1) as f64;
    let now = s(execs.on_cpu_ns?) * calls as f64 / execs.calls.max(1) as f64;
    let freed = less(measured(now), small.times(calls));
    let [value, low, high] = [freed.value, freed.low, freed.high].map(|seconds| seconds * share);
    Some((Seconds { value, low, high }, small.basis))
}

/// The cheapest of the profile's own execs, such as that of the command by the tracer, and at most what the operation takes
/// without `vfork` and `wait`: that includes the start of the program.
fn exec_of_a_small_process(caller: &Caller) -> Option<Price> {
    let [whole, rest] = ["process.vfork_exec_static", "process.vfork_wait"].map(|name| caller.costs.price_of(name));
    let (whole, rest) = whole.zip(rest)?;
    let means = caller.profile.groups.iter().map(execs_of).filter(|execs| execs.calls > 0);
    let means = means.filter_map(|execs| Some(execs.on_cpu_ns? as f64 / execs.calls as f64));
    let ns = means.fold((whole.cost.ns - rest.cost.ns).max(0.0), f64::min);
    let cost = UnitCost { ns, ..whole.cost };
    Some(Price { cost, basis: Basis { less: &["process.vfork_wait"], ..whole.basis }, ..whole })
}

/// Page faults of a process that executes a small program.
const START_UP_FAULTS: u64 = 100;

/// Pages that parent or child wrote to after a fork: faults beyond one for each page of the largest process and those of
/// starting programs. Only where most processes are children of these forks; others have faults of their own.
fn copied_pages(caller: &Caller, forks: u64) -> Option<(Seconds, Basis)> {
    let usage = &caller.profile.usage;
    let processes = usage.processes.filter(|processes| forks.saturating_mul(2) >= *processes)?;
    let resident = usage.peak_rss_kib? / 4;
    let faults = fault_count(caller.profile)?.saturating_sub(resident);
    let faults = faults.saturating_sub(processes.saturating_mul(START_UP_FAULTS));
    let price = caller.costs.first_of(&["mem.fault_cow", "mem.fault_anonymous"]).filter(|_| faults > 0)?;
    Some((price.cost.times(faults, MODEL_SD), price.basis))
}
