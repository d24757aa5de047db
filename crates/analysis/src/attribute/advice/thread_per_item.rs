//! Threads that are started for each item: their stacks are mapped and unmapped too.

use super::caller::{Caller, Rule, does, done, is_one_of, share};
use super::found::Advice;
use crate::attribute::seconds::Seconds;
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
    let started = caller.sum(starts);
    let threads = done(&started).min(caller.profile.usage.threads.unwrap_or(0));
    if threads < caller.processes.saturating_mul(LOOP) || caller.received() >= threads {
        return Vec::new();
    }
    let part = caller.part(|count| {
        if starts(count) {
            share(threads, started.calls)
        } else {
            0.0
        }
    });
    let part = WITH_EACH.iter().fold(part, |part, names| {
        part.with_each(threads, |count| is_one_of(count, names))
    });
    let bare = part.left_out();
    // Page faults of its stack, and a switch to it and back.
    let saved = Seconds {
        value: bare.value * 1.5,
        high: bare.high * 2.5,
        ..bare
    };
    vec![Advice {
        items: threads,
        ..part.advice(&RULE, saved)
    }]
}
