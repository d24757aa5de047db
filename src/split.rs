//! Samples of the mode: an untimed pass lets a timer interrupt each case in a fresh probe and counts the modes it was
//! in. How that is done, and what could bias it, is told in `probe/sampler.c`. Called by the session, beside the proof;
//! what the counts say is `stats::user_share`'s.

use crate::model::{Failure, ModeSamples, Planned};
use crate::runner::Workers;
use std::time::Duration;

/// CPU time that the pass spends on a case: some hundred samples, so that a share is known to two points or better.
const TIME: Duration = Duration::from_millis(33);

/// Samples user and system mode; `None` where that cannot be done: it is a snippet, the operation uses several threads or processes or
/// enters the kernel by faults, it sleeps, the probe has no sampler for this machine, or the pass failed. A failure is
/// no more than that, since proof and measurement meet it again if it is the operation's own.
pub fn split(workers: &Workers, planned: &Planned) -> Option<ModeSamples> {
    let samples = can_be_sampled(planned).then(|| sample(workers, planned).ok())??;
    (samples.user + samples.system > 0).then_some(samples)
}

fn can_be_sampled(planned: &Planned) -> bool {
    let traits = planned.traits;
    planned.case.language.is_none() && !traits.switches && !traits.children && !traits.faults
}

fn sample(workers: &Workers, planned: &Planned) -> Result<ModeSamples, Failure> {
    let mut child = workers.start(&planned.case, 0)?;
    child.send(&Workers::greeting(&planned.case))?;
    child.ready(workers.timeout)?;
    child.sample(TIME, workers.timeout)
}
