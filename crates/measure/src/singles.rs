//! Times of single calls, by a fresh probe (`probe/single.c`), before the rounds, so that nothing
//! else of the run is awake.

use crate::runner::Workers;
use model::{Failure, Planned, SPIN, SingleCalls};
use std::time::Duration;

/// The 99.9th percentile has 100 calls beyond it.
const CALLS: u64 = 100_000;
pub const FEWEST_CALLS: u64 = 1000;
pub const TIME: Duration = Duration::from_millis(200);
/// The most calls that a probe accepts (probe.c, MOST_CALLS).
const MOST_CALLS: u64 = 1_000_000_000;

/// Times single calls for `time`; if that is too short for the 99th percentile, for as long as that takes, if it takes at most `most`.
///
/// # Errors
/// A snippet, whose loop cannot read a clock, or the operation's own failure.
pub fn time_singles(
    workers: &Workers,
    planned: &Planned,
    time: Duration,
    most: Duration,
) -> Result<SingleCalls, Failure> {
    if planned.case.language.is_some() {
        let text = "single calls of snippets are not timed: their loop cannot read a clock";
        return Err(Failure::unsupported(text));
    }
    // Work in user mode has no tail of its own: it shows what the machine does to any call, and uses all of the time for it.
    let calls = if planned.case.is_plain(SPIN) {
        MOST_CALLS
    } else {
        CALLS
    };
    let timed = for_calls(workers, planned, calls, time)?;
    let count = timed.all.total_count();
    if !(1..FEWEST_CALLS).contains(&count) {
        return Ok(timed);
    }
    // Too few calls for a percentile: measured again for as long as enough of them take, if the caller has that time.
    let needed = Duration::from_nanos(timed.spent_ns / count * FEWEST_CALLS).mul_f64(SLOWER);
    if needed > most {
        return Ok(timed);
    }
    for_calls(workers, planned, FEWEST_CALLS, needed)
}

/// Later calls may take so many times as long as the first ones on average.
const SLOWER: f64 = 1.5;

fn for_calls(
    workers: &Workers,
    planned: &Planned,
    calls: u64,
    time: Duration,
) -> Result<SingleCalls, Failure> {
    let (mut child, _) = workers.start_ready(&planned.case, 0)?;
    child.singles(calls, time)
}
