//! Checks that a run had its CPU to itself, that the CPU stayed available, and that no quota stopped the run.

use crate::runner::Workers;
use std::cell::Cell;
use std::rc::Rc;
use sys::checks::quota;
use sys::neighbour::Claim;
use sys::{Sources, affinity};

pub struct CpuMonitor {
    cpu: Option<u32>,
    claim: Claim,
    gone: Option<&'static str>,
    strayed: Rc<Cell<bool>>,
    throttled_ns: Option<(u64, u64)>,
}

impl CpuMonitor {
    /// Claims the measuring CPU, so that another run on it can be seen, and notes how long the quota has stopped us so far.
    pub fn begin(workers: &Workers) -> CpuMonitor {
        let cpu = workers.placement.measuring;
        CpuMonitor {
            cpu,
            claim: Claim::to(cpu),
            gone: None,
            strayed: Rc::clone(&workers.strayed),
            throttled_ns: quota::throttled_ns(&Sources::default()).map(|ns| (ns, ns)),
        }
    }

    /// A problem once seen stays.
    pub fn look(&mut self, sources: &Sources) {
        self.claim.look();
        // Kept: the kernel moves tasks away from a CPU that goes offline, and not back when it returns.
        self.gone = self.gone.or_else(|| affinity::gone(sources, self.cpu?));
        if let (Some((_, last)), Some(now)) = (&mut self.throttled_ns, quota::throttled_ns(sources))
        {
            *last = now;
        }
    }

    /// One sentence for each problem.
    pub fn warnings(&self) -> Vec<String> {
        self.throttled()
            .into_iter()
            .chain(self.cpu_warnings())
            .collect()
    }

    fn throttled(&self) -> Option<String> {
        let (before, now) = self.throttled_ns.filter(|(before, now)| now > before)?;
        let seconds = (now - before) as f64 / 1e9;
        Some(format!(
            "the CPU quota of its control group throttled the run for {seconds:.2} s in all: costs may be off by several percent; lift the quota and measure again"
        ))
    }

    fn cpu_warnings(&self) -> Vec<String> {
        let Some(cpu) = self.cpu else {
            return Vec::new();
        };
        let met = "another syscost run measured on it at the same time: run them one after the other, or give them different --cpu";
        let moved = "workers ran on other CPUs meanwhile: measure again";
        let gone = match (self.gone, self.strayed.get()) {
            (Some(what), _) => Some(format!("CPU {cpu} {what}: {moved}")),
            (None, true) => Some(format!("CPU {cpu} was not available all the time: {moved}")),
            (None, false) => None,
        };
        gone.into_iter()
            .chain(self.claim.met.then(|| format!("CPU {cpu}: {met}")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::fake::tree;

    fn on(cpu: Option<u32>) -> CpuMonitor {
        CpuMonitor {
            cpu,
            claim: Claim::to(None),
            gone: None,
            strayed: Rc::default(),
            throttled_ns: None,
        }
    }

    #[test]
    fn a_cpu_that_went_offline_is_reported_even_if_it_returns() {
        fn online(list: &str) -> (tempfile::TempDir, Sources) {
            tree(&[("sys/devices/system/cpu/online", list)])
        }

        let mut cpu_monitor = on(Some(7));
        cpu_monitor.look(&online("0-7").1);
        assert_eq!(cpu_monitor.warnings(), [""; 0]);
        cpu_monitor.look(&online("0-6").1);
        cpu_monitor.look(&online("0-7").1);
        assert_eq!(
            cpu_monitor.warnings(),
            ["CPU 7 went offline: workers ran on other CPUs meanwhile: measure again"]
        );
    }

    #[test]
    fn a_quota_that_stopped_the_run_is_reported() {
        fn quota(ns: u64) -> (tempfile::TempDir, Sources) {
            let stat = format!("throttled_time {ns}\n");
            tree(&[
                ("proc/self/cgroup", "4:cpu:/x\n"),
                ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu/x/cpu.stat", &stat),
            ])
        }

        let mut cpu_monitor = CpuMonitor {
            throttled_ns: Some((1_000_000, 1_000_000)),
            ..on(None)
        };
        cpu_monitor.look(&quota(1_000_000).1);
        assert_eq!(cpu_monitor.warnings(), [""; 0]);
        cpu_monitor.look(&quota(2_501_000_000).1);
        assert!(
            cpu_monitor.warnings()[0].contains("throttled the run for 2.50 s"),
            "{:?}",
            cpu_monitor.warnings()
        );
    }

    #[test]
    fn a_moved_worker_is_reported() {
        for (cpu, expected) in [(Some(3), 1), (None, 0)] {
            let cpu_monitor = on(cpu);
            cpu_monitor.strayed.set(true);
            let warnings = cpu_monitor.warnings();
            assert_eq!(
                warnings.len(),
                expected,
                "not pinned, as asked: {warnings:?}"
            );
        }
    }
}
