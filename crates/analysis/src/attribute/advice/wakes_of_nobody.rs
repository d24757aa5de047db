//! Futex wakes beyond the waits that slept: each of them woke nobody, for one that wakes somebody ends a wait.

use super::caller::{Caller, FUTEX, Rule, does, errors, is_one_of, share};
use super::found::Advice;
use super::futex_traffic::futexes;

pub static RULE: Rule = Rule {
    name: "wakes-of-nobody",
    least: 0.05,
    phrase: "{calls} that wake nobody",
    change: "count the waiters, and wake only if there are any",
    find,
};

const MANY: u64 = 1000;

fn find(caller: &Caller) -> Vec<Advice> {
    let (waits, wakes) = (futexes(caller, "wait"), futexes(caller, "wake"));
    let slept = waits.calls.saturating_sub(errors(&waits, "EAGAIN"));
    let surplus = wakes.calls.saturating_sub(slept);
    if surplus < MANY || caller.processes > 1 {
        return Vec::new();
    }
    let part = caller.part(|count| {
        if is_one_of(count, FUTEX) && does(count, "wake") {
            share(surplus, wakes.calls)
        } else {
            0.0
        }
    });
    vec![Advice {
        items: slept,
        ..part.avoid(&RULE)
    }]
}
