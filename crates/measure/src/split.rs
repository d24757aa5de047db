//! Samples of user and system mode: a timer interrupts each case in a fresh probe
//! (`probe/sampler.c`).

use crate::runner::Workers;
use model::{Failure, ModeSamples, Planned};
use std::time::Duration;

/// The time for each case, unless the caller has less: a few hundred samples, enough to know a share to two percentage
/// points.
pub const TIME: Duration = Duration::from_millis(33);

/// Samples the mode for `time`. `None` for a snippet, for an operation that uses several threads or processes, enters the kernel
/// by faults, or sleeps, and if the pass failed: if the failure is the operation's own, proof and
/// measurement fail too.
pub fn split(workers: &Workers, planned: &Planned, time: Duration) -> Option<ModeSamples> {
    if !can_be_sampled(planned) {
        return None;
    }
    let samples = sample(workers, planned, time).ok()?;
    // Without a sample the share is unknown, not 0.
    (samples.user + samples.system > 0).then_some(samples)
}

fn can_be_sampled(planned: &Planned) -> bool {
    let traits = planned.traits;
    planned.case.language.is_none()
        && !planned.adds_processes
        && !traits.switches
        && !traits.children
        && !traits.faults
}

fn sample(workers: &Workers, planned: &Planned, time: Duration) -> Result<ModeSamples, Failure> {
    workers.start_greeted(&planned.case)?.sample(time)
}
