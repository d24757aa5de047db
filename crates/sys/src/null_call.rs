//! The time of a null call now, on this CPU: entering the kernel and leaving it, and nothing else.

use nix::unistd::getppid;
use std::hint::black_box;
use std::time::Instant;

/// A batch takes tenths of a millisecond, so most are undisturbed.
const BATCHES: u32 = 50;
const CALLS: u32 = 1000;

/// The fastest of 50 batches of getppid, in nanoseconds per call.
pub fn null_call_ns() -> f64 {
    (0..BATCHES)
        .map(|_| {
            let began = Instant::now();
            (0..CALLS).for_each(|_| _ = black_box(getppid()));
            began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .fold(f64::INFINITY, f64::min)
}
