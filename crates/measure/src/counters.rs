//! Hardware and software events per iteration: an untimed pass that takes differences of two
//! requests, as `proof` does.
//!
//! Each event is counted in turn, so that it has a counter to itself and nothing is scaled up.
//! Requests are short, so that most have no timer interrupt in them, and analysis takes medians.

use crate::proof::{self, step};
use crate::runner::{Child, Workers};
use itertools::Itertools;
use model::prose::some;
use model::{Counters, Event, Failure, Planned, grouped};
use stats::median;
use std::time::{Duration, Instant};
use sys::counters::{Counter, Offer, wait_until_asleep};

/// Launches of a worker: what differs between them (addresses, hash chains) is part of the scatter.
const LAUNCHES: usize = 5;
/// Enough if they take longer than the caller has time.
const FEWEST_LAUNCHES: usize = 3;
/// `count_events` then launches no worker beyond the fewest, for a run without a budget of its own.
pub const LONG: Duration = Duration::from_secs(2);
const PAIRS: usize = 3;
/// Waiting for the worker to sleep included: long against the protocol, short against the time between two timer interrupts.
const REQUEST: Duration = Duration::from_micros(600);
const MOST_NAMES: usize = 4;

/// Counts every event of `offer` that the kernel permits, over at most five launches of the case's worker, and over fewer if
/// they take longer than `long`. Each launch adds a value per iteration to each event, `None` if its counter was shared.
///
/// # Errors
/// The worker's own failure, or that a permitted counter could not be attached after all.
pub fn count_events(
    workers: &Workers,
    planned: &Planned,
    offer: &Offer,
    long: Duration,
) -> Result<Counters, Failure> {
    let began = Instant::now();
    let events: Vec<&Event> = offer
        .iter()
        .filter(|(_, refused)| refused.is_ok())
        .map(|(event, _)| *event)
        .collect();
    let mut counters = Counters::default();
    // A counter follows the process that we started, and a starter may hand the work to one that is not its child.
    let launches = if events.is_empty()
        || workers
            .environment(&planned.case.environment)?
            .has_starter()
    {
        0
    } else {
        LAUNCHES
    };
    for launch in 0..launches {
        // Checked between launches only, so that all events have as many values.
        if launch >= FEWEST_LAUNCHES && began.elapsed() > long {
            break;
        }
        let counts = Worker::start(workers, planned, &events)?.launch(planned)?;
        for (event, count) in events.iter().zip(counts) {
            counters
                .entry(event.name.to_string())
                .or_default()
                .extend(count);
        }
    }
    Ok(counters)
}

/// `None` if all are counted.
pub fn warning(offer: &Offer) -> Option<String> {
    let refused = offer
        .iter()
        .filter_map(|(event, refused)| Some((refused.as_ref().err()?, event.name)));
    let reasons = grouped(refused)
        .iter()
        .map(|(why, names)| format!("{}: {why}", some(names, MOST_NAMES)))
        .join("; ");
    if reasons.is_empty() {
        return None;
    }
    Some(format!("not counted: {reasons}"))
}

struct Worker<'a> {
    child: Child,
    counters: Vec<(&'a Event, Counter)>,
    /// Runs in two steps, so that untimed preparation is not counted.
    native: bool,
}

impl<'a> Worker<'a> {
    /// Counters are attached while the worker waits for its first line, so that they cover whatever it starts.
    fn start(
        workers: &Workers,
        planned: &Planned,
        events: &[&'a Event],
    ) -> Result<Worker<'a>, Failure> {
        let mut child = workers.start(&planned.case, 0)?;
        let counters = events
            .iter()
            .map(|event| Ok((*event, Counter::attach(event, child.pid()).map_err(failed)?)))
            .collect::<Result<_, Failure>>()?;
        child.send(&Workers::greeting(&planned.case))?;
        child.ready()?;
        Ok(Worker {
            child,
            counters,
            native: planned.case.language.is_none(),
        })
    }

    fn launch(&mut self, planned: &Planned) -> Result<Vec<Option<f64>>, Failure> {
        let more = step(planned, REQUEST, &mut |n| self.request(0, n))?;
        let mut counts = Vec::new();
        for event in 0..self.counters.len() {
            let pairs = (0..PAIRS)
                .map(|_| self.pair(event, more))
                .collect::<Result<Vec<_>, _>>()?;
            counts.push(per_iteration(&pairs, more, self.counters[event].0));
        }
        Ok(counts)
    }

    /// An event's counts in the smaller and in the larger request; `None` if its counter did not run all the time.
    fn pair(&mut self, event: usize, more: u64) -> Result<Option<[u64; 2]>, Failure> {
        self.counters[event].1.switch(true).map_err(failed)?;
        let [few, many] = proof::pair(more, &mut |n| self.request(event, n))?;
        self.counters[event].1.switch(false).map_err(failed)?;
        Ok(few.zip(many).map(|(few, many)| [few, many]))
    }

    fn request(&mut self, event: usize, n: u64) -> Result<Option<u64>, Failure> {
        if self.native {
            self.child.prepare_count(n)?;
        }
        // A worker that is still on its way into the read would add that path's events to this request or to the last.
        wait_until_asleep(self.child.pid());
        let before = self.counters[event].1.read().map_err(failed)?;
        if self.native {
            self.child.run_count()?
        } else {
            self.child.request(n, 1).map(drop)?
        }
        wait_until_asleep(self.child.pid());
        let after = self.counters[event].1.read().map_err(failed)?;
        Ok(after
            .zip(before)
            .map(|(after, before)| after.wrapping_sub(before)))
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::failed(format!("counters: {error}"))
}

/// The median; `None` without a complete pair, or if an event that always happens was never counted.
fn per_iteration(pairs: &[Option<[u64; 2]>], more: u64, event: &Event) -> Option<f64> {
    let complete: Vec<&[u64; 2]> = pairs.iter().flatten().collect();
    // Some virtual machines offer counters that never advance: a cost of 0 instructions would look like a result.
    let stays_zero = event.is_never_zero() && complete.iter().any(|[_, many]| *many == 0);
    let each = complete
        .iter()
        .map(|[few, many]| (*many as f64 - *few as f64) / more as f64);
    if stays_zero {
        return None;
    }
    median(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::EVENTS;

    #[test]
    fn what_does_not_grow_with_n_cancels_and_what_stays_at_0_is_not_believed() {
        let pair = Some([5000 + 274, 5000 + 274 * 65]);
        assert_eq!(
            per_iteration(&[pair, None, pair], 64, &EVENTS[0]),
            Some(274.0)
        );
        assert_eq!(per_iteration(&[None], 64, &EVENTS[0]), None);
        let misses = EVENTS
            .iter()
            .find(|event| event.name == "branch-misses")
            .unwrap();
        assert_eq!(
            [&EVENTS[0], misses].map(|event| per_iteration(&[Some([0, 0])], 64, event)),
            [None, Some(0.0)]
        );
    }
}
