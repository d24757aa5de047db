//! Rules about questions that need no system call: what time it is, and who asks.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, Rule, Time};
use crate::attribute::costs::{Basis, Price};
use crate::attribute::units::bare_name;
use crate::model::CallCount;

/// A call and the operation by which the vDSO answers it.
const CLOCKS: &[(&str, &str)] =
    &[("clock_gettime", "time.clock_gettime"), ("gettimeofday", "time.gettimeofday"), ("time", "time.time")];

pub fn real_clock_calls(caller: &Caller) -> Vec<Advice> {
    let one = |(call, operation): &(&str, &str)| {
        let part = caller.whole(|count| is_one_of(count, &[call]) && has_vdso(count));
        // Measured without a kernel entry, or this machine has no such way.
        let cost = caller.costs.user_mode(operation).filter(|_| caller.are_many(part.calls))?;
        let basis = Basis { operation: (*operation).to_string(), at: None, less: &[] };
        let calls = part.calls;
        part.replaced(Rule::RealClockCalls, calls, Price { cost, beyond: 0.0, basis })
    };
    CLOCKS.iter().filter_map(one).collect()
}

/// Clocks that the vDSO reads (vdso(7)). That of CPU time always takes a call.
const VDSO: &[&str] =
    &["realtime", "monotonic", "monotonic_raw", "realtime_coarse", "monotonic_coarse", "boottime", "tai"];

fn has_vdso(count: &CallCount) -> bool {
    bare_name(&count.call) != "clock_gettime"
        || count.class.operation.as_deref().is_some_and(|clock| VDSO.contains(&clock))
}

/// Not who its parent is or what group it is in, which may change: to ask may be to wait for that.
const IDENTITY: &[&str] = &["getpid", "gettid", "getuid", "geteuid", "getgid", "getegid", "uname"];

pub fn identity_calls(caller: &Caller) -> Vec<Advice> {
    let one = |call: &&str| {
        let part = caller.whole(|count| is_one_of(count, &[call]));
        // A few thousand are asked for by any large program, such as a Java virtual machine.
        let saved = part.takes(Time::Cpu).filter(|_| caller.are_many(part.calls / 10))?;
        Some(part.advice(Rule::IdentityCalls, Some(saved), []))
    };
    IDENTITY.iter().filter_map(one).collect()
}
