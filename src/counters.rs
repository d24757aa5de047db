//! Hardware and software events per iteration: an untimed pass runs each case in fresh workers with two different n and
//! takes the difference per iteration, as `proof` does, so that start-up, protocol and reading the counters cancel. Called
//! by `session`.
//!
//! Only one group of counters counts at a time, and a reading during which the kernel took a counter away is repeated, never
//! scaled up. Requests are short, so that most have no timer interrupt in them, and analysis takes medians.

use crate::kernel::Sources;
use crate::kernel::counters::{Attached, AvailableEvents, Countable, Reading, wait_until_asleep};
use crate::model::{Counters, Failure, FailureKind, Planned};
use crate::proof::{base, finest};
use crate::prose::some;
use crate::runner::{Child, Workers};
use indexmap::IndexMap;
use std::time::{Duration, Instant};

/// Launches of a worker: what differs between them (addresses, hash chains) is part of the scatter.
const LAUNCHES: usize = 5;
/// Enough of them if they take longer together than the caller has time, which is no more than `LONG`.
const FEWEST_LAUNCHES: usize = 3;
pub const LONG: Duration = Duration::from_secs(2);
/// Pairs of requests of each launch and group.
const PAIRS: usize = 7;
/// Enough of them if they take longer than a launch's part of the time.
const FEWEST_PAIRS: usize = 3;
/// How often a launch repeats readings that were not whole.
const REPEATS: usize = 2 * PAIRS;
/// Target duration of the larger request, waiting for the worker to sleep included: long against the protocol, short against
/// the time between two timer interrupts.
const REQUEST: Duration = Duration::from_micros(600);
/// With fewer additional iterations, what a request itself costs would show, so it may take longer until there are as many.
const FEW: u64 = 16;
const LONGEST_OF_FEW: Duration = Duration::from_millis(10);
/// Most additional iterations in the larger request.
const MOST: u64 = 1 << 16;
/// Events that a warning names before it counts the rest.
const MOST_NAMES: usize = 4;

/// Counts what `offer` has, per iteration of a case, in about `long`. Groups that turn out not to fit into the counters that are free are
/// split in `offer`, for all later cases. `None` if the run was interrupted.
pub fn count(workers: &Workers, planned: &Planned, offer: &mut AvailableEvents, long: Duration) -> Option<Counters> {
    if workers.environment(&planned.case.environment).is_ok_and(|environment| environment.has_starter()) {
        // The process that is started need not be the one that does the work.
        return None;
    }
    let began = Instant::now();
    let mut found = Found::default();
    for launch in 0..LAUNCHES {
        if offer.groups.is_empty() || (launch >= FEWEST_LAUNCHES && began.elapsed() > long) {
            break;
        }
        let counted = Worker::start(workers, planned, offer)
            .and_then(|mut worker| one_launch(&mut worker, planned, long / LAUNCHES as u32));
        match counted {
            Ok(launch) => found.add(launch, offer),
            Err(failure) if failure.kind == FailureKind::Interrupted => return None,
            Err(failure) => {
                found.failed(offer, &failure);
                break;
            }
        }
    }
    Some(found.counters(offer))
}

/// Why events that a user may expect are not counted on this machine; `None` if all are.
pub fn warning(offer: &AvailableEvents) -> Option<String> {
    let reason = |(refusal, names): (_, Vec<&str>)| {
        let names: Vec<String> = names.into_iter().map(str::to_string).collect();
        format!("{}: {refusal}", some(&names, MOST_NAMES))
    };
    let reasons: Vec<String> = offer.reasons().into_iter().map(reason).collect();
    (!reasons.is_empty()).then(|| format!("not counted (--counters): {}", reasons.join("; ")))
}

/// A worker with counters, of which a test makes one of its own.
trait Bench {
    fn groups(&self) -> Vec<Vec<Countable>>;
    fn switch(&mut self, group: usize, on: bool) -> Result<(), Failure>;
    /// The counters of a group, while the worker sleeps.
    fn read(&mut self, group: usize) -> Result<Vec<Reading>, Failure>;
    /// Prepares n iterations; the worker then sleeps.
    fn prepare(&mut self, n: u64) -> Result<(), Failure>;
    /// Runs them; the worker then sleeps.
    fn run(&mut self) -> Result<(), Failure>;
}

