//! Rules about waiting: polls that find nothing, polls of many descriptors, wake-ups for nothing, and futexes.

use super::caller::{Caller, FUTEX, INPUTS, POLLS, does, done, errors, is_one_of, s, share};
use super::rule::{Advice, Rule};
use crate::attribute::seconds::Seconds;
use crate::model::CallCount;

/// Calls that a poll may have announced besides reads.
const OUTPUTS: &[&str] = &[
    "write",
    "writev",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "send",
    "connect",
    "sendfile",
    "splice",
    "getsockopt",
    "ioctl",
    "wait4",
];

/// Fewer calls than this do not matter.
const MANY: u64 = 1000;

/// Profiles have no results of polls. But each that announces something is followed by a call on that descriptor, so those
/// beyond the number of such calls found nothing. Polls that waited are left alone: a timer may be meant.
pub fn empty_polls(caller: &Caller) -> Vec<Advice> {
    let polls = caller.named(POLLS);
    let [inputs, outputs] = [INPUTS, OUTPUTS].map(|names| caller.named(names).calls);
    let waited = polls.blocked_ns.is_none_or(|blocked| blocked > polls.on_cpu_ns.unwrap_or(0));
    let empty = polls.calls.saturating_sub(inputs);
    if waited || empty < MANY || empty < inputs.saturating_add(outputs) {
        return Vec::new();
    }
    let part = caller.part(|count| if is_one_of(count, POLLS) { share(empty, polls.calls) } else { 0.0 });
    let Seconds { value, low, high } = part.left_out();
    let surely = share(empty.saturating_sub(outputs), empty);
    vec![Advice { items: inputs, ..part.advice(Rule::EmptyPolls, Seconds { value, low: low * surely, high }) }]
}

/// Descriptors in a set that is better kept in the kernel.
const LARGE_SET: u64 = 64;

/// What epoll takes, which visits only those that are ready.
const EPOLL_S: f64 = 0.3e-6;
/// The least that a poll takes to visit a descriptor: of select it is not known how many are in its sets, only the greatest.
const VISIT_NS: f64 = 8.0;

pub fn large_poll_sets(caller: &Caller) -> Vec<Advice> {
    let polls = &["poll", "ppoll", "select", "pselect6", "_newselect"];
    let large = |count: &CallCount| {
        let set = count.class.set.unwrap_or(0);
        let visits = count.mean_on_cpu_ns().is_none_or(|ns| ns > set as f64 * VISIT_NS);
        is_one_of(count, polls) && set >= LARGE_SET && visits
    };
    let part = caller.whole(large);
    let Seconds { value, low, high } = part.left_out();
    let epoll = part.calls as f64 * EPOLL_S;
    let saved = Seconds { value: (value - epoll).max(0.0), low: (low - 3.0 * epoll).max(0.0), high };
    vec![part.advice(Rule::LargePollSets, saved)]
}

/// Questions that are no work.
const ASKS: &[&str] = &["clock_gettime", "gettimeofday", "time", "wait4", "waitid", "kill", "getppid", "sched_yield"];
const SLEEPS: &[&str] = &["nanosleep", "clock_nanosleep"];
/// Wake-ups a second that keep a CPU from sleeping.
const OFTEN: f64 = 50.0;
/// The most of the wall time that an idle process computes.
const IDLE: f64 = 0.3;

/// A process that is woken by its own time-outs and does nothing then. One that does something each time is paced.
pub fn wake_ups(caller: &Caller) -> Vec<Advice> {
    let times_out = |count: &CallCount| is_one_of(count, FUTEX) && errors(count, "ETIMEDOUT") > 0;
    let sleeps = |count: &CallCount| is_one_of(count, SLEEPS) || is_one_of(count, POLLS) || times_out(count);
    let all = caller.sum(sleeps);
    let wakes = errors(&caller.named(FUTEX), "ETIMEDOUT").saturating_add(caller.named(SLEEPS).calls);
    let polls = caller.named(POLLS).calls.saturating_sub(caller.received());
    let wakes = wakes.saturating_add(polls);
    let wall_s = caller.profile.usage.wall_ns.map_or(0.0, s);
    let idle = all.blocked_ns > all.on_cpu_ns && caller.cpu_s < wall_s * IDLE;
    let paced = caller.counts.iter().any(|count| {
        !sleeps(count) && !is_one_of(count, ASKS) && done(count).saturating_mul(5) > wakes.saturating_mul(4)
    });
    if !idle || paced || (wakes as f64) < OFTEN * wall_s.max(1.0) {
        return Vec::new();
    }
    let part = caller.part(|count| if sleeps(count) { share(wakes, all.calls) } else { 0.0 });
    let calls = part.left_out();
    // A switch to another thread and back comes with each.
    let saved = Seconds { value: calls.value * 2.0, low: calls.low, high: (calls.high * 3.0).max(caller.cpu_s) };
    vec![Advice { items: wakes, ..part.advice(Rule::WakeUps, saved) }]
}

fn futexes(caller: &Caller, operation: &str) -> CallCount {
    let is = |count: &CallCount| count.class.operation.as_deref().is_some_and(|name| name.starts_with(operation));
    caller.sum(|count| is_one_of(count, FUTEX) && is(count))
}

/// Wakes beyond the waits that slept: each of them woke nobody, for one that wakes somebody ends a wait.
pub fn wakes_of_nobody(caller: &Caller) -> Vec<Advice> {
    let (waits, wakes) = (futexes(caller, "wait"), futexes(caller, "wake"));
    let slept = waits.calls.saturating_sub(errors(&waits, "EAGAIN"));
    let surplus = wakes.calls.saturating_sub(slept);
    if surplus < MANY || caller.processes > 1 {
        return Vec::new();
    }
    let wakes_part = caller
        .part(|count| if is_one_of(count, FUTEX) && does(count, "wake") { share(surplus, wakes.calls) } else { 0.0 });
    vec![Advice { items: slept, ..wakes_part.avoid(Rule::WakesOfNobody) }]
}

/// At most this is saved: some locks are held by others. Time blocked in them comes on top.
pub fn futex_traffic(caller: &Caller) -> Vec<Advice> {
    let waits = futexes(caller, "wait");
    if done(&waits) < MANY {
        return Vec::new();
    }
    let part = caller.whole(|count| is_one_of(count, FUTEX));
    let calls = part.left_out();
    // A thread that wakes another is often preempted by it, and who sleeps is woken late: as long again, and more.
    let saved = Seconds { value: calls.value, low: 0.0, high: calls.high * 3.0 };
    vec![Advice { items: waits.calls, ..part.advice(Rule::FutexTraffic, saved) }]
}
