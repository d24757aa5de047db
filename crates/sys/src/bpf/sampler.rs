//! Calls a program many times a second on each CPU, at a perf event of the CPU's clock.
//!
//! An interrupt takes a microsecond or two on hardware, but up to tens of microseconds in a virtual machine, whose timer the
//! hypervisor sets. So one is timed first, and the rate is what the programs that are sampled will not notice.

use crate::Sources;
use crate::perf::{
    ALL_TASKS, ANY_CPU, Attributes, DISABLED, ENABLE, SOFTWARE, control, open, set_program,
};
use anyhow::{Context, Result};
use stats::median;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// PERF_COUNT_SW_CPU_CLOCK: every CPU has it, also without hardware counters.
const CPU_CLOCK: u64 = 0;
const EXCLUDE_IDLE: u64 = 1 << 7;
const BY_FREQUENCY: u64 = 1 << 10;
const MOST_OF_ALL: &str = "proc/sys/kernel/perf_event_max_sample_rate";
/// Samples a second: primes, so that events at a round number of hertz are hit neither always nor never.
const RATES: [u64; 7] = [1999, 997, 499, 397, 317, 251, 127];
/// Refilling the caches behind interrupts comes on top.
const MOST_COST: f64 = 0.009;
/// How often, and for how long, this process is interrupted to time an interrupt.
const TRIAL_HZ: u64 = 4_999;
const TRIAL: Duration = Duration::from_millis(30);
/// Longer than it takes to read the clock twice.
const INTERRUPTED: Duration = Duration::from_nanos(400);

pub struct Sampler {
    program: OwnedFd,
    pub hz: u64,
    pub interruption: Duration,
    events: Vec<File>,
}

impl Sampler {
    /// Chooses the rate by the time that an interrupt takes: `known` from an earlier run, or measured in 30 ms if that is zero.
    pub fn new(program: OwnedFd, known: Option<Duration>) -> Result<Sampler> {
        let most = Sources::default()
            .number(MOST_OF_ALL)
            .map_or(u64::MAX, |most| most as u64);
        let interruption = known.unwrap_or_default();
        let mut sampler = Sampler {
            program,
            hz: TRIAL_HZ.min(most),
            interruption,
            events: Vec::new(),
        };
        if interruption.is_zero() {
            let _event = sampler
                .sample(0, ANY_CPU)
                .context("the kernel refuses to sample this process")?;
            sampler.interruption = timed();
        }
        sampler.hz = rate(sampler.interruption.as_secs_f64(), most);
        Ok(sampler)
    }

    /// Starts sampling each CPU that is online, unless that is done. A CPU that comes online later is not sampled.
    pub fn start(&mut self) -> Result<()> {
        if !self.events.is_empty() {
            return Ok(());
        }
        let cpus = Sources::default()
            .cpus("sys/devices/system/cpu/online")
            .context("no list of CPUs")?;
        for cpu in cpus {
            let event = self.sample(ALL_TASKS, cpu.cast_signed());
            self.events
                .push(event.with_context(|| format!("the kernel refuses to sample CPU {cpu}"))?);
        }
        Ok(())
    }

    /// Closing an event detaches the program from it.
    pub fn stop(&mut self) {
        self.events.clear();
    }

    fn sample(&self, tid: i32, cpu: i32) -> io::Result<File> {
        let attributes = Attributes {
            sample_period: self.hz,
            flags: DISABLED | EXCLUDE_IDLE | BY_FREQUENCY,
            ..Attributes::new(SOFTWARE, CPU_CLOCK)
        };
        let event = open(&attributes, tid, cpu)?;
        set_program(&event, self.program.as_fd())?;
        control(&event, ENABLE)?;
        Ok(event)
    }
}

/// The median of the gaps between readings of the clock.
fn timed() -> Duration {
    let begun = Instant::now();
    let (mut before, mut gaps) = (begun, Vec::new());
    while before - begun < TRIAL {
        let now = Instant::now();
        gaps.extend(
            Some(now - before)
                .filter(|gap| *gap > INTERRUPTED)
                .map(|gap| gap.as_secs_f64()),
        );
        before = now;
    }
    Duration::from_secs_f64(median(gaps).unwrap_or(0.0))
}

fn rate(each_s: f64, most: u64) -> u64 {
    RATES
        .into_iter()
        .find(|hz| *hz <= most && *hz as f64 * each_s <= MOST_COST)
        .unwrap_or(RATES[RATES.len() - 1].min(most.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_what_costs_little() {
        let rates = [1e-6, 5e-6, 10e-6, 19e-6, 1e-3].map(|each_s| rate(each_s, 100_000));
        assert_eq!(rates, [1999, 997, 499, 397, 127]);
        assert_eq!([rate(1e-6, 500), rate(1e-6, 50)], [499, 50]);
    }
}
