//! The samples of CPUs as groups of calls: shares of the CPU time, and the time off the CPU.

use super::{decode, names, totals};
use crate::Grouping;
use model::{
    CALL_RETURN, CallCount, ENTERED_KERNEL, INTERRUPT, KERNEL_THREAD, PAGE_FAULT, Profile,
    USER_MODE,
};
use std::collections::BTreeMap;
use sys::bpf::layout::outside;
use sys::bpf::{Counted, Key, Raw};
use sys::functions::Functions;

/// Fills in groups whose rows are calls or ways into the kernel; a sample stands for its share of the CPU time of all tasks.
pub fn decode(raw: &Raw, grouping: Grouping, paths: &BTreeMap<u64, String>, into: &mut Profile) {
    let mut calls = raw.calls.iter();
    let functions = if calls.any(|(key, _)| key.number == outside::ENTERED) {
        Functions::of_kernel()
    } else {
        Functions::default()
    };
    let all: u64 = raw.calls.iter().map(|(_, counted)| counted.calls).sum();
    // Not the sampling period, which is not kept while interrupts are off. The CPU time is known exactly.
    let each_ns = ran_ns(raw) as f64 / all.max(1) as f64;
    // Calls that tasks are waiting in now have waits, but no samples.
    let waits = decode::open_calls(raw).map(|(key, counted)| {
        let counted = Counted {
            calls: 0,
            ..counted
        };
        (key, counted)
    });
    let counts = raw.calls.iter().copied().chain(waits);
    let counts = counts.map(|(key, counted)| {
        let count = CallCount {
            call: place(&key, &functions),
            ..sampled(&counted, each_ns)
        };
        (key.group, count)
    });
    into.groups = decode::groups(raw, counts, grouping, paths);
}

pub(super) fn ran_ns(raw: &Raw) -> u64 {
    totals::used(raw).map(|(_, used)| used.ran_ns).sum()
}

fn sampled(counted: &Counted, each_ns: f64) -> CallCount {
    CallCount {
        samples: Some(counted.calls),
        on_cpu_ns: Some((counted.calls as f64 * each_ns).round() as u64),
        blocked_ns: Some(counted.blocked),
        woken_ns: Some(counted.woken),
        runnable_ns: Some(counted.woken + counted.preempted),
        stalled_ns: Some(counted.stalled),
        ..CallCount::default()
    }
}

fn place(key: &Key, functions: &Functions) -> String {
    let other = match key.number {
        outside::USER => USER_MODE,
        outside::FAULT => PAGE_FAULT,
        outside::THREAD => KERNEL_THREAD,
        outside::RETURN => CALL_RETURN,
        outside::ENTERED => functions
            .containing(key.operation)
            .map_or(ENTERED_KERNEL, entry),
        _ => return names::name(key.number, key.gate),
    };
    other.to_string()
}

/// The way into the kernel, by the function that the processor entered it with: arch/x86/include/asm/idtentry.h, arch/arm64/kernel/entry.S.
pub(super) fn entry(function: &str) -> &'static str {
    const FAULTS: &str = "page_fault el0_sync el0t_64_sync el0t_32_sync el0_da el0_ia";
    const INTERRUPTS: &str = "interrupt sysvec irq";
    fn contains_any(function: &str, parts: &str) -> bool {
        parts.split(' ').any(|part| function.contains(part))
    }

    if contains_any(function, FAULTS) {
        PAGE_FAULT
    } else if contains_any(function, INTERRUPTS) {
        INTERRUPT
    } else {
        ENTERED_KERNEL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_calls_or_ways_into_the_kernel() {
        let text = "ffffffff81000000 T asm_exc_page_fault\nffffffff81000040 T asm_sysvec_call_function\nffffffff81000080 t other\n";
        let functions = Functions::parse(text, "tT");
        for (number, operation, expected) in [
            (libc::SYS_getppid as u16, 0, "getppid"),
            (outside::USER, 0, USER_MODE),
            (outside::FAULT, 0, PAGE_FAULT),
            (outside::ENTERED, 0x8100_0022, PAGE_FAULT),
            (outside::ENTERED, 0x8100_0041, INTERRUPT),
            (outside::ENTERED, 0x8100_0090, ENTERED_KERNEL),
            (outside::ENTERED, 0x1000, ENTERED_KERNEL),
        ] {
            let key = Key {
                number,
                operation,
                ..Key::default()
            };
            assert_eq!(place(&key, &functions), expected);
        }
    }
}
