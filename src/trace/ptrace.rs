//! The unprivileged tracer: every call of the tree stops at its entry and its end, or, for counts alone, at its entry by
//! a seccomp filter. Exact, and slow: microseconds a call.
//!
//! `kernel::follow` says what happens; here that becomes counts. Called by way of `choose`.
//!
//! Times: a call's elapsed time runs from its tracee being let go at the entry to its stop at the end. On the CPU it was
//! by the tracee's own CPU clock, which holds a part of the stops as well; a null call calibrates that part, and it is
//! subtracted. The rest of the elapsed time, less what it is for a null call, is taken as blocked if the tracee left its
//! CPU meanwhile: waiting, and also waiting for a CPU, which is not told from it. Neither is ever below 0.

mod arguments;
mod attach;
mod calibrate;
mod calibration;
mod descriptors;
mod stops;
mod tally;
mod tree;

use super::{Detail, Kind, Options, Tracer};
use crate::kernel::follow::Stops;
use anyhow::Result;
use stops::PtraceTracer;

pub const KIND: Kind = Kind {
    name: "ptrace",
    what: "Each call stops twice: exact, unprivileged, slow. With --counts it stops once",
    automatic: true,
    named_calls: false,
    open,
};

/// Opens and calibrates one.
///
/// # Errors
/// Where ptrace is refused.
fn open(options: &Options) -> Result<Box<dyn Tracer>> {
    let filter = options.detail == Detail::Counts && options.held;
    let stops = if filter { Stops::Filter } else { Stops::Calls };
    let times = options.detail == Detail::Times;
    let calibration = calibrate::calibrate(stops, times)?;
    Ok(Box::new(PtraceTracer::new(stops, times, calibration)))
}
