//! Asking again and again for what a waiting call would tell: yields, children, signals, locks on files and files that must be new.

use super::caller::{Caller, OPENS, Part, Rule, is_one_of};
use super::failures::of_error;
use super::found::Advice;
use super::repeats::{AGAIN, CHILDREN, Repeat, repeat, repeats};
use crate::attribute::seconds::Seconds;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "spin",
    least: 0.05,
    phrase: "{calls}",
    change: "use a call that blocks until the event: a futex, a blocking lock or wait, poll",
    find,
};

const REPEATS: &[Repeat] = &[
    repeat("sched_yield", &[]),
    repeat("wait4 waitpid waitid", &[CHILDREN]),
    repeat("kill tgkill getppid", &[CHILDREN]),
    Repeat {
        operations: "FIONREAD",
        ..repeat("ioctl", &["read readv recvfrom recvmsg"])
    },
];

fn find(caller: &Caller) -> Vec<Advice> {
    let mut found = repeats(caller, REPEATS, 0.0);
    for one in &mut found {
        one.saved = one.saved.map(|saved| faster(saved, caller, one.calls));
    }
    found.extend(held(caller));
    found
}

fn held(caller: &Caller) -> Option<Advice> {
    let locks = |count: &CallCount| is_one_of(count, "flock fcntl fcntl64");
    let files = of_error(caller, "EEXIST", |count| is_one_of(count, OPENS));
    let locks = of_error(caller, "EAGAIN", locks);
    let part = if locks.calls > files.calls {
        locks
    } else {
        files
    };
    if part.calls <= caller.processes.saturating_mul(AGAIN) {
        return None;
    }
    let saved = spun(&part);
    Some(part.advice(0, saved))
}

pub fn spun(part: &Part) -> Seconds {
    faster(part.left_out(), part.caller, part.calls)
}

/// A loop that waits for something takes as long untraced: it turns more often then.
fn faster(saved: Seconds, caller: &Caller, calls: u64) -> Seconds {
    let (least_s, traced_s) = caller.traced_s(calls);
    saved.plus(Seconds {
        value: traced_s * 0.85,
        low: least_s,
        high: traced_s * 1.2,
    })
}
