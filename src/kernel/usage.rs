//! The kernel's accounting of children that were waited for (getrusage(2)). Called by `trace`.

use crate::model::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// All children so far, and what they waited for in turn.
pub fn of_children() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    Usage {
        user_ns: Some(nanoseconds(usage.user_time())),
        system_ns: Some(nanoseconds(usage.system_time())),
        peak_rss_kib: Some(usage.max_rss().unsigned_abs()),
        minor_faults: Some(usage.minor_page_faults().unsigned_abs()),
        major_faults: Some(usage.major_page_faults().unsigned_abs()),
        voluntary_switches: Some(usage.voluntary_context_switches().unsigned_abs()),
        involuntary_switches: Some(usage.involuntary_context_switches().unsigned_abs()),
        ..Usage::default()
    }
}

fn nanoseconds(time: TimeVal) -> u64 {
    time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_usec().unsigned_abs() * 1000
}
