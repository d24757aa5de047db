//! How many CPUs other programs kept busy over a period: the machine's time on CPU by /proc/stat, without our own.

use super::Sources;
use super::steal::cpu_ticks;
use crate::proc_stat;
use crate::usage::cpu_ns_with_children;
use std::time::Instant;

pub struct BusyClock {
    began: Instant,
    ticks: u64,
    own_ns: u64,
}

impl BusyClock {
    /// `None` without /proc/stat.
    pub fn start(sources: &Sources) -> Option<BusyClock> {
        Some(BusyClock {
            began: Instant::now(),
            ticks: busy_ticks(sources)?,
            own_ns: cpu_ns_with_children(),
        })
    }

    /// The number of CPUs that others kept busy since `start`, on average. Workers that have not been waited for count as others.
    pub fn cpus_since(&self, sources: &Sources) -> Option<f64> {
        let wall = self.began.elapsed().as_secs_f64();
        let ns = busy_ticks(sources)?
            .saturating_sub(self.ticks)
            .saturating_mul(proc_stat::tick_ns());
        let ours_ns = cpu_ns_with_children().saturating_sub(self.own_ns);
        if wall > 0.0 {
            Some(others(ns as f64 / 1e9, ours_ns as f64 / 1e9, wall))
        } else {
            None
        }
    }
}

fn others(busy_s: f64, own_s: f64, wall_s: f64) -> f64 {
    ((busy_s - own_s) / wall_s).max(0.0)
}

fn busy_ticks(sources: &Sources) -> Option<u64> {
    let fields = cpu_ticks(sources, "cpu")?;
    // user, nice, system, irq and softirq. Idle time, waiting for I/O and stolen time are not busy.
    [0, 1, 2, 5, 6].iter().try_fold(0u64, |sum, i: &usize| {
        Some(sum.saturating_add(*fields.get(*i)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn time_on_cpu_leaves_out_idle_waiting_and_stolen_time() {
        let (_keep, sources) = tree(&[(
            "proc/stat",
            "cpu  10 1 20 700 50 3 4 90 0 0\ncpu0 1 0 1 7 0 0 0 1 0 0\n",
        )]);
        assert_eq!(busy_ticks(&sources), Some(38));
        let (_keep, none) = tree(&[("proc/stat", "cpu0 1 0 1 7 0 0 0 1 0 0\n")]);
        assert!(busy_ticks(&none).is_none() && BusyClock::start(&none).is_none());
    }

    #[test]
    fn our_own_time_does_not_count() {
        assert_eq!(others(3.0, 1.0, 2.0), 1.0);
        assert_eq!(
            others(1.0, 1.1, 2.0),
            0.0,
            "ticks are coarser than our own accounting"
        );
    }
}
