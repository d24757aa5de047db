//! Divides the wall time that `--time` promises for a whole run: how much the untimed passes may take,
//! and whether the job fits.

use super::entry_cache::EntryCache;
use super::job::only_for_speed;
use super::{Job, Session};
use crate::engine::Slots;
use crate::{counters, proof, singles, split};
use model::Planned;
use model::prose::counted;
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    pub request: Duration,
    pub sampling: Duration,
    pub counting: Duration,
    pub singles: Duration,
}

const FULL: Effort = Effort {
    request: proof::REQUEST,
    sampling: split::TIME,
    counting: counters::LONG,
    singles: singles::TIME,
};
const LEAST: Effort = Effort {
    request: Duration::from_millis(1),
    sampling: Duration::from_millis(5),
    counting: Duration::from_millis(30),
    singles: Duration::from_millis(5),
};
/// Passes take the time that is left when they begin, divided by this.
const PASSES: u32 = 2;
/// A pass takes this many times its longest request.
const REQUESTS: u32 = 8;
/// The least number of time blocks, of one round each.
const BLOCKS: u32 = 48;
/// A promise may be exceeded by so much without a word.
const LATE: f64 = 1.15;
/// An operation of the probe, in all passes and rounds.
const CASE: Duration = Duration::from_millis(45);
/// In addition, for its kernel entries, for a program that is not the probe, and for each MiB that displaces caches.
const PROOF: Duration = Duration::from_millis(35);
const OTHER_PROGRAM: Duration = Duration::from_millis(200);
const COLD_MIB: Duration = Duration::from_millis(30);

impl Effort {
    fn within(each: Duration) -> Effort {
        Effort {
            request: (each / REQUESTS).clamp(LEAST.request, FULL.request),
            sampling: (each / 3).clamp(LEAST.sampling, FULL.sampling),
            counting: (each / 2).clamp(LEAST.counting, FULL.counting),
            singles: (each / 2).clamp(LEAST.singles, FULL.singles),
        }
    }
}

impl Session {
    pub(super) fn left(&self) -> Option<Duration> {
        Some(self.options.whole?.saturating_sub(self.opened.elapsed()))
    }

    pub(super) fn effort(&self, cases: usize) -> Effort {
        let passes = 1 + u32::from(self.options.counters) + u32::from(self.options.latency);
        let cases = u32::try_from(cases).unwrap_or(u32::MAX).max(1);
        self.left()
            .map_or(FULL, |left| Effort::within(left / PASSES / passes / cases))
    }

    /// The slots for so many cases, of which each has one slot in every time block.
    pub(super) fn slots(&self, cases: u32) -> Slots {
        let Some(left) = self.left() else {
            return Slots::SHORT;
        };
        Slots {
            cold: (left / BLOCKS / cases.max(1)).clamp(Duration::from_millis(1), Slots::SHORT.cold),
            ..Slots::SHORT
        }
    }

    /// The promised time does not pay for building.
    pub fn builds_first(&self, job: &Job) -> Option<String> {
        let whole = self.options.whole?.as_secs_f64();
        let names: BTreeSet<&str> = job
            .planned
            .iter()
            .map(|planned| planned.case.environment.as_str())
            .collect();
        let names: Vec<&str> = names
            .into_iter()
            .filter(|name| self.workers.lacks_probe_of(name))
            .collect();
        if names.is_empty() {
            return None;
        }
        let names = names.join(", ");
        Some(format!(
            "--time {whole}: the probe for {names} is built first, once; that takes several more seconds"
        ))
    }

    pub(super) fn shortfall(&self, planned: &[Planned], cache: &mut EntryCache) -> Option<String> {
        let whole = self.options.whole?;
        let needed = self.opened.elapsed()
            + planned
                .iter()
                .map(|planned| self.least(planned, cache))
                .sum::<Duration>();
        if needed > whole.mul_f64(LATE) {
            let (time, cases, needed) = (
                whole.as_secs_f64(),
                counted(planned.len(), "case"),
                needed.as_secs_f64().ceil(),
            );
            Some(format!(
                "--time {time}: {cases}, panel and baselines included, need about {needed} s; intervals will be wide"
            ))
        } else {
            None
        }
    }

    /// The least time for a case: its starts, its passes, and a slot in each block of the first look.
    fn least(&self, planned: &Planned, cache: &mut EntryCache) -> Duration {
        let counted =
            !self.options.verify || only_for_speed(planned) || cache.find(self, planned).is_some();
        let displaced = planned.case.cold().unwrap_or(0) as f64 / f64::from(1 << 20);
        let started = planned.case.language.is_some() || planned.adds_processes;
        [
            (true, CASE),
            (!counted, PROOF),
            (started, OTHER_PROGRAM),
            // Bounded: a case that evicts terabytes would overflow the sum.
            (displaced > 0.0, COLD_MIB.mul_f64(displaced.min(1e6))),
            (self.options.counters, LEAST.counting * 2),
        ]
        .into_iter()
        .filter(|(is_part, _)| *is_part)
        .map(|(_, time)| time)
        .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_as_long_as_the_time_allows() {
        assert_eq!(Effort::within(Duration::from_secs(9)), FULL);
        assert_eq!(Effort::within(Duration::ZERO), LEAST);
        let effort = Effort::within(Duration::from_millis(60));
        assert_eq!(
            (effort.request, effort.sampling),
            (Duration::from_micros(7500), Duration::from_millis(20))
        );
    }
}
