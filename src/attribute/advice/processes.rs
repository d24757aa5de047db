//! Rules about what is started for each item: processes, threads and connections.

use super::caller::{Caller, FORKS, Part, added, does, done, is_one_of, s, share, total};
use super::rule::{Advice, Rule};
use crate::attribute::seconds::Seconds;
use crate::model::{CallCount, DescriptorKind, ProcessPath};

/// Fewer than this for each of those that start them are no loop.
const LOOP: u64 = 20;

/// Programs that only start another one.
const WRAPPERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ash", "busybox", "env", "nice", "nohup", "timeout", "sudo", "setsid"];
/// Programs whose work is to start others, with a reason for each.
const BUILDERS: &[&str] = &[
    "make", "gmake", "ninja", "samu", "cargo", "bazel", "cmake", "ctest", "meson", "scons", "gcc", "cc", "g++", "c++",
    "clang",
];

/// The process that starts one of these for each item, and how many it starts each time.
fn starter<'a>(tree: &'a [ProcessPath], path: &'a ProcessPath) -> Option<(&'a str, u64)> {
    // Copies of the command, as subshells, have its name; it was started once.
    let of = |names: &[String]| match names {
        [_] => Some(1),
        _ => tree.iter().find(|other| other.names == names).map(|other| other.processes.max(1)),
    };
    let mut parents = &path.names[..path.names.len().checked_sub(1)?];
    while let Some(name) = parents.last() {
        let each = path.processes / of(parents)?;
        if each >= LOOP {
            return Some((name.as_str(), each)).filter(|(name, _)| !BUILDERS.contains(name));
        }
        if !WRAPPERS.contains(&name.as_str()) {
            return None;
        }
        parents = &parents[..parents.len() - 1];
    }
    None
}

/// A program that runs for each item, and mostly to start: one that starts others itself does more.
pub fn process_per_item(caller: &Caller) -> Vec<Advice> {
    let tree = &caller.profile.tree;
    let own = tree.iter().filter(|path| path.names.last().is_some_and(|name| name == caller.name));
    let mut looped: Vec<(u64, &str)> = Vec::new();
    for path in own {
        let is_leaf = !tree.iter().any(|other| {
            other.names.starts_with(&path.names)
                && other.names.len() > path.names.len()
                && other.processes > path.processes / 2
        });
        looped.extend(starter(tree, path).filter(|_| is_leaf).map(|(name, _)| (path.processes, name)));
    }
    let processes = added(looped.iter().map(|(processes, _)| *processes));
    let Some((_, starter)) = looped.into_iter().max() else { return Vec::new() };
    let starts = starting(caller);
    let forks = forks_by(caller, starter, processes);
    let whole_s = caller.cpu_s * share(processes, caller.processes) + forks;
    let low_s = s(starts.on_cpu_ns.unwrap_or(0)) * share(processes, caller.processes) + forks;
    // What a program computes, it computes in one process too.
    if low_s < whole_s * LEAST_STARTING || low_s == 0.0 {
        return Vec::new();
    }
    let each_s = whole_s / processes.max(1) as f64;
    let value = if each_s < SMALL_S { whole_s * 0.9 } else { (low_s + whole_s) / 2.0 };
    let part = caller.whole(|count| is_one_of(count, &["execve", "execveat"]));
    let saved = Seconds { value: value.max(low_s * 0.9), low: low_s * 0.9, high: whole_s * 1.3 };
    let advice = part.advice(Rule::ProcessPerItem, saved);
    vec![Advice {
        process: starter.to_string(),
        of: Some(caller.name.to_string()),
        calls: processes,
        items: processes,
        measured_s: Some(whole_s),
        ..advice
    }]
}

/// CPU seconds of a process that does little more than start.
const SMALL_S: f64 = 0.003;
const LEAST_STARTING: f64 = 0.05;

/// What a process calls as it starts and ends.
fn starting(caller: &Caller) -> CallCount {
    const CALLS: &[&str] = &[
        "execve",
        "execveat",
        "mmap",
        "munmap",
        "mprotect",
        "brk",
        "exit_group",
        "arch_prctl",
        "set_tid_address",
        "set_robust_list",
        "rseq",
        "prlimit64",
        "access",
        "pread64",
        "getrandom",
    ];
    caller.named(CALLS)
}

/// What the forks took of those that start these processes.
fn forks_by(caller: &Caller, starter: &str, processes: u64) -> f64 {
    let groups = caller.profile.groups.iter().filter(|group| group.name == starter);
    let forks = total(groups.flat_map(|group| &group.calls).filter(|count| is_one_of(count, FORKS)));
    s(forks.on_cpu_ns.unwrap_or(0)) * share(processes, forks.calls)
}

