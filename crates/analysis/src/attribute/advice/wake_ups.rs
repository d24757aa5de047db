//! A process that does nothing but wake up by its own time-outs.

use super::caller::{Around, Caller, FUTEX, POLLS, Rule, done, errors, is_one_of, s, waited};
use super::output::Advice;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "wake-ups",
    least: 0.02,
    phrase: "{items} wake-ups by {names} with nothing to do",
    change: "wait for the event itself (poll without a timeout, a condition variable), or sleep longer",
    find,
};

const ASKS: &str = "clock_gettime gettimeofday time wait4 waitid kill getppid sched_yield";
const SLEEPS: &str = "nanosleep clock_nanosleep";
const OFTEN: f64 = 50.0;
const IDLE: f64 = 0.3;
/// User mode of a wake-up that finds nothing to do.
const NOTHING_S: Around = [(0.0, 20e-6), (0.0, 100e-6)];

fn find(caller: &Caller) -> Vec<Advice> {
    let all = caller.sum(sleeps);
    let wakes =
        errors(&caller.named(FUTEX), "ETIMEDOUT").saturating_add(caller.named(SLEEPS).calls);
    let polls = caller.named(POLLS).calls.saturating_sub(caller.received());
    let wakes = wakes.saturating_add(polls);
    let wall_s = caller.profile.usage.wall_ns.map_or(0.0, s);
    // Logs do not show CPU time.
    let idle = all.elapsed_ns.is_none() && waited(&all) && caller.cpu_s < wall_s * IDLE;
    let paced = caller.counts.iter().any(|count| {
        !sleeps(count)
            && !is_one_of(count, ASKS)
            && done(count).saturating_mul(5) > wakes.saturating_mul(4)
    });
    let works = caller.outside_s() > caller.within(NOTHING_S).1 * wakes as f64;
    if !idle || paced || works || (wakes as f64) < OFTEN * wall_s.max(1.0) {
        return Vec::new();
    }
    let part = caller.some(wakes, sleeps);
    // A switch to another thread and back comes with each.
    let mut saved = part.left_out().times([1.0, 2.0, 2.5]);
    // At most, the process would not run at all.
    saved.high = saved.high.max(caller.cpu_s);
    vec![part.advice(wakes, saved)]
}

fn sleeps(count: &CallCount) -> bool {
    is_one_of(count, SLEEPS)
        || is_one_of(count, POLLS)
        || is_one_of(count, FUTEX) && errors(count, "ETIMEDOUT") > 0
}
