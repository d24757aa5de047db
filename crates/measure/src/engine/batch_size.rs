//! Calibration: how many iterations a batch has, and how many batches a slot.

use super::{Slots, Worker};
use model::Failure;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub n: u64,
    pub k: u32,
    /// Caches are cold after the other cases' slots, so a first batch is discarded.
    pub cold: bool,
}

const COLD_CALLS: u64 = 8;
const COLD_BATCHES: u32 = 16;

/// The batch size and the number of batches for a worker. Two passes: the second starts from the result of the first, with warm
/// caches. `limit` is the most iterations that one batch may have.
///
/// # Errors
/// The worker's own failure in a trial batch.
pub fn calibrate(
    worker: &mut dyn Worker,
    limit: Option<u64>,
    slots: Slots,
) -> Result<Shape, Failure> {
    // Such a worker says how long it takes to displace the caches: trial batches would take seconds.
    if let Some(displacing) = worker
        .facts()
        .number("displacing_ns")
        .filter(|ns| *ns > 0.0)
    {
        return Ok(cold_shape(displacing, limit, slots.cold));
    }
    let target = batch_target(worker).max(slots.least_batch);
    let first = grow(worker, 1, limit, target)?;
    let (n, ns) = grow(worker, (first.0 / 2).max(1), limit, target)?;
    Ok(shape(n, ns, target, slots))
}

fn shape(n: u64, batch_ns: f64, target: Duration, slots: Slots) -> Shape {
    let batches = slots.time.as_nanos() as f64 / batch_ns.max(1.0);
    // A single iteration that fills a batch is not slowed noticeably by cold caches, and discarding one would cost a whole slot.
    let long = n == 1 && batch_ns >= target.as_nanos() as f64;
    Shape {
        n,
        k: (batches as u32).clamp(1, slots.most_batches),
        cold: !long,
    }
}

/// Displacing takes nearly all of the time. A sample is a few calls, because single ones often fall
/// into two groups, between which a median says nothing.
fn cold_shape(displacing_ns: f64, limit: Option<u64>, slot: Duration) -> Shape {
    let calls = slot.as_nanos() as f64 / displacing_ns;
    let n = (calls as u64).clamp(1, limit.unwrap_or(u64::MAX).clamp(1, COLD_CALLS));
    Shape {
        n,
        k: ((calls / n as f64) as u32).clamp(1, COLD_BATCHES),
        cold: false,
    }
}

/// A batch must be long compared with the clock's cost and step: max(500 costs, 1000 steps), from 10 to 200 us.
fn batch_target(worker: &dyn Worker) -> Duration {
    let cost = worker.facts().number("clock_cost_ns").unwrap_or(50.0);
    let step = worker.facts().number("clock_step_ns").unwrap_or(1.0);
    Duration::from_nanos((500.0 * cost).max(1000.0 * step).clamp(10_000.0, 200_000.0) as u64)
}

fn grow(
    worker: &mut dyn Worker,
    start: u64,
    limit: Option<u64>,
    target: Duration,
) -> Result<(u64, f64), Failure> {
    let most = limit.unwrap_or(1 << 32);
    let target = target.as_nanos() as f64;
    let mut n = start.min(most);
    loop {
        let ns = fastest(worker, n)?;
        // Near enough: the rest is computed in proportion, and another trial would cost as much as a batch.
        if ns >= 0.8 * target || n == most {
            let fitted = (n as f64 * target / ns).round() as u64;
            // Computed, not measured again: the batch is within a fifth of the target, or as long as the limit allows.
            let n_fitted = fitted.clamp(1, most);
            return Ok((n_fitted, ns * n_fitted as f64 / n as f64));
        }
        // A first batch of a few nanoseconds is mostly clock step: trusting it would overshoot by thousands of times.
        let factor = (target / ns).clamp(1.5, 100.0);
        n = ((n as f64 * factor).ceil() as u64).min(most);
    }
}

/// The first batch is cold.
fn fastest(worker: &mut dyn Worker, n: u64) -> Result<f64, Failure> {
    let reply = worker.request(n, 2)?;
    Ok(reply
        .batches
        .iter()
        .map(|b| b.ns.max(1) as f64)
        .fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    use super::super::lane::tests::Scripted;
    use super::*;

    fn shape(n: u64, k: u32, cold: bool) -> Shape {
        Shape { n, k, cold }
    }

    fn calibrated(ns_per_iteration: f64, limit: Option<u64>) -> Shape {
        calibrate(&mut Scripted::steady(ns_per_iteration), limit, Slots::SHORT).unwrap()
    }

    #[test]
    fn a_batch_is_long_against_the_clock() {
        // The scripted clock costs 22 ns and has a step of 20 ns: 20 us a batch.
        assert_eq!(calibrated(100.0, None), shape(200, 4, true));
        assert_eq!(calibrated(0.25, None).n, 80_000);
    }

    #[test]
    fn a_long_iteration_is_a_batch_of_its_own() {
        assert_eq!(calibrated(500_000.0, None), shape(1, 1, false));
        assert_eq!(calibrated(60_000.0, None), shape(1, 3, false));
    }

    #[test]
    fn a_slot_of_cold_calls_is_bounded_by_the_time_of_displacing() {
        for (ns, limit, n, k) in [
            (1e5, None, 8, 16),
            (5e6, None, 8, 1),
            (2e7, None, 2, 1),
            (1e9, None, 1, 1),
            (1e5, Some(1), 1, 16),
        ] {
            let actual = cold_shape(ns, limit, Slots::SHORT.cold);
            assert_eq!(actual, shape(n, k, false), "{ns}");
        }
    }

    #[test]
    fn the_limit_of_an_operation_holds() {
        assert_eq!(calibrated(10.0, Some(256)).n, 256);
    }
}
