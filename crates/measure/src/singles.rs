//! Times of single calls: a pass of its own, in which a fresh probe times each call by itself. `probe/single.c` says how.
//! Called by `session` before the rounds, so that nothing else of the run is awake; `summary` makes percentiles of it.

use crate::runner::Workers;
use model::{Failure, FailureKind, Planned, SPIN, SingleCalls};
use std::time::Duration;

/// At most this many calls a case: their 99.9th percentile has 100 calls beyond it.
const CALLS: u64 = 100_000;
/// Long enough for that many calls of 2 us.
pub const TIME: Duration = Duration::from_millis(200);
/// The most calls that the probe takes (probe.c, MOST_CALLS).
const MOST_CALLS: u64 = 1_000_000_000;

/// Times single calls of `planned`, for at most `time`, in whole milliseconds.
pub fn time_singles(
    workers: &Workers,
    planned: &Planned,
    time: Duration,
) -> Result<SingleCalls, Failure> {
    if planned.case.language.is_some() {
        let text = "single calls of snippets are not timed: their loop cannot read a clock";
        return Err(Failure::new(FailureKind::Unsupported, text));
    }
    // Work in user mode has no tail of its own: it shows what the machine does to any call, and uses all of the time for it.
    let calls = if planned.case.is_plain(SPIN) {
        MOST_CALLS
    } else {
        CALLS
    };
    let (mut child, _) = workers.start_ready(&planned.case, 0)?;
    child.singles(calls, time, workers.timeout)
}
