//! Processes that are started for each item, and mostly to start: programs, and copies of a shell that never execute one.

use super::caller::{Caller, FORKS, Part, Rule, does, done, is_one_of, share};
use super::output::{Advice, Time};
use super::tree::LOOP;
use super::workload::Program;
use crate::attribute::seconds::Seconds;
use model::prose::some;

pub static RULE: Rule = Rule {
    name: "process-per-item",
    least: 0.1,
    phrase: "{items} processes of {of}",
    change: "give many items to one process (find -exec +, xargs), or do it in the program itself",
    find: |caller| {
        programs(caller)
            .into_iter()
            .chain(subshells(caller))
            .collect()
    },
};

const WRAPPERS: &str = "sh bash dash zsh ash busybox env nice nohup timeout sudo setsid";
const BUILDERS: &str =
    "make gmake ninja samu cargo bazel cmake ctest meson scons gcc cc g++ c++ clang";

/// A shell or another program that starts the one given to it.
pub fn is_wrapper(name: &str) -> bool {
    WRAPPERS.split(' ').any(|wrapper| wrapper == name)
}

pub fn is_builder(name: &str) -> bool {
    BUILDERS.split(' ').any(|builder| builder == name)
}

const MOST_NAMES: usize = 3;
const SMALL_S: f64 = 0.003;
const LEAST_STARTING: f64 = 0.05;
/// The most that a child of the starter takes outside of calls until it executes the program.
const CHILD_S: f64 = 0.1e-3;

pub const STARTING: &str = "execve execveat mmap munmap mprotect brk exit_group arch_prctl set_tid_address set_robust_list rseq prlimit64 \
                        access pread64 getrandom";

fn looped<'a>(caller: &Caller<'a>) -> Vec<(u64, &'a str, &'a Program<'a>)> {
    let programs = &caller.workload.programs;
    let mut looped: Vec<_> = caller
        .workload
        .tree
        .looped(caller.name)
        .filter_map(|(name, processes)| {
            let (at, _, program) = programs.get_full(name)?;
            Some((at, (processes, name, program)))
        })
        .collect();
    looped.sort_unstable_by_key(|(at, _)| *at);
    looped.into_iter().map(|(_, program)| program).collect()
}

fn programs(caller: &Caller) -> Option<Advice> {
    // Logs have the time of calls alone: starts are at least that long.
    let is_log = caller.is_log();
    let (mut saved, mut names, mut processes, mut whole_s) =
        (Seconds::default(), Vec::new(), 0, 0.0);
    for (started, name, program) in looped(caller) {
        let all = share(started, program.processes);
        let starts_s = all * program.starts_s + forked_s(caller, started);
        let cpu_s = if is_log {
            program.starts_s
        } else {
            program.cpu_s
        };
        let program_s = all * cpu_s + forked_s(caller, started);
        // These processes mostly work, so their start is not the fault.
        if starts_s < program_s * LEAST_STARTING || starts_s == 0.0 {
            continue;
        }
        let is_small = program_s / started.max(1) as f64 <= SMALL_S;
        let (low, value) = if is_small {
            (program_s * 0.6, program_s * 0.95)
        } else {
            (starts_s * 0.9, (starts_s + program_s) / 2.0)
        };
        let low = low.max(starts_s * 0.9);
        saved = saved.plus(Seconds {
            value: value.max(low),
            low,
            high: program_s * if is_log { 3.0 } else { 1.25 },
        });
        (processes, whole_s) = (processes + started, whole_s + program_s);
        names.push(name);
    }
    if processes == 0 {
        return None;
    }
    let (_, most) = caller.around_s(processes, caller.sum(|_| true).calls, [(0.0, CHILD_S); 2]);
    let saved = saved.plus(Seconds::scaled(most, [0.0, 0.5, 1.0]));
    let forks: Vec<&str> = FORKS.split(' ').collect();
    let functions = &caller.workload.functions;
    Some(Advice {
        function: functions.most(caller.name, &forks),
        sites: functions.sites(caller.name, &forks),
        names: vec!["execve".to_string()],
        subject: Some(some(names, MOST_NAMES)),
        calls: processes,
        measured_s: Some(whole_s),
        time: if is_log { Time::Elapsed } else { Time::Cpu },
        ..Part::new(caller).advice(processes, saved)
    })
}

fn forked_s(caller: &Caller, processes: u64) -> f64 {
    caller
        .some(processes, |count| is_one_of(count, FORKS))
        .takes_s()
}

fn subshells(caller: &Caller) -> Option<Advice> {
    let copies = |count: &_| is_one_of(count, FORKS) && !does(count, "thread");
    let forks = caller.sum(copies);
    let tree = &caller.workload.tree;
    let execs = tree.executed(caller.name);
    let threads = caller.profile.usage.threads.unwrap_or(0);
    // Forks that neither executed a program nor made a thread.
    let surplus = done(&forks).saturating_sub(execs).saturating_sub(threads);
    let is_asked = caller.received() >= surplus;
    if surplus < LOOP || !tree.is_known || is_asked && !is_wrapper(caller.name) {
        return None;
    }
    let part = caller
        .some(surplus, copies)
        .and(surplus, |count| is_one_of(count, "exit_group"));
    let bare = part.left_out();
    // A copy has page faults too, and what it does may have to be done.
    let most = (caller.cpu_s * share(surplus, forks.calls)).max(bare.value);
    let saved = Seconds {
        value: (bare.value * 2.0).min(most).max(bare.value),
        low: bare.low,
        high: most.max(bare.high),
    };
    Some(Advice {
        calls: surplus,
        subject: Some(caller.name.to_string()),
        ..part.advice(surplus, saved)
    })
}
