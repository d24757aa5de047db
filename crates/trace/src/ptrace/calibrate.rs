//! Measures the overhead of the ptrace tracer per call, by null calls of a child under it and of this process without it.
//! Takes a few milliseconds.

use super::stops::{Calibration, NullCall, PtraceTracer};
use crate::{Root, Tracer, Until};
use anyhow::{Context, Result, bail};
use stats::Overhead;
use sys::follow::Stops;
use sys::launch::hold_null_calls;
use sys::null_call::null_call_ns;

const CALLS: u32 = 410;
const BLOCKS: usize = 12;
const COLD: usize = 50;
/// Time off the CPU varies with the load of the machine; up to this quantile of null calls, it does not count as blocked. If the
/// quantile is far from the median, the machine was busy just then.
const MOST: f64 = 0.9;

/// Traces a child that makes null calls, and compares them with untraced ones of this process.
///
/// # Errors
/// ptrace is refused, or shows no system calls, as in some sandboxes.
pub fn calibrate(stops: Stops, times: bool) -> Result<Calibration> {
    let untraced_ns = null_call_ns();
    let held = hold_null_calls(CALLS).context("cannot start a process")?;
    let mut tracer = PtraceTracer::new(stops, times, Calibration::default());
    tracer.tree.counting = true;
    tracer.raw = Some(Vec::new());
    tracer
        .attach(Root::Held(held.pid))
        .context("ptrace is refused here (in a container: allow SYS_PTRACE)")?;
    held.release(tracer.wants_filter())
        .context("the calibration child has ended")?;
    tracer.follow(&Until::default())?;
    let raw = tracer.raw.take().unwrap_or_default();
    if tracer.tree.tally.has_seen("getppid") {
        return Ok(summary(&raw, untraced_ns));
    }
    bail!("ptrace shows no system calls here")
}

fn summary(raw: &[NullCall], untraced_ns: f64) -> Calibration {
    let warm = raw.get(COLD..).unwrap_or_default();
    let blocks = warm.chunks_exact((warm.len() / BLOCKS).max(2));
    let added = blocks.map(|block| {
        // From one stop to the next the whole cycle is measured: call, both stops, and the work of the tracer.
        let between = block
            .windows(2)
            .map(|pair| pair[1].at.duration_since(pair[0].at).as_nanos() as u64);
        quantile(between, 0.5) as f64 - untraced_ns
    });
    let cpu = warm
        .windows(2)
        .filter_map(|pair| Some(pair[1].cpu_ns?[0].saturating_sub(pair[0].cpu_ns?[0])));
    let cpu_ns = Some(quantile(cpu, 0.5) as f64).filter(|ns| *ns > 0.0);
    let within = warm.iter().filter_map(|raw| Some(raw.cpu_ns?[1]));
    let within_cpu_ns = Some(quantile(within, 0.5)).filter(|ns| *ns > 0);
    let [most, median] =
        [MOST, 0.5].map(|share| quantile(warm.iter().map(|raw| raw.off_cpu_ns), share));
    Calibration {
        // Bounded, since a busy machine's ninth tenth may be a millisecond, and real waits would vanish in it.
        off_cpu_ns: most.min(median * 4),
        added: Overhead::from_differences(added.collect()),
        added_cpu_ns: cpu_ns.map(|ns| (ns - untraced_ns).max(0.0)),
        within_cpu_ns,
    }
}

fn quantile(values: impl Iterator<Item = u64>, share: f64) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let index = (values.len() as f64 * share) as usize;
    values
        .get(index.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn calls(off_cpu_ns: impl Fn(u64) -> u64) -> Vec<NullCall> {
        let begun = Instant::now();
        (0..410)
            .map(|n| NullCall {
                at: begun + Duration::from_micros(5 * n),
                off_cpu_ns: off_cpu_ns(n),
                cpu_ns: Some([3000 * n, 1000]),
            })
            .collect()
    }

    #[test]
    fn what_a_null_call_takes_longer_is_the_tracers() {
        let calibration = summary(&calls(|n| n), 100.0);
        assert_eq!(calibration.off_cpu_ns, 374);
        assert_eq!(calibration.added_cpu_ns, Some(2900.0));
        assert_eq!(calibration.within_cpu_ns, Some(1000));
        assert_eq!(
            calibration.added,
            Some(Overhead {
                ns: 4900.0,
                low: 4900.0,
                high: 4900.0
            })
        );
    }

    #[test]
    fn a_burst_of_load_is_not_overhead() {
        fn off(n: u64) -> u64 {
            if n.is_multiple_of(5) { 1_000_000 } else { 1000 }
        }

        assert_eq!(summary(&calls(off), 100.0).off_cpu_ns, 4000);
    }
}
