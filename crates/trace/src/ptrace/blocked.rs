//! How long a call was blocked, by the scheduler's statistics of its thread at the two stops of the call. Pure.
//!
//! Everything else about the time of a call under ptrace is the tracer's doing. The thread's CPU time between the stops is
//! that of the call and of the greater part of two stops: alone a microsecond or two, with several busy tracees many times that,
//! and no calibration knows how many. Rejected: subtracting the time of a null call from before the workload, which left 4.5 s on the
//! CPU for calls that take 0.06 s.
//!
//! Blocked time is what remains of the elapsed time without CPU time, waiting for a CPU, and waiting for the tracer. It is
//! known to about the time of a null call between its stops.

use std::time::Instant;
use sys::clock::{self, ThreadTime};

#[derive(Clone, Copy)]
pub struct Stop {
    /// At an entry, when the thread was resumed. At an end, the last moment at which the tracer knows that it had not stopped yet: after
    /// that it may have been waiting for the tracer.
    pub at: Instant,
    pub time: ThreadTime,
    pub stops: u64,
}

/// Nanoseconds between two stops in which the thread was neither on a CPU nor waiting for one.
pub fn off_cpu_ns(entry: &Stop, end: &Stop) -> u64 {
    let elapsed = clock::ns(end.at.saturating_duration_since(entry.at));
    let on_cpu = end.time.cpu_ns.saturating_sub(entry.time.cpu_ns);
    let waiting = end.time.waiting_ns.saturating_sub(entry.time.waiting_ns);
    elapsed.saturating_sub(on_cpu).saturating_sub(waiting)
}

/// Whether a thread left its CPU between two stops other than for stops, after each of which it is put on a CPU once.
pub fn has_paused(entry: &Stop, end: &Stop) -> bool {
    end.time.turns.saturating_sub(entry.time.turns) != end.stops.saturating_sub(entry.stops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_neither_on_a_cpu_nor_waiting_for_one_is_off_it() {
        let begun = Instant::now();
        let stop = |[us, cpu_us, waiting_us, turns, stops]: [u64; 5]| Stop {
            at: begun + Duration::from_micros(us),
            time: ThreadTime {
                cpu_ns: cpu_us * 1000,
                waiting_ns: waiting_us * 1000,
                turns,
            },
            stops,
        };
        let entry = stop([100, 100, 50, 7, 3]);
        for (end, off_ns, paused) in [
            ([1100, 104, 250, 9, 4], 796_000, true),
            ([110, 104, 50, 8, 4], 6000, false),
            // Before its entry the tracer last had nothing to do: it may have stopped at once.
            ([50, 100, 50, 9, 4], 0, true),
            // More CPU time than time passed, as far as the tracer knows.
            ([105, 109, 50, 9, 4], 0, true),
        ] {
            let end = stop(end);
            assert_eq!(
                (off_cpu_ns(&entry, &end), has_paused(&entry, &end)),
                (off_ns, paused)
            );
        }
    }
}
