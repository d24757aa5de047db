//! The unprivileged tracer: every call of the tree stops at its entry and its end or, for counts only, at its entry by
//! a seccomp filter. Exact, and slow: microseconds per call. `sys::follow` reports events; this turns them into counts.
//!
//! Time on the CPU and latencies would be those of the stops, so they are not recorded; only how long calls were blocked is
//! (see `blocked`).

mod account;
mod blocked;
mod calibrate;
mod descriptors;
mod objects;
mod open;
mod stops;
mod tally;
mod tree;

use super::{Detail, TraceOptions, Tracer, TracerKind};
use crate::kept::Kept;
use anyhow::Result;
use stops::PtraceTracer;
use sys::follow::Stops;
use sys::status::Status;
pub use tree::LOST_PRIVILEGE;

pub const KIND: TracerKind = TracerKind {
    name: "ptrace",
    what: "Each call stops twice: exact, unprivileged, slow. With --counts it stops once",
    open,
};

fn open(options: &TraceOptions) -> Result<Box<dyn Tracer>> {
    options.for_processes_only()?;
    // A filter that the command inherits would answer calls before ours sees them.
    let inherits = Status::of_task("self").number("Seccomp") > Some(0u8);
    let filter = options.detail == Detail::Counts && options.held() && !inherits;
    let stops = if filter { Stops::Filter } else { Stops::Calls };
    let times = options.detail == Detail::Times;
    let kept = Kept::for_tracer(
        &format!(
            "ptrace{}{}",
            if filter { "-filter" } else { "" },
            if times { "-times" } else { "" }
        ),
        &[],
    );
    let calibration = match kept.as_ref().and_then(Kept::load) {
        Some(before) => before,
        None => {
            let calibration = calibrate::calibrate(stops, times)?;
            // On a busy machine nothing is known: the next trace measures again.
            let known = calibration
                .added
                .is_some_and(|added| added.added().is_some());
            if known && let Some(kept) = &kept {
                kept.save(&calibration);
            }
            calibration
        }
    };
    let mut tracer = PtraceTracer::new(stops, times, calibration);
    tracer.waits = options.more.waits && times;
    tracer.tree.paths = options.more.paths;
    if tracer.waits {
        tracer.tree.tally.within_ns = calibration.within_cpu_ns;
    }
    Ok(Box::new(tracer))
}
