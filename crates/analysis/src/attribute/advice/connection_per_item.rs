//! Connections that are made for each item, and used for a few messages.

use super::caller::{Caller, Rule, done, errors, is_on, is_one_of};
use super::output::Advice;
use model::CallCount;
use model::DescriptorKind::Socket;

pub static RULE: Rule = Rule {
    name: "connection-per-item",
    least: 0.1,
    phrase: "{calls} for {items} connections",
    change: "keep the connection open for the next item",
    find,
};

const LOOP: u64 = 20;
/// Sends on a connection beyond which it was worth making.
const FEW: u64 = 4;

fn find(caller: &Caller) -> Vec<Advice> {
    let made = caller.sum(connects);
    // A non-blocking connect that is under way returns EINPROGRESS.
    let made = done(&made).saturating_add(errors(&made, "EINPROGRESS"));
    if made < caller.processes.saturating_mul(LOOP)
        || caller.sum(sends).calls > made.saturating_mul(FEW)
    {
        return Vec::new();
    }
    let part = caller
        .whole(connects)
        .with_each_named(made, &["socket", "setsockopt", "shutdown", "getsockopt"])
        .with_each(made, |count| {
            is_one_of(count, "close") && is_on(count, Socket)
        });
    // The other end's work, and switches to it, may be part of the wait for it.
    let saved = part.left_out().times([1.0, 1.2, 1.6]);
    vec![part.advice(made, saved)]
}

fn connects(count: &CallCount) -> bool {
    is_one_of(count, "connect")
}

fn sends(count: &CallCount) -> bool {
    is_one_of(count, "sendto sendmsg send")
        || (is_on(count, Socket) && is_one_of(count, "write writev"))
}
