//! Locks and conditions that sleep and wake.

use super::caller::{Caller, FUTEX, Rule, done, is_one_of};
use super::found::Advice;
use crate::attribute::seconds::Seconds;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "futex-traffic",
    least: 0.2,
    phrase: "{calls}, {items} of them waits",
    change: "hand over several items per wake-up, and hold locks for less time",
    find,
};

const MANY: u64 = 1000;

pub fn futexes(caller: &Caller, operation: &str) -> CallCount {
    let is = |count: &CallCount| {
        count
            .class
            .operation
            .as_deref()
            .is_some_and(|name| name.starts_with(operation))
    };
    caller.sum(|count| is_one_of(count, FUTEX) && is(count))
}

/// A thread that wakes another is often preempted by it, and who sleeps is woken late: as long again. Some locks are held by others
/// for a reason.
fn find(caller: &Caller) -> Vec<Advice> {
    let waits = futexes(caller, "wait");
    if done(&waits) < MANY {
        return Vec::new();
    }
    let part = caller.whole(|count| is_one_of(count, FUTEX));
    let Seconds { value, low, high } = part.left_out();
    let saved = Seconds {
        value: value * 1.25,
        low: low * 0.8,
        high: high * 1.5,
    };
    vec![Advice {
        items: waits.calls,
        ..part.advice(&RULE, saved)
    }]
}
