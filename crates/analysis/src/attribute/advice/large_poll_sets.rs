//! Polls of many descriptors, which the kernel visits one by one.

use super::caller::{Caller, Rule, is_one_of};
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "large-poll-sets",
    least: 0.05,
    phrase: "{calls} on 64 or more descriptors",
    change: "epoll keeps the set in the kernel and reports only what is ready",
    find: |caller: &Caller| {
        let part = caller.whole(large);
        let epoll_s = part.calls as f64 * EPOLL_S;
        let saved = part.left_out().less(epoll_s);
        vec![part.advice(0, saved)]
    },
};

const LARGE_SET: u64 = 64;
/// The cost of epoll, which visits only the descriptors that are ready.
const EPOLL_S: f64 = 0.3e-6;
/// The least that a poll takes to visit a descriptor: of select it is not known how many are in its sets, only the greatest.
const VISIT_NS: f64 = 8.0;

fn large(count: &CallCount) -> bool {
    let set = count.class.set.unwrap_or(0);
    let visits = count
        .mean_on_cpu_ns()
        .is_none_or(|ns| ns > set as f64 * VISIT_NS);
    is_one_of(count, "poll ppoll select pselect6 _newselect") && set >= LARGE_SET && visits
}
