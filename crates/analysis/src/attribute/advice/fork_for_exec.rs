//! Children of a large process that execute a program: they need no copy of its address space.

use super::caller::{Caller, Rule, does, is_one_of, waited};
use super::output::Advice;
use crate::attribute::seconds::Seconds;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "fork-for-exec",
    least: 0.05,
    phrase: "{calls} of a large process just before exec",
    change: "posix_spawn or vfork copies no page tables",
    find,
};

const LOOP: u64 = 10;
/// A fork that takes this long copies much: that of a small process takes a tenth of a millisecond.
const LARGE_NS: f64 = 300_000.0;
const VFORK_S: f64 = 50e-6;
/// On a CPU, without a large address space that it frees.
const EXEC_S: f64 = 300e-6;

/// A fork copies page tables, and its exec frees them again, as their times show. One that waits until its
/// child execs is a vfork.
fn find(caller: &Caller) -> Vec<Advice> {
    let forks = caller.sum(copies);
    // The first exec started the command itself.
    let execs = caller.workload.execs.saturating_sub(1);
    let calls = forks.calls.min(execs);
    if calls < LOOP || forks.mean_on_cpu_ns().is_none_or(|ns| ns < LARGE_NS) {
        return Vec::new();
    }
    let part = caller.some(calls, copies);
    let workload = caller.workload;
    let freed_s = (workload.execs_s - workload.execs as f64 * EXEC_S).max(0.0);
    let copied_s = (part.takes_s() - calls as f64 * VFORK_S).max(0.0);
    // Pages that are written to before the exec are copied: at most, all of it takes twice as long.
    let copied = Seconds::scaled(
        copied_s,
        [workload.varies[0], 1.2, 1.2 * workload.varies[1]],
    );
    vec![part.advice(
        calls,
        copied.plus(Seconds::scaled(
            freed_s.min(2.0 * copied_s),
            [0.5, 0.9, 1.2],
        )),
    )]
}

fn copies(count: &CallCount) -> bool {
    let is_vfork = count.blocked_ns.is_none() || waited(count);
    is_one_of(count, "fork") || (is_one_of(count, "clone") && does(count, "process") && !is_vfork)
}
