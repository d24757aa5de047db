//! The unprivileged tracer: every call of the tree stops at its entry and its end or, for counts only, at its entry by
//! a seccomp filter. Exact, and slow: microseconds per call.
//!
//! `sys::follow` reports events; this turns them into counts. Called through `choose`.
//!
//! Of times only those that the tracer did not make are kept: how long calls were blocked (see `blocked`). Not known are time
//! on the CPU and latencies, which are those of the stops.

mod account;
mod blocked;
mod calibrate;
mod descriptors;
mod stops;
mod tally;
mod tree;
mod waited;

use super::{Detail, TraceOptions, Tracer, TracerKind};
use crate::kept::Kept;
use anyhow::Result;
use stops::PtraceTracer;
use sys::follow::Stops;
pub use tree::LOST_PRIVILEGE;

pub const KIND: TracerKind = TracerKind {
    name: "ptrace",
    what: "Each call stops twice: exact, unprivileged, slow. With --counts it stops once",
    open,
};

/// Opens and calibrates the tracer.
fn open(options: &TraceOptions) -> Result<Box<dyn Tracer>> {
    options.for_processes_only()?;
    let filter = options.detail == Detail::Counts && options.held();
    let stops = if filter { Stops::Filter } else { Stops::Calls };
    let times = options.detail == Detail::Times;
    let kept = Kept::of(
        &format!(
            "ptrace{}{}",
            if filter { "-filter" } else { "" },
            if times { "-times" } else { "" }
        ),
        &[],
    );
    let calibration = match kept.as_ref().and_then(Kept::found) {
        Some(before) => before,
        None => {
            let calibration = calibrate::calibrate(stops, times)?;
            // Not of a machine that was too busy to know it.
            let known = calibration
                .added
                .is_some_and(|added| added.added().is_some());
            kept.iter()
                .filter(|_| known)
                .for_each(|kept| kept.keep(&calibration));
            calibration
        }
    };
    let mut tracer = PtraceTracer::new(stops, times, calibration);
    tracer.waits = options.more.waits && times;
    Ok(Box::new(tracer))
}