/// Children that never execute a program, as the subshells of a shell.
pub fn subshells(caller: &Caller) -> Vec<Advice> {
    let forks = caller.sum(|count| is_one_of(count, FORKS) && !does(count, "thread"));
    let execs = caller
        .profile
        .tree
        .iter()
        .filter(|path| path.names.len() > 1 && path.names[path.names.len() - 2] == caller.name);
    let execs = added(execs.map(|path| path.processes));
    let threads = caller.profile.usage.threads.unwrap_or(0);
    let surplus = done(&forks).saturating_sub(execs).saturating_sub(threads);
    let is_asked = caller.received() >= surplus;
    if surplus < LOOP || caller.profile.tree.is_empty() || is_asked && !WRAPPERS.contains(&caller.name) {
        return Vec::new();
    }
    let ends = |count: &CallCount| is_one_of(count, &["exit_group"]);
    let part = caller.part(|count| match count {
        count if is_one_of(count, FORKS) && !does(count, "thread") => share(surplus, forks.calls),
        count if ends(count) => share(surplus, caller.sum(ends).calls),
        _ => 0.0,
    });
    let bare = part.left_out();
    // A copy has page faults too, and what it does may have to be done.
    let most = (caller.cpu_s * share(surplus, forks.calls)).max(bare.value);
    let saved =
        Seconds { value: (bare.value * 2.0).min(most).max(bare.value), low: bare.low, high: most.max(bare.high) };
    let advice = part.advice(Rule::ProcessPerItem, saved);
    vec![Advice { calls: surplus, items: surplus, of: Some(caller.name.to_string()), ..advice }]
}

/// A fork that takes this long copies much: that of a small process takes a tenth of a millisecond.
const LARGE_NS: f64 = 300_000.0;
/// What a vfork takes.
const VFORK_S: f64 = 50e-6;

/// A fork copies page tables, and its exec frees them again: both cost more the more memory the parent has. One that waits until its
/// child execs is a vfork.
pub fn fork_for_exec(caller: &Caller) -> Vec<Advice> {
    let copies = |count: &CallCount| {
        let waits = count.blocked_ns.is_none_or(|blocked| blocked > count.on_cpu_ns.unwrap_or(0));
        is_one_of(count, &["fork"]) || (is_one_of(count, &["clone"]) && does(count, "process") && !waits)
    };
    let forks = caller.sum(copies);
    let groups = || caller.profile.groups.iter().flat_map(|group| &group.calls);
    let execs = done(&total(groups().filter(|count| is_one_of(count, &["execve", "execveat"])))).saturating_sub(1);
    let calls = forks.calls.min(execs);
    if calls < LOOP / 2 || forks.mean_on_cpu_ns().is_none_or(|ns| ns < LARGE_NS) {
        return Vec::new();
    }
    let part = caller.part(|count| if copies(count) { share(calls, forks.calls) } else { 0.0 });
    let copied = part.left_out();
    let value = (copied.value - calls as f64 * VFORK_S).max(0.0);
    // The exec frees the copy, and pages that are written to before it are copied: as much again, at most twice.
    let saved = Seconds { value: value * 1.5, low: value * 0.7, high: value * 3.0 };
    vec![Advice { items: calls, ..part.advice(Rule::ForkForExec, saved) }]
}

/// Threads that are started for each item: their stacks are mapped and unmapped too.
pub fn thread_per_item(caller: &Caller) -> Vec<Advice> {
    let starts = |count: &CallCount| is_one_of(count, &["clone", "clone3"]) && !does(count, "process");
    let started = caller.sum(starts);
    let threads = done(&started).min(caller.profile.usage.threads.unwrap_or(0));
    if threads < caller.processes.saturating_mul(LOOP * 5) || caller.received() >= threads {
        return Vec::new();
    }
    let part = caller.part(|count| if starts(count) { share(threads, started.calls) } else { 0.0 });
    let with = [&["exit"][..], &["mmap"], &["munmap"], &["mprotect"], &["madvise"], &["set_robust_list"], &["rseq"]];
    let part = with.into_iter().fold(part, |part, names| part.with_each(threads, |count| is_one_of(count, names)));
    let bare = part.left_out();
    let saved = Seconds { value: bare.value * 1.5, high: bare.high * 3.0, ..bare };
    vec![Advice { items: threads, ..part.advice(Rule::ThreadPerItem, saved) }]
}

/// Calls on a connection beyond which it was worth making.
const FEW: u64 = 4;

pub fn connection_per_item(caller: &Caller) -> Vec<Advice> {
    let connects = |count: &CallCount| is_one_of(count, &["connect"]);
    let made = caller.sum(connects);
    let made = done(&made).saturating_add(super::caller::errors(&made, "EINPROGRESS"));
    let sends = |count: &CallCount| {
        let on_socket = count.class.descriptor == Some(DescriptorKind::Socket);
        is_one_of(count, &["sendto", "sendmsg", "send"]) || (on_socket && is_one_of(count, &["write", "writev"]))
    };
    if made < caller.processes.saturating_mul(LOOP) || caller.sum(sends).calls > made.saturating_mul(FEW) {
        return Vec::new();
    }
    let part: Part = caller.whole(connects).with_each(made, |count| is_one_of(count, &["socket"]));
    let part = part.with_each(made, |count| {
        is_one_of(count, &["close"]) && count.class.descriptor == Some(DescriptorKind::Socket)
    });
    let part = [&["setsockopt"][..], &["shutdown"], &["getsockopt"]]
        .into_iter()
        .fold(part, |part, names| part.with_each(made, |count| is_one_of(count, names)));
    vec![Advice { items: made, ..part.avoid(Rule::ConnectionPerItem) }]
}
