//! Locks on files that one process takes, again and again, and never had to wait for.

use super::caller::{Caller, Rule, STATS, errors, is_one_of, waited};
use super::output::Advice;
use crate::attribute::seconds::Seconds;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "locks",
    least: 0.05,
    phrase: "{calls} without any contention",
    change: "if no other process uses the file, lock it only once (in SQLite: a transaction, or locking_mode=exclusive)",
    find,
};

const SOME: u64 = 100;

pub fn locks(count: &CallCount) -> bool {
    let does = count.class.operation.as_deref();
    is_one_of(count, "flock")
        || (is_one_of(count, "fcntl fcntl64") && does.is_some_and(|name| name.contains("setlk")))
}

fn find(caller: &Caller) -> Vec<Advice> {
    let all = caller.sum(locks);
    // One process may wait for the device; of several, those that wait wait for each other.
    let has_waited = if caller.processes > 1 {
        all.blocked_ns > Some(0)
    } else {
        waited(&all)
    };
    let is_wanted = ["EAGAIN", "EACCES", "EINTR"]
        .iter()
        .any(|error| errors(&all, error) > 0)
        || has_waited;
    if caller.workload.locks > all.calls || is_wanted || all.calls < SOME {
        return Vec::new();
    }
    let part = caller.whole(locks);
    // Who locks a file looks whether another process changed it.
    let looks_s = caller
        .some(all.calls, |count| {
            is_one_of(count, STATS) || is_one_of(count, "access pread64")
        })
        .takes_s();
    let saved = part
        .left_out()
        .plus(Seconds::scaled(looks_s, [0.0, 0.5, 1.2]));
    vec![part.advice(0, saved)]
}
