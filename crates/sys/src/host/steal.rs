//! The CPU time that the hypervisor took away, from the counters in /proc/stat.
//!
//! They count clock ticks (usually 10 ms): over less than a few seconds, the share is coarse.

use super::Sources;

pub struct StealClock {
    line: String,
    at_start: (u64, u64),
}

impl StealClock {
    /// Starts a period on one CPU, or on all of them; `None` without /proc/stat.
    pub fn start(sources: &Sources, cpu: Option<u32>) -> Option<StealClock> {
        let line = cpu.map_or("cpu".to_string(), |cpu| format!("cpu{cpu}"));
        let at_start = ticks(sources, &line)?;
        Some(StealClock { line, at_start })
    }

    /// A period that began when the machine started, on all CPUs.
    pub fn since_boot() -> StealClock {
        StealClock {
            line: "cpu".to_string(),
            at_start: (0, 0),
        }
    }

    /// Stolen time in percent of all time, idle time included; `None` if no tick has passed.
    pub fn percent_since(&self, sources: &Sources) -> Option<f64> {
        let (all, stolen) = ticks(sources, &self.line)?;
        let all = all.saturating_sub(self.at_start.0);
        let stolen = stolen.saturating_sub(self.at_start.1);
        if all > 0 {
            Some(100.0 * stolen as f64 / all as f64)
        } else {
            None
        }
    }
}

fn ticks(sources: &Sources, name: &str) -> Option<(u64, u64)> {
    let fields = cpu_ticks(sources, name)?;
    let all = fields
        .iter()
        .take(8)
        .fold(0u64, |sum, ticks| sum.saturating_add(*ticks));
    Some((all, *fields.get(7)?))
}

/// The ticks of one CPU (`cpu0`), or of all (`cpu`): user, nice, system, idle, iowait, irq, softirq, steal; the guest times after them are
/// within user's.
pub fn cpu_ticks(sources: &Sources, name: &str) -> Option<Vec<u64>> {
    let text = sources.text("proc/stat")?;
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(name))?;
    Some(
        line.split_whitespace()
            .skip(1)
            .map_while(|word| word.parse().ok())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn the_share_is_that_of_the_time_in_between() {
        let (_a, before) = tree(&[(
            "proc/stat",
            "cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1 0 1 7 0 0 0 1 0 0\n",
        )]);
        let (_b, after) = tree(&[(
            "proc/stat",
            "cpu  30 0 20 110 0 0 0 40 9 0\ncpu0 1 0 1 7 0 0 0 1 0 0\n",
        )]);
        let clock = StealClock::start(&before, None).expect("counts");
        assert_eq!(clock.percent_since(&after), Some(30.0));
        assert_eq!(StealClock::since_boot().percent_since(&before), Some(10.0));
    }

    #[test]
    fn without_ticks_there_is_no_share() {
        let (_keep, sources) = tree(&[("proc/stat", "cpu0 1 0 1 7 0 0 0 1 0 0\n")]);
        let clock = StealClock::start(&sources, Some(0)).expect("counts");
        assert_eq!(clock.percent_since(&sources), None);
        assert!(StealClock::start(&sources, Some(1)).is_none());
    }
}