/// What one launch counted: for each group, its events and for each pair their counts per iteration, or why there is none.
type Launch = Vec<(Vec<Countable>, Vec<Result<Vec<f64>, Doubt>>)>;

/// Why a reading is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The kernel did not let the group count all the time.
    NotWhole,
    /// The event of this index has not happened once, which cannot be.
    Zero(usize),
}

fn one_launch(bench: &mut impl Bench, planned: &Planned, long: Duration) -> Result<Launch, Failure> {
    let began = Instant::now();
    let more = step(bench, planned.limit.unwrap_or(u64::MAX), finest(planned))?;
    let mut launch: Launch = bench.groups().into_iter().map(|group| (group, Vec::new())).collect();
    for _ in 0..PAIRS + REPEATS {
        let good = |pairs: &[Result<_, _>]| pairs.iter().filter(|pair| pair.is_ok()).count();
        let enough = if began.elapsed() > long { FEWEST_PAIRS } else { PAIRS };
        let mut wanting = false;
        for (index, (group, pairs)) in launch.iter_mut().enumerate() {
            if good(pairs) < enough && pairs.len() < enough + REPEATS {
                pairs.push(pair(bench, index, more)?.map(|counts| counts.into_iter().take(group.len()).collect()));
                wanting = true;
            }
        }
        if !wanting {
            break;
        }
    }
    Ok(launch)
}

/// One difference per iteration for each event of a group.
fn pair(bench: &mut impl Bench, group: usize, more: u64) -> Result<Result<Vec<f64>, Doubt>, Failure> {
    bench.switch(group, true)?;
    let few = window(bench, group, base(more))?;
    // What happens every 64th time, say, must stand at the same place in its period for both.
    if more > base(more) {
        bench.prepare(more - base(more))?;
        bench.run()?;
    }
    let many = window(bench, group, base(more) + more)?;
    bench.switch(group, false)?;
    Ok(difference(&bench.groups()[group], &few, &many, more))
}

fn difference(group: &[Countable], few: &[Reading], many: &[Reading], more: u64) -> Result<Vec<f64>, Doubt> {
    if !few.iter().chain(many).all(Reading::is_whole) {
        return Err(Doubt::NotWhole);
    }
    let zero = |(countable, reading): (&Countable, &Reading)| countable.event.never_zero && reading.count == 0;
    match group.iter().zip(many).position(zero) {
        Some(index) => Err(Doubt::Zero(index)),
        None => {
            Ok(few.iter().zip(many).map(|(few, many)| (many.count as f64 - few.count as f64) / more as f64).collect())
        }
    }
}

/// What the counters of a group counted while the worker ran n iterations.
fn window(bench: &mut impl Bench, group: usize, n: u64) -> Result<Vec<Reading>, Failure> {
    bench.prepare(n)?;
    let before = bench.read(group)?;
    bench.run()?;
    Ok(bench.read(group)?.iter().zip(&before).map(|(after, before)| after.since(before)).collect())
}

/// How many iterations more the larger request has: a power of two that fits time and limit, but not fewer than `least`
/// where the limit allows it. The first requests also resolve whatever is resolved lazily.
fn step(bench: &mut impl Bench, limit: u64, least: u64) -> Result<u64, Failure> {
    let fits = |more: u64| more <= MOST.max(least) && base(more) + more <= limit;
    timed(bench, 1)?;
    let mut more = 1;
    while fits(more * 2) {
        let longest = if more < FEW { LONGEST_OF_FEW } else { REQUEST };
        if more >= least && timed(bench, base(more) + more)? * 2 > longest {
            break;
        }
        more *= 2;
    }
    Ok(more)
}

/// The shortest of three requests: the others may have been disturbed.
fn timed(bench: &mut impl Bench, n: u64) -> Result<Duration, Failure> {
    let mut shortest = Duration::MAX;
    for _ in 0..3 {
        bench.prepare(n)?;
        let started = Instant::now();
        bench.run()?;
        shortest = shortest.min(started.elapsed());
    }
    Ok(shortest)
}

struct Worker {
    child: Child,
    counters: Attached,
    timeout: Duration,
    /// Whether it runs in two steps, so that untimed preparation is not counted. A language's loop has none.
    native: bool,
    n: u64,
}

