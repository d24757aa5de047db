//! Locks and conditions that sleep and wake.

use super::caller::{Caller, FUTEX, Rule, done, is_one_of};
use super::output::Advice;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "futex-traffic",
    least: 0.2,
    phrase: "{calls}, {items} of them waits",
    change: "hand over several items per wake-up, and hold locks for less time",
    find,
};

const MANY: u64 = 1000;

/// `wait_bitset` waits too.
/// Whether these are calls of futex with an operation of this name, of any variant.
pub fn is_futex(count: &CallCount, operation: &str) -> bool {
    let does = count.class.operation.as_deref();
    is_one_of(count, FUTEX) && does.is_some_and(|name| name.starts_with(operation))
}

/// A thread that wakes another is often preempted by it, and who sleeps is woken late: as long again. Some locks are held by others
/// for a reason.
fn find(caller: &Caller) -> Vec<Advice> {
    let waits = caller.sum(|count| is_futex(count, "wait"));
    if done(&waits) < MANY {
        return Vec::new();
    }
    let part = caller.whole(|count| is_one_of(count, FUTEX));
    let saved = part.left_out().times([0.8, 1.25, 1.5]);
    vec![part.advice(waits.calls, saved)]
}
