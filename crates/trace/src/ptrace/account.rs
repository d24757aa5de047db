//! The accounting of a whole tree, from that of its processes as they end. Pure.
//!
//! The kernel's accounting of a process includes the children that it waited for; orphans and children whose parents did not wait
//! are missing in the root's. Whether a parent waited shows when it ends: by the CPU time of its children in its own accounting, and
//! what they had used when they ended.

use model::Usage;
use std::collections::HashMap;
use sys::usage::Used;

#[derive(Clone, Copy)]
pub struct Ended {
    pub pid: i32,
    pub parent: Option<i32>,
    /// CPU time of the process alone, if known.
    pub cpu_ns: Option<u64>,
    /// Usage with the children that it waited for.
    pub used: Used,
    pub peak_rss_kib: u64,
}

#[derive(Default)]
pub struct TreeAccount {
    running: HashMap<i32, Used>,
    /// The usage of the root, and of processes that nobody waited for.
    total: Used,
    peak_rss_kib: u64,
    root_ended: bool,
}

/// Less may be missing because of rounding: the kernel rounds to microseconds.
const ROUNDING_NS: u64 = 100_000;

impl TreeAccount {
    pub fn started(&mut self, pid: i32) {
        self.running.entry(pid).or_default();
    }

    /// Adds a process that has ended to its parent, or to the total if the parent is not traced or has ended.
    pub fn ended(&mut self, ended: &Ended) {
        let children = self.running.remove(&ended.pid).unwrap_or_default();
        // A process's accounting minus its own threads' time is that of the children that it waited for.
        if let Some(alone_ns) = ended.cpu_ns {
            let waited = ended.used.cpu_ns().saturating_sub(alone_ns);
            let missing = children.cpu_ns().saturating_sub(waited);
            if missing > ROUNDING_NS {
                self.total
                    .add(&children, missing as f64 / children.cpu_ns() as f64);
            }
        }
        self.root_ended |= ended.parent.is_none();
        self.peak_rss_kib = self.peak_rss_kib.max(ended.peak_rss_kib);
        let siblings = ended
            .parent
            .and_then(|parent| self.running.get_mut(&parent));
        siblings.unwrap_or(&mut self.total).add(&ended.used, 1.0);
    }

    /// Unknown until the root has ended.
    pub fn usage(&self) -> Usage {
        if self.root_ended {
            Usage {
                peak_rss_kib: Some(self.peak_rss_kib),
                ..self.total.into()
            }
        } else {
            Usage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The processes end with these parents and these times in ms: their own, and with children that they waited for.
    fn system_ms(ends: &[(i32, i32, u64, u64)]) -> Option<u64> {
        let mut account = TreeAccount::default();
        ends.iter().for_each(|(pid, ..)| account.started(*pid));
        for (pid, parent, own_ms, with_children_ms) in ends {
            account.ended(&Ended {
                pid: *pid,
                parent: Some(*parent).filter(|parent| *parent > 0),
                cpu_ns: Some(own_ms * 1_000_000),
                used: Used {
                    system_ns: with_children_ms * 1_000_000,
                    ..Used::default()
                },
                peak_rss_kib: 1,
            });
        }
        account.usage().system_ns.map(|ns| ns / 1_000_000)
    }

    #[test]
    fn what_nobody_waited_for_is_added_and_nothing_twice() {
        let waited_for = [(2, 1, 30, 30), (1, 0, 20, 50)];
        let not_waited_for = [(2, 1, 30, 30), (1, 0, 20, 20)];
        let one_of_two = [(2, 1, 30, 30), (3, 1, 10, 10), (1, 0, 20, 50)];
        let orphan = [(1, 0, 20, 20), (2, 1, 30, 30)];
        let without_root = [(2, 1, 30, 30)];
        let actual = [
            &waited_for[..],
            &not_waited_for,
            &one_of_two,
            &orphan,
            &without_root,
        ]
        .map(system_ms);
        assert_eq!(actual, [Some(50), Some(50), Some(60), Some(50), None]);
    }
}
