//! Clock readings by system calls although the vDSO could answer.

use super::caller::Rule;
use super::repeats::{Repeat, repeat, repeats};

pub static RULE: Rule = Rule {
    name: "real-clock-calls",
    least: 0.02,
    phrase: "{calls}",
    change: "the vDSO could answer without a call; another clock source, a static or 32-bit program or a direct syscall() prevents \
             that",
    find: |caller| repeats(caller, REPEATS, 0.25),
};

/// Clocks that the vDSO reads (vdso(7)). That of CPU time always takes a call.
const VDSO: &str = "realtime monotonic monotonic_raw realtime_coarse monotonic_coarse boottime tai";

const REPEATS: &[Repeat] = &[
    Repeat {
        operations: VDSO,
        ..repeat("clock_gettime clock_gettime64", &[])
    },
    repeat("gettimeofday time", &[]),
];