impl Worker {
    /// Counters are attached while the worker waits for its first line, so that they cover whatever it starts.
    fn start(workers: &Workers, planned: &Planned, offer: &AvailableEvents) -> Result<Worker, Failure> {
        let mut child = workers.start(&planned.case, 0)?;
        let attached = Attached::to(child.pid(), offer, &Sources::default());
        let counters = attached.map_err(|(countable, refusal)| failed(&countable.name(), &refusal))?;
        child.send(&Workers::greeting(&planned.case))?;
        child.ready(workers.timeout)?;
        Ok(Worker { child, counters, timeout: workers.timeout, native: planned.case.language.is_none(), n: 0 })
    }
}

fn failed(what: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Failed, format!("{what}: {why}"))
}

impl Bench for Worker {
    fn groups(&self) -> Vec<Vec<Countable>> {
        self.counters.groups()
    }

    fn switch(&mut self, group: usize, on: bool) -> Result<(), Failure> {
        self.counters.switch(group, on).map_err(|error| failed("switching counters", &error))
    }

    fn read(&mut self, group: usize) -> Result<Vec<Reading>, Failure> {
        self.counters.read(group).map_err(|error| failed("reading counters", &error))
    }

    fn prepare(&mut self, n: u64) -> Result<(), Failure> {
        self.n = n;
        if self.native {
            self.child.prepare_count(n, self.timeout)?;
        }
        wait_until_asleep(self.child.pid());
        Ok(())
    }

    fn run(&mut self) -> Result<(), Failure> {
        match self.native {
            true => self.child.run_count(self.timeout)?,
            false => self.child.request(self.n, 1, self.timeout).map(drop)?,
        }
        wait_until_asleep(self.child.pid());
        Ok(())
    }
}

/// The results of all launches so far.
#[derive(Default)]
struct Found {
    counted: IndexMap<String, Vec<Vec<f64>>>,
    reasons: IndexMap<String, String>,
}

const NOT_WHOLE: &str = "other users of the processor's counters (perf, the NMI watchdog) left none free for it all the time; \
                         parts are not scaled up";
const ZERO: &str = "it stayed at 0, which cannot be";

impl Found {
    fn add(&mut self, launch: Launch, offer: &mut AvailableEvents) {
        for (group, pairs) in launch {
            let good: Vec<&Vec<f64>> = pairs.iter().flatten().collect();
            if good.is_empty() {
                self.doubted(&group, &pairs, offer);
                continue;
            }
            for (index, countable) in group.iter().enumerate() {
                let counts = good.iter().map(|counts| counts[index]).collect();
                self.counted.entry(countable.name()).or_default().push(counts);
            }
        }
    }

    /// A group without a single good pair is split for the next launch; an event that is alone has a reason.
    fn doubted(&mut self, group: &[Countable], pairs: &[Result<Vec<f64>, Doubt>], offer: &mut AvailableEvents) {
        if offer.split(group) {
            return;
        }
        let doubt = pairs.iter().find_map(|pair| pair.as_ref().err());
        for (index, countable) in group.iter().enumerate() {
            let reason = if doubt == Some(&Doubt::Zero(index)) { ZERO } else { NOT_WHOLE };
            self.reasons.insert(countable.name(), reason.to_string());
        }
    }

    fn failed(&mut self, offer: &AvailableEvents, failure: &Failure) {
        for countable in offer.groups.iter().flatten() {
            self.reasons.insert(countable.name(), failure.message.clone());
        }
    }

    /// In the order of the table of events.
    fn counters(mut self, offer: &AvailableEvents) -> Counters {
        let mut counters = Counters::default();
        let mut all: Vec<&Countable> = offer.groups.iter().flatten().collect();
        all.sort_by_key(|countable| crate::model::EVENTS.iter().position(|event| event == countable.event));
        for name in all.into_iter().map(Countable::name) {
            match (self.counted.shift_remove(&name), self.reasons.shift_remove(&name)) {
                (Some(launches), _) => drop(counters.counted.insert(name, launches)),
                (None, reason) => {
                    drop(counters.not_counted.insert(name, reason.unwrap_or_else(|| NOT_WHOLE.to_string())));
                }
            }
        }
        counters
    }
}

#[cfg(test)]
mod tests;
