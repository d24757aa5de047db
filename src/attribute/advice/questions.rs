//! Rules about questions that need no system call: what time it is, and who asks.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, MANY, Rule, Time};
use crate::attribute::costs::{Basis, Price};

/// A call and the operation by which the vDSO answers it.
const CLOCKS: &[(&str, &str)] =
    &[("clock_gettime", "time.clock_gettime"), ("gettimeofday", "time.gettimeofday"), ("time", "time.time")];

pub fn real_clock_calls(caller: &Caller) -> Vec<Advice> {
    let one = |(call, operation): &(&str, &str)| {
        let part = caller.whole(|count| is_one_of(count, &[call]));
        // Measured without a kernel entry, or this machine has no such way.
        let cost = caller.costs.user_mode(operation).filter(|_| part.calls >= MANY)?;
        let basis = Basis { operation: (*operation).to_string(), at: None, less: &[] };
        let calls = part.calls;
        part.replaced(Rule::RealClockCalls, calls, Price { cost, beyond: 0.0, basis })
    };
    CLOCKS.iter().filter_map(one).collect()
}

const IDENTITY: &[&str] = &[
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid", "getsid", "uname",
    "umask",
];

pub fn identity_calls(caller: &Caller) -> Vec<Advice> {
    let one = |call: &&str| {
        let part = caller.whole(|count| is_one_of(count, &[call]));
        let saved = part.takes(Time::Cpu).filter(|_| part.calls >= MANY)?;
        Some(part.advice(Rule::IdentityCalls, Some(saved), []))
    };
    IDENTITY.iter().filter_map(one).collect()
}
