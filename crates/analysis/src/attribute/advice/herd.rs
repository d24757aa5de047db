//! Thundering herd: threads poll the same listening socket; each connection wakes all of them, and one accepts it.

use super::caller::{Caller, POLLS, Rule, is_one_of};
use super::output::Advice;
use crate::attribute::seconds::Seconds;
use model::syscall_names::bare_name;
use model::{CallCount, Peer};
use std::collections::BTreeSet;

pub static RULE: Rule = Rule {
    name: "herd",
    least: 0.01,
    phrase: "{calls}, a herd: {items} threads woken for each connection",
    change: "wake one: EPOLLEXCLUSIVE, or a listening socket for each (SO_REUSEPORT)",
    find,
};

/// Threads that wait for connections.
const THREADS: usize = 4;
const SOME: u64 = 100;
// Chosen with bench/services/check: a higher number would leave out smaller herds.
const HERD: u64 = 4;

fn find(caller: &Caller) -> Vec<Advice> {
    let connections = caller.succeeded("accept accept4");
    let woken = woken(caller) / connections.max(1);
    if connections < SOME || woken < HERD || threads(caller) < THREADS {
        return Vec::new();
    }
    let part = caller.whole(polls);
    let in_vain = 1.0 - 1.0 / woken as f64;
    let saved = Seconds::scaled(part.takes_s() * in_vain, [0.5, 1.0, 1.3]);
    vec![part.advice(woken, saved)]
}

fn polls(count: &CallCount) -> bool {
    is_one_of(count, POLLS)
}

/// How often a thread slept in a poll, which returns only if there is something left for it. Among all switches, those of other calls
/// are at least one for each that waited.
fn woken(caller: &Caller) -> u64 {
    let profile = caller.profile;
    let others = profile.groups.iter().flat_map(|group| {
        let is_caller = group.name == caller.name;
        group
            .calls
            .iter()
            .filter(move |count| !(is_caller && polls(count)))
    });
    let waited = others.filter(|count| count.blocked_ns > Some(0));
    let waited: u64 = waited.map(|count| count.calls).sum();
    let switches = profile.usage.voluntary_switches.unwrap_or(0);
    switches.saturating_sub(waited)
}

fn threads(caller: &Caller) -> usize {
    let polling = caller.profile.waits.iter().filter(|wait| {
        let call = bare_name(&wait.call);
        let polls = POLLS.split(' ').any(|name| name == call);
        polls && wait.process == caller.name && wait.peer == Some(Peer::Anybody)
    });
    let threads: BTreeSet<u32> = polling.filter_map(|wait| wait.tid).collect();
    threads.len()
}
