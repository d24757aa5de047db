//! The accounting of a whole tree from that of its processes as they end. Pure.
//!
//! The kernel's figures of a process hold those of its children that it waited for. The root's hold most of the tree, then;
//! what is missing are orphans and children whose parents did not wait. Whether a parent waited shows when it ends: the CPU
//! time of its children by its own figures, against what the children had when they ended.

use crate::model::Usage;
use std::collections::HashMap;

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub pid: i32,
    /// Its parent when it was made.
    pub parent: Option<i32>,
    /// CPU time of the process alone, if known.
    pub cpu_ns: Option<u64>,
    pub figures: Figures,
}

/// Sums that the kernel keeps of a process and the children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub user_ns: f64,
    pub system_ns: f64,
    pub minor_faults: f64,
    pub major_faults: f64,
    pub voluntary_switches: f64,
    pub involuntary_switches: f64,
    /// A peak and no sum.
    pub peak_rss_kib: u64,
}

impl From<&libc::rusage> for Figures {
    fn from(usage: &libc::rusage) -> Figures {
        let nanoseconds = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
        Figures {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            minor_faults: usage.ru_minflt as f64,
            major_faults: usage.ru_majflt as f64,
            voluntary_switches: usage.ru_nvcsw as f64,
            involuntary_switches: usage.ru_nivcsw as f64,
            peak_rss_kib: usage.ru_maxrss.unsigned_abs(),
        }
    }
}

impl Figures {
    fn cpu_ns(&self) -> f64 {
        self.user_ns + self.system_ns
    }

    /// Adds `share` of what `other` has.
    fn add(&mut self, other: &Figures, share: f64) {
        self.user_ns += other.user_ns * share;
        self.system_ns += other.system_ns * share;
        self.minor_faults += other.minor_faults * share;
        self.major_faults += other.major_faults * share;
        self.voluntary_switches += other.voluntary_switches * share;
        self.involuntary_switches += other.involuntary_switches * share;
        self.peak_rss_kib = self.peak_rss_kib.max(other.peak_rss_kib);
    }
}

/// The tree, as far as it has ended.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Of processes that run: what their children had that have ended.
    running: HashMap<i32, Figures>,
    /// The root's, and what nobody waited for.
    total: Figures,
    root_ended: bool,
}

/// Difference of CPU time that is no sign of a child that was not waited for: the kernel's figures are whole microseconds.
const ROUNDING_NS: f64 = 100_000.0;

impl Account {
    pub fn started(&mut self, pid: i32) {
        self.running.entry(pid).or_default();
    }

    pub fn ended(&mut self, ended: &Ended) {
        let children = self.running.remove(&ended.pid).unwrap_or_default();
        if let Some(own) = ended.cpu_ns {
            let waited = (ended.figures.cpu_ns() - own as f64).max(0.0);
            let missing = children.cpu_ns() - waited;
            if missing > ROUNDING_NS {
                self.total.add(&children, missing / children.cpu_ns());
            }
        }
        match ended.parent.map(|parent| self.running.get_mut(&parent)) {
            Some(Some(siblings)) => siblings.add(&ended.figures, 1.0),
            Some(None) => self.total.add(&ended.figures, 1.0),
            None => {
                self.root_ended = true;
                self.total.add(&ended.figures, 1.0);
            }
        }
    }

    /// The sums, if the root has ended: before that they are not whole.
    pub fn usage(&self) -> Usage {
        if !self.root_ended {
            return Usage::default();
        }
        let whole = |figure: f64| Some(figure.round() as u64);
        let total = &self.total;
        Usage {
            user_ns: whole(total.user_ns),
            system_ns: whole(total.system_ns),
            peak_rss_kib: Some(total.peak_rss_kib),
            minor_faults: whole(total.minor_faults),
            major_faults: whole(total.major_faults),
            voluntary_switches: whole(total.voluntary_switches),
            involuntary_switches: whole(total.involuntary_switches),
            ..Usage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(pid: i32, parent: Option<i32>, own_ms: u64, with_children_ms: f64) -> Ended {
        let figures = Figures { system_ns: with_children_ms * 1e6, minor_faults: 10.0, ..Figures::default() };
        Ended { pid, parent, cpu_ns: Some(own_ms * 1_000_000), figures }
    }

    fn system_ms(events: &[Ended]) -> Option<u64> {
        let mut account = Account::default();
        events.iter().for_each(|event| account.started(event.pid));
        events.iter().for_each(|event| account.ended(event));
        account.usage().system_ns.map(|ns| ns / 1_000_000)
    }

    #[test]
    fn children_that_were_waited_for_are_in_their_parents_figures() {
        assert_eq!(system_ms(&[ended(2, Some(1), 30, 30.0), ended(1, None, 20, 50.0)]), Some(50));
    }

    #[test]
    fn children_that_nobody_waited_for_are_added() {
        assert_eq!(system_ms(&[ended(2, Some(1), 30, 30.0), ended(1, None, 20, 20.0)]), Some(50));
        let one_of_two = [ended(2, Some(1), 30, 30.0), ended(3, Some(1), 10, 10.0), ended(1, None, 20, 50.0)];
        assert_eq!(system_ms(&one_of_two), Some(60));
    }

    #[test]
    fn orphans_are_added() {
        assert_eq!(system_ms(&[ended(1, None, 20, 20.0), ended(2, Some(1), 30, 30.0)]), Some(50));
    }

    #[test]
    fn without_the_root_nothing_is_known() {
        assert_eq!(system_ms(&[ended(2, Some(1), 30, 30.0)]), None);
    }
}
