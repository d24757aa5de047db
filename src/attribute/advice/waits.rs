//! Rules about waiting: polls that find nothing, polls of many descriptors, and futexes.

use super::caller::{Caller, INPUTS, POLLS, errors, is_one_of};
use super::rule::{Advice, Rule, Time};
use crate::attribute::breakdown::s;
use crate::attribute::costs::{Basis, UnitCost};
use crate::attribute::spread::{MODEL_SD, Seconds, less, plus};
use crate::model::{CallCount, Class};

/// Calls that a poll may have announced besides reads.
const OUTPUTS: &str = "write writev sendto sendmsg sendmmsg send connect sendfile splice getsockopt ioctl wait4";

/// Profiles have no results of polls. But each that announces something is followed by a call on that descriptor, so those
/// beyond the number of such calls found nothing. Polls that waited are left alone: a timer may be meant.
pub fn empty_polls(caller: &Caller) -> Vec<Advice> {
    let polls = caller.named(POLLS);
    let outputs: Vec<&str> = OUTPUTS.split_whitespace().collect();
    let [inputs, outputs] = [INPUTS, &outputs].map(|names| caller.named(names).calls);
    let waited = match (polls.blocked_ns, polls.on_cpu_ns) {
        (Some(blocked), Some(on_cpu)) => blocked > on_cpu,
        _ => true,
    };
    let empty = polls.calls.saturating_sub(inputs);
    if waited || !caller.are_many(empty) || empty < inputs.saturating_add(outputs) {
        return Vec::new();
    }
    let share = |calls: u64| calls as f64 / polls.calls as f64;
    let part = caller.part(|count| if is_one_of(count, POLLS) { share(empty) } else { 0.0 });
    let Some(saved) = part.takes(Time::Cpu) else { return Vec::new() };
    let surely = share(empty.saturating_sub(outputs)) / share(empty);
    let saved = Seconds { low: saved.low * surely, ..saved };
    vec![part.advice(Rule::EmptyPolls { inputs }, Some(saved), [])]
}

/// Descriptors in a set that is better kept in the kernel.
const LARGE_SET: u64 = 64;

pub fn large_poll_sets(caller: &Caller) -> Vec<Advice> {
    // Of select it is not known how many descriptors are in its sets.
    let polls = ["poll", "ppoll"];
    let large = |count: &CallCount| is_one_of(count, &polls) && count.class.set.is_some_and(|n| n >= LARGE_SET);
    let part = caller.whole(large);
    // epoll visits those that are ready: one is usual.
    let then = caller.costs.price("epoll_wait", &Class { set: Some(1), ..Class::default() });
    let calls = part.calls;
    let found =
        then.filter(|_| caller.are_many(calls)).and_then(|then| part.replaced(Rule::LargePollSets, calls, then));
    found.into_iter().collect()
}

const FUTEX: &[&str] = &["futex", "futex_time64"];

/// At most this is saved: some locks are held by others. Time blocked in them comes on top.
pub fn futex_traffic(caller: &Caller) -> Vec<Advice> {
    let (waits, wakes) = (futexes(caller, "wait"), futexes(caller, "wake"));
    let part = caller.whole(|count| is_one_of(count, FUTEX));
    let Some(calls) = part.takes(Time::Cpu).filter(|_| caller.are_many(part.calls / 10)) else { return Vec::new() };
    let (switches, bases) = preempted_wakers(caller, wakes.calls).unwrap_or_default();
    let free = caller.costs.user_mode("sync.mutex").map(|free| free.times(part.calls, 0.0)).unwrap_or_default();
    let saved = less(plus(calls, switches), free);
    // On which CPUs the threads of another run wake up decides more than what was measured.
    let most = Seconds::within(saved.value, MODEL_SD).high;
    let raced = errors(&waits, "EAGAIN");
    let blocked_s = caller.named(FUTEX).blocked_ns.map(s);
    let rule = Rule::FutexTraffic { waits: waits.calls, wakes: wakes.calls, raced, blocked_s };
    vec![part.advice(rule, Some(Seconds { low: 0.0, high: most, ..saved }), bases)]
}

fn futexes(caller: &Caller, operation: &str) -> CallCount {
    let is = |count: &CallCount| count.class.operation.as_deref().is_some_and(|name| name.starts_with(operation));
    caller.sum(|count| is_one_of(count, FUTEX) && is(count))
}

/// A thread that wakes another on its CPU is often preempted by it, on its way out of the call: that switch belongs to no
/// call. Its cost is half of a ping-pong, which has two of them, less a wake and a wait.
fn preempted_wakers(caller: &Caller, wakes: u64) -> Option<(Seconds, Vec<Basis>)> {
    let every = caller.profile.groups.iter().flat_map(|group| &group.calls);
    let all: u64 = every.filter(|count| is_one_of(count, FUTEX)).map(|count| count.calls).sum();
    let share = caller.named(FUTEX).calls as f64 / all.max(1) as f64;
    let switches = (caller.profile.usage.involuntary_switches? as f64 * share) as u64;
    let whole = caller.costs.price_of("sync.futex_pingpong")?;
    let calls = ["sync.futex_wake", "sync.futex_wait_fails"].map(|name| caller.costs.price_of(name));
    let each = whole.cost.ns / 2.0 - calls.into_iter().map(|price| Some(price?.cost.ns)).sum::<Option<f64>>()?;
    let cost = UnitCost { ns: each.max(0.0), ..whole.cost };
    let basis = Basis { less: &["sync.futex_wake", "sync.futex_wait_fails"], ..whole.basis };
    Some((cost.times(switches.min(wakes), MODEL_SD), vec![basis]))
}
