//! Reads that find nothing (EAGAIN).

use super::caller::{Caller, INPUTS, POLLS, Rule, done, errors, is_one_of, share};
use super::found::Advice;
use super::spin::spun;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "empty-reads",
    least: 0.05,
    phrase: "{calls} with nothing to read (EAGAIN)",
    change: "stop after a short read, or wait with poll or epoll before reading",
    find,
};

const MANY: u64 = 1000;

/// Beyond one for each poll: who is notified of input by the edge may read until there is none. Of `accept` there is no other way. A
/// program that tries before it waits, as Go's runtime does, tries once for each message.
fn find(caller: &Caller) -> Vec<Advice> {
    let reads = |count: &CallCount| is_one_of(count, INPUTS) && !is_one_of(count, "accept accept4");
    let all = caller.sum(reads);
    let (empty, polls) = (errors(&all, "EAGAIN"), caller.named(POLLS).calls);
    let tries = if polls.saturating_mul(20) > done(&all) {
        done(&all)
    } else {
        0
    };
    let surplus = empty.saturating_sub(polls).saturating_sub(tries);
    if surplus < MANY {
        return Vec::new();
    }
    let left = share(surplus, empty);
    let part = caller.part(|count| {
        if reads(count) {
            left * share(errors(count, "EAGAIN"), count.calls)
        } else {
            0.0
        }
    });
    let saved = spun(&part);
    vec![part.advice(0, saved)]
}
