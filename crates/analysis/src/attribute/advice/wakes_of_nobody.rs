//! Futex wakes beyond the waits that slept: each of them woke nobody, for one that wakes somebody ends a wait.

use super::caller::{Caller, Rule, errors};
use super::found::Advice;
use super::futex_traffic::is_futex;

pub static RULE: Rule = Rule {
    name: "wakes-of-nobody",
    least: 0.05,
    phrase: "{calls} that wake nobody",
    change: "count the waiters, and wake only if there are any",
    find,
};

const MANY: u64 = 1000;

fn find(caller: &Caller) -> Vec<Advice> {
    let [waits, wakes] = ["wait", "wake"].map(|does| caller.sum(|count| is_futex(count, does)));
    let slept = waits.calls.saturating_sub(errors(&waits, "EAGAIN"));
    let surplus = wakes.calls.saturating_sub(slept);
    if surplus < MANY || caller.processes > 1 {
        return Vec::new();
    }
    let part = caller.some(surplus, |count| is_futex(count, "wake"));
    vec![part.avoid(slept)]
}
