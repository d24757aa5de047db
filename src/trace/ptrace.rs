//! The unprivileged tracer: every call of the tree stops at its entry and its end or, for counts only, at its entry by
//! a seccomp filter. Exact, and slow: microseconds per call.
//!
//! `kernel::follow` reports events; this turns them into counts. Called through `choose`.
//!
//! Times: a call's elapsed time runs from when its tracee is resumed at the entry to its stop at the end. Its time on
//! the CPU is by the tracee's own CPU clock, which includes a part of the stops; that part is calibrated with null
//! calls and subtracted. The rest of the elapsed time, minus that of a null call, counts as blocked if the tracee left
//! its CPU meanwhile. That includes waiting for a CPU, which cannot be distinguished. Neither is ever below 0.

mod account;
mod arguments;
mod attach;
mod calibrate;
mod descriptors;
mod stops;
mod tally;
mod tree;

use super::{Detail, TraceOptions, Tracer, TracerKind};
use crate::kernel::follow::Stops;
use anyhow::Result;
use stops::PtraceTracer;

pub const KIND: TracerKind = TracerKind {
    name: "ptrace",
    what: "Each call stops twice: exact, unprivileged, slow. With --counts it stops once",
    automatic: true,
    named_calls: false,
    open,
};

/// Opens and calibrates the tracer.
///
/// # Errors
/// If ptrace is refused.
fn open(options: &TraceOptions) -> Result<Box<dyn Tracer>> {
    let filter = options.detail == Detail::Counts && options.held();
    let stops = if filter { Stops::Filter } else { Stops::Calls };
    let times = options.detail == Detail::Times;
    let calibration = calibrate::calibrate(stops, times)?;
    Ok(Box::new(PtraceTracer::new(stops, times, calibration)))
}
