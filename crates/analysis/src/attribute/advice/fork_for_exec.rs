//! Children of a large process that execute a program: they need no copy of its address space.

use super::caller::{Caller, Rule, does, is_one_of, waited};
use super::found::Advice;
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

/// A fork copies page tables, and its exec frees them again: both cost more the more memory the parent has. One that waits until its
/// child execs is a vfork.
fn find(caller: &Caller) -> Vec<Advice> {
    let copies = |count: &CallCount| {
        let is_vfork = count.blocked_ns.is_none() || waited(count);
        is_one_of(count, "fork")
            || (is_one_of(count, "clone") && does(count, "process") && !is_vfork)
    };
    let forks = caller.sum(copies);
    let execs = caller.workload.execs.saturating_sub(1);
    let calls = forks.calls.min(execs);
    if calls < LOOP || forks.mean_on_cpu_ns().is_none_or(|ns| ns < LARGE_NS) {
        return Vec::new();
    }
    let part = caller.some(calls, copies);
    let copied_s = (part.takes_s() - calls as f64 * VFORK_S).max(0.0);
    // The exec frees the copy, and pages that are written to before it are copied: half as much again, at most as much.
    vec![part.advice(calls, Seconds::of(copied_s, [0.75, 1.4, 2.2]))]
}
