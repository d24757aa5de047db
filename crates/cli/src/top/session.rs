//! One session: takes counts at the end of each interval, and hands them to what shows them.

use super::live::Live;
use super::plain::Plain;
use analysis::top::{By, Counts};
use anyhow::Result;
use model::Profile;
use std::rc::Rc;
use std::time::{Duration, Instant};
use sys::usage::own_cpu_ns;
use trace::{Grouping, Tracer, Watcher};

const KEYS: Duration = Duration::from_millis(50);

/// Counts by process only on request: short-lived processes fill the tables of the programs, and reading all that have ended takes more
/// CPU time than anything else.
pub fn grouping(by: By) -> Grouping {
    match by {
        By::Cgroup => Grouping::Cgroup,
        By::Process => Grouping::Process,
        By::Program | By::Call | By::Class | By::Error => Grouping::Name,
    }
}

pub enum Show {
    Live(Box<Live>),
    Plain(Box<Plain>),
}

pub struct Session {
    begun: Instant,
    interval: Duration,
    due: Instant,
    left: Option<u64>,
    before: Rc<Counts>,
    /// `None` before the first counts.
    now: Option<Rc<Counts>>,
    /// Lost events and torn reads of what was counted by other groups before.
    earlier: (u64, u64),
    show: Show,
    grouping: Grouping,
}

impl Session {
    /// `left` is `None` for no limit.
    pub fn new(interval: Duration, left: Option<u64>, show: Show, grouping: Grouping) -> Session {
        let begun = Instant::now();
        Session {
            begun,
            interval,
            due: begun,
            left,
            before: Rc::default(),
            now: None,
            earlier: (0, 0),
            show,
            grouping,
        }
    }

    /// The numbers of lost events and of torn reads since tracing began.
    pub fn trouble(&self) -> (u64, u64) {
        let now = self.now.as_ref();
        let (lost, torn) = now.map_or((0, 0), |now| (now.tracer.lost, now.torn));
        (self.earlier.0 + lost, self.earlier.1 + torn)
    }

    fn take(&self, snapshot: (Profile, bool)) -> Counts {
        let (collected, torn) = snapshot;

        Counts {
            at_ns: sys::clock::ns(self.begun.elapsed()),
            groups: collected.groups,
            latencies: collected.latencies,
            tracer: collected.tracer,
            torn: self.now.as_ref().map_or(0, |now| now.torn) + u64::from(torn),
            own_cpu_ns: own_cpu_ns(),
        }
    }

    fn show(&mut self, now: &Rc<Counts>) -> Result<bool> {
        match &mut self.show {
            Show::Live(live) => live.update(&self.before, now),
            Show::Plain(plain) => plain.print(&self.before, now),
        }
    }

    fn regroup(&mut self, tracer: &mut dyn Tracer) -> Result<()> {
        let Show::Live(live) = &mut self.show else {
            return Ok(());
        };
        let wanted = grouping(live.by());
        if wanted == self.grouping {
            return Ok(());
        }
        live.restart()?;
        tracer.regroup(wanted)?;
        // The tracer starts new tables, and counts from zero.
        self.earlier = self.trouble();
        self.grouping = wanted;
        // Rates need two counts of the same grouping.
        self.now = None;
        self.due = Instant::now();
        Ok(())
    }
}

impl Watcher for Session {
    fn delay(&self) -> Duration {
        let left = self.due.saturating_duration_since(Instant::now());
        if matches!(self.show, Show::Live(_)) {
            // Wakes up often enough for keys to feel immediate.
            left.min(KEYS)
        } else {
            left
        }
    }

    fn look(&mut self, ended: bool, tracer: &mut dyn Tracer) -> Result<bool> {
        if let Show::Live(live) = &mut self.show
            && !live.keys()?
        {
            return Ok(false);
        }
        if !ended {
            self.regroup(tracer)?;
        }
        if Instant::now() < self.due && !ended {
            return Ok(true);
        }
        let now = Rc::new(self.take(tracer.snapshot()?));
        let before = self.now.replace(Rc::clone(&now));
        // Reading the counts may take long: the next interval is scheduled from its end.
        let done = Instant::now();
        self.due = if before.is_none() {
            done + self.interval
        } else {
            next(self.due, self.interval, done)
        };
        // The first counts are only the beginning of an interval.
        if before.is_none() && !ended {
            return Ok(true);
        }
        self.before = before.unwrap_or_default();
        let goes_on = self.show(&now)?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(goes_on && self.left != Some(0))
    }
}

/// All intervals end at multiples of the interval, so that work and delays do not add up; one of which less than half is left is
/// made part of the next.
fn next(due: Instant, interval: Duration, now: Instant) -> Instant {
    let late = now.saturating_duration_since(due) + interval / 2;
    let passed = late.as_nanos() / interval.as_nanos().max(1);
    due + interval
        * u32::try_from(passed)
            .unwrap_or(u32::MAX - 1)
            .saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_end_on_schedule_however_late_the_last_one_was() {
        let (due, second) = (Instant::now(), Duration::from_secs(1));
        let after =
            |late_ms| next(due, second, due + Duration::from_millis(late_ms)).duration_since(due);
        assert_eq!(
            [0, 1, 499, 500, 1000, 2300].map(|late_ms| after(late_ms).as_secs()),
            [1, 1, 1, 2, 2, 3]
        );
    }
}
