//! Small sends in a row over TCP: the second waits for the acknowledgement of the first (Nagle's algorithm), which the other end delays.

use super::caller::{Caller, INPUTS, POLLS, Rule, is_on, is_one_of, s};
use super::output::Advice;
use crate::attribute::seconds::Seconds;
use model::{CallCount, DescriptorKind::Socket, Histogram};
use std::collections::BTreeSet;

pub static RULE: Rule = Rule {
    name: "delayed-acks",
    least: 0.05,
    phrase: "{calls}, {items} of which waited 40 ms",
    change: "the second of two small sends waits for a delayed acknowledgement: send both at once (writev, MSG_MORE), or set TCP_NODELAY",
    find,
};

/// TCP_DELACK_MIN is a 25th of a second, and timers are late by less than two ticks (tcp(7)).
const DELAY_NS: (f64, f64) = (39.5e6, 49e6);
const SOME: u64 = 5;
const PACKET: u64 = 1460;

fn find(caller: &Caller) -> Vec<Advice> {
    let part = caller.whole(is_late_receive);
    let names: BTreeSet<&str> = caller
        .counts
        .iter()
        .filter(|count| is_late_receive(count))
        .map(|count| count.call.as_str())
        .collect();
    let latencies = &caller.profile.latencies;
    let times: Vec<(f64, u64)> = if latencies.is_empty() {
        means(caller, &names)
    } else {
        let timed = names.iter().filter_map(|name| latencies.get(*name));
        timed.flat_map(Histogram::times).collect()
    };
    let (waits, ns) = times
        .into_iter()
        .filter(|(ns, _)| (DELAY_NS.0..DELAY_NS.1).contains(ns))
        .fold((0, 0.0), |(waits, sum), (ns, calls)| {
            (waits + calls, sum + ns * calls as f64)
        });
    // Answers that the tracer saw held back are certain; the lengths of waits only suggest them.
    if let Some(advice) = held(caller) {
        return vec![advice];
    }
    let waits = waits.min(part.calls);
    // If waits of other lengths outweigh these, the other end is slow, and no acknowledgement is at fault.
    if waits < SOME || caller.sum(is_small_send).calls < waits || ns / 1e9 < part.waited_s() / 2.0 {
        return Vec::new();
    }
    vec![part.advice_with_waiting(waits, saved(caller, ns / 1e9))]
}

fn is_small_send(count: &CallCount) -> bool {
    let sends = is_one_of(count, "sendto sendmsg send")
        || (is_on(count, Socket) && is_one_of(count, "write writev"));
    sends && count.class.size.is_some_and(|size| size < PACKET)
}

fn is_late_receive(count: &CallCount) -> bool {
    (is_one_of(count, INPUTS) && is_on(count, Socket) || is_one_of(count, POLLS))
        && count.blocked_ns > Some(0)
}

/// Where single calls are not timed (ptrace): the mean wait on each socket, and how many waits there were.
fn means(caller: &Caller, names: &BTreeSet<&str>) -> Vec<(f64, u64)> {
    let waits = caller.profile.waits.iter();
    waits
        .filter(|wait| wait.process == caller.name && names.contains(wait.call.as_str()))
        .map(|wait| {
            (
                wait.blocked_ns as f64 / wait.calls.max(1) as f64,
                wait.calls,
            )
        })
        .collect()
}

/// As the tracer saw at the sockets of clients, which wait for each of these by themselves.
fn held(caller: &Caller) -> Option<Advice> {
    let requests = caller.profile.requests.iter();
    let clients = requests.filter(|client| client.process == caller.name);
    let delayed: u64 = clients.map(|client| client.delayed).sum();
    let part = caller.whole(is_small_send);
    if delayed < SOME || part.calls < delayed {
        return None;
    }
    let waited_s = delayed as f64 * DELAY_NS.0 / 1e9;
    Some(part.advice_with_waiting(delayed, saved(caller, waited_s)))
}

/// Both ends may be seen, and connections wait side by side.
fn saved(caller: &Caller, waited_s: f64) -> Seconds {
    let states = caller.profile.usage.concurrency.as_ref();
    let idle_s = states.map_or(f64::MAX, |time| s(time.blocked_ns));
    Seconds::scaled(waited_s.min(idle_s), [0.6, 1.0, 1.1])
}
