//! Advice and warnings of an attribution, in words. All formats of attributions call it.

use crate::attribute::AttributionWarning;
use crate::attribute::advice::{Advice, Rule};
use crate::report::attribution::notes::basis;

/// What to do, and the unit costs that say so.
pub fn advice(advice: &Advice) -> (String, String) {
    let what = match advice.rule {
        Rule::SmallTransfers { call, buffered } => {
            format!("{call}s of under 128 bytes: a buffer of 4 KiB would {call} the same data in {buffered} calls")
        }
        Rule::RealClockCalls { call } => format!(
            "{call} enters the kernel: the vDSO would answer in user mode, except for CPU-time clocks (another clock \
             source, a static or 32-bit program, or a direct syscall() prevents that)"
        ),
        Rule::IdentityCalls { call } => format!("repeated {call}: its result does not change and can be cached"),
        Rule::SyncPerRecord { writes } => format!(
            "syncs for {writes} writes: one sync for ten records would save nine of ten waits (includes waiting time)"
        ),
        Rule::Probing => {
            "lookups that fail with ENOENT: use a shorter search path, or cache which names do not exist".to_string()
        }
        Rule::StatStorm => "stats of existing files: an upper bound, if the same files are asked for again".to_string(),
        Rule::ForkForExec => {
            "fork followed by exec: vfork or posix_spawn copies no page tables (saves more in a large \
                              process)"
                .to_string()
        }
        Rule::FutexTraffic => {
            "futex calls, each a lock or condition held by another thread: an upper bound, if locks are \
                               free (blocked time comes on top)"
                .to_string()
        }
        Rule::LargePollSets => "polls of 64 or more descriptors: epoll keeps the set in the kernel".to_string(),
    };
    (what, advice.basis.iter().map(basis).collect::<Vec<_>>().join(" and "))
}

/// A warning, without a full stop.
pub fn warning(warning: &AttributionWarning) -> String {
    match warning {
        AttributionWarning::NoUnitCosts { .. } => {
            "no unit costs for this machine, so bare crossings, page faults and savings have no price; measure them with \
             'syscost run --for profile.json --out here.json' and pass --costs here.json"
                .to_string()
        }
        AttributionWarning::NoNullCall { costs } => {
            format!("{costs}: no null call, so bare crossings have no price; measure id.getppid too")
        }
        AttributionWarning::IncompleteProfile => "the profile is incomplete: all counts are lower bounds".to_string(),
        AttributionWarning::NoIntervals { costs } => {
            format!(
                "{costs}: results without intervals, so ranges hold the model's error alone, and crossings have none"
            )
        }
        AttributionWarning::Concurrency { peak, costs, measured_with } => {
            let ran = match peak {
                Some(peak) => format!("up to {peak} threads were in the kernel at once"),
                None => "several processes or threads ran (it is not known how many at once)".to_string(),
            };
            let plural = if *measured_with == 1 { "" } else { "s" };
            format!(
                "{ran}, but the unit costs ({costs}) were measured with {measured_with} thread{plural}: calls that contend for \
                 a lock or an object cost more than that"
            )
        }
        AttributionWarning::Recorded { text } => text.clone(),
    }
}
