//! Threads that are started for each item: their stacks are mapped and unmapped too.

use super::caller::{Caller, Rule, does, done, is_one_of, keeps_up};
use super::output::Advice;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "thread-per-item",
    least: 0.05,
    phrase: "{calls} for {items} threads",
    change: "keep a pool of threads",
    find,
};

const LOOP: u64 = 100;
const WITH_EACH: &[&str] = &[
    "exit",
    "mmap",
    "munmap",
    "mprotect",
    "madvise",
    "set_robust_list",
    "rseq",
];

fn find(caller: &Caller) -> Vec<Advice> {
    let starts = |count: &CallCount| is_one_of(count, "clone clone3") && !does(count, "process");
    let threads = done(&caller.sum(starts)).min(caller.profile.usage.threads.unwrap_or(0));
    // Servers with a thread for each connection are left alone.
    if threads < caller.processes.saturating_mul(LOOP) || keeps_up(caller.received(), threads) {
        return Vec::new();
    }
    let part = caller
        .some(threads, starts)
        .with_each_named(threads, WITH_EACH);
    // Page faults of its stack, and a switch to it and back.
    let saved = part.left_out().times([1.0, 1.5, 2.5]);
    vec![part.advice(threads, saved)]
}
