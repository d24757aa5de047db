//! Proof of kernel entries: an untimed pass runs each case under ptrace with two different n and takes the difference per
//! iteration, so that start-up, protocol and clean-up cancel exactly. Called by `session` and `explain`.

use crate::kernel::process::kill_group;
use crate::kernel::ptrace::{Counts, EntryCounter};
use crate::model::{Count, Entries, EntriesStatus, Failure, FailureKind, Planned};
use crate::runner::{Child, Interrupt, Workers};
use indexmap::IndexMap;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// What the pass found for one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// Kernel entries per iteration; `None` if they were not counted.
    pub entries: Option<Entries>,
    /// Whether they were counted, or why not.
    pub status: EntriesStatus,
    /// Set if the entries differ from those that the operation declares.
    pub warning: Option<String>,
}

impl Proof {
    /// No pass was made, for this reason.
    pub fn none(reason: &str) -> Proof {
        Proof { entries: None, status: EntriesStatus::Unverified(reason.to_string()), warning: None }
    }
}

/// Bounds of the additional iterations in the larger request: powers of two, so that fractions such as 1/4096 are exact.
const LEAST: u64 = 8;
const MOST: u64 = 1 << 16;
/// Entries that differ from the declaration are counted again: a real difference comes back, one caused by a partner that
/// was late (on a busy machine) does not.
const RECOUNTS: usize = 2;
/// Target duration of a request under ptrace.
const REQUEST: Duration = Duration::from_millis(20);
/// Runtime threads and the garbage collector make background calls: differences below this count are ignored if the larger
/// request has at least `MANY` more iterations.
const BACKGROUND: i64 = 3;
const MANY: u64 = 256;
/// Most pairs of requests until two in a row agree.
const PAIRS: usize = 6;

/// Counts the kernel entries of one iteration of a case.
///
/// Tracer and tracees share the measuring CPU: switching on one CPU takes a microsecond or two, waking an idle one takes
/// tens of microseconds in a virtual machine.
///
/// # Errors
/// The case's own failure. If ptrace is refused, that is not a failure: the proof says so.
pub fn prove(workers: &Workers, planned: &Planned) -> Result<Proof, Failure> {
    if let Some(reason) = workers.environment(&planned.case.environment)?.unverified {
        return Ok(Proof::none(&reason));
    }
    workers.placement.on_measuring_cpu(|| {
        let mut proof = count(workers, planned)?;
        for _ in 0..RECOUNTS {
            if proof.warning.is_none() {
                break;
            }
            proof = count(workers, planned)?;
        }
        Ok(proof)
    })
}

fn count(workers: &Workers, planned: &Planned) -> Result<Proof, Failure> {
    let mut child = workers.start(&planned.case, 0)?;
    let watchdog = Watchdog::start(child.pid(), workers.timeout * 4, &workers.interrupt);
    let greeting = Workers::greeting(&planned.case);
    // A command that starts the program makes a tree of processes, which must be complete before it is followed. Our own launcher
    // waits for its first line, and starts what serves the program untraced.
    let environment = workers.environment(&planned.case.environment)?;
    let starter = environment.has_starter() && !environment.is_launched();
    if starter {
        child.send(&greeting)?;
        child.ready(workers.timeout)?;
    }
    let tracer = match EntryCounter::attach(child.pid(), child.reply_pipe()) {
        Ok(tracer) => tracer,
        Err(errno) => return Ok(Proof::none(&format!("ptrace was refused: {errno}"))),
    };
    let fewest = if planned.case.language.is_some() { BACKGROUND } else { 1 };
    let mut pass = Pass { watchdog, child, tracer, timeout: workers.timeout, fewest };
    let begun = if starter { Ok(()) } else { pass.begin(&greeting) };
    let total =
        begun.and_then(|()| pass.count(planned)).map_err(|failure| pass.watchdog.reason().unwrap_or(failure))?;
    Ok(judge(total, planned))
}

fn ended(errno: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Crashed, format!("the traced probe ended: {errno}"))
}

struct Pass {
    /// Dropped before the child, so that it cannot kill a group whose leader has been reaped.
    watchdog: Watchdog,
    child: Child,
    tracer: EntryCounter,
    timeout: Duration,
    /// Calls that are fewer than this in the difference of two requests are not the case's own.
    fewest: i64,
}

impl Pass {
    fn count(&mut self, planned: &Planned) -> Result<Entries, Failure> {
        self.per_iteration(planned.limit.unwrap_or(u64::MAX), finest(planned))
    }

    fn begin(&mut self, greeting: &str) -> Result<(), Failure> {
        self.child.send(greeting)?;
        let counts = self.tracer.until_reply();
        self.child.ready(self.timeout)?;
        counts.map(drop).map_err(|errno| ended(&errno))
    }

    /// Entries per iteration by name: the first difference that is seen twice in a row, else the median of all.
    fn per_iteration(&mut self, limit: u64, least: u64) -> Result<Entries, Failure> {
        let more = self.step(limit, least)?;
        let mut seen: Vec<IndexMap<String, i64>> = Vec::new();
        for _ in 0..PAIRS {
            let few = self.request(base(more))?;
            // What happens every 64th time, say, must stand at the same place in its period for both.
            if more > base(more) {
                self.request(more - base(more))?;
            }
            let many = self.request(base(more) + more)?;
            seen.push(difference(&many, &few));
            if seen.len() > 1 && seen[seen.len() - 1] == seen[seen.len() - 2] {
                seen.drain(..seen.len() - 1);
                break;
            }
        }
        let counts = medians(&seen).into_iter().filter(|(_, count)| *count >= self.fewest || more < MANY);
        Ok(counts.map(|(name, count)| (name, count as f64 / more as f64)).collect())
    }

    /// How many iterations more the larger request has: the largest power of two that fits time and limit, but not fewer
    /// than `least` where the limit allows it. The first request also resolves whatever is resolved lazily.
    fn step(&mut self, limit: u64, least: u64) -> Result<u64, Failure> {
        self.request(1)?;
        let fits = |more: u64| more <= MOST && base(more) + more <= limit;
        let mut more = (0..=LEAST.ilog2()).map(|shift| LEAST >> shift).find(|more| fits(*more)).unwrap_or(1);
        loop {
            let started = Instant::now();
            self.request(base(more) + more)?;
            if !fits(more * 4) || (more >= least && started.elapsed() * 4 > REQUEST) {
                return Ok(more);
            }
            more *= 4;
        }
    }

    fn request(&mut self, n: u64) -> Result<Counts, Failure> {
        self.child.send(&format!("{n} 1"))?;
        let counts = self.tracer.until_reply();
        self.child.reply(self.timeout)?;
        counts.map_err(|errno| ended(&errno))
    }
}

impl Drop for Pass {
    /// Lets the probe tear down and exit while still traced.
    fn drop(&mut self) {
        self.child.end_input();
        while self.tracer.until_reply().is_ok() {}
    }
}

/// Iterations of the smaller request: with as many digits as the larger, because a language that reads its input byte by
/// byte makes a system call for each digit.
pub(crate) fn base(more: u64) -> u64 {
    10u64.pow(more.ilog10())
}

/// Iterations in which every declared fraction occurs at least once: 4096 for x1/4096.
pub(crate) fn finest(planned: &Planned) -> u64 {
    let declared = planned.enters.iter().chain([&planned.prepares]).flat_map(|declared| &declared.0);
    let periods = declared.map(|expected| match expected.count {
        Count::Exactly(count) if count > 0.0 => (1.0 / count).round() as u64,
        _ => 1,
    });
    periods.max().unwrap_or(1)
}

fn difference(many: &Counts, few: &Counts) -> IndexMap<String, i64> {
    let count = |counts: &Counts, name: &str| counts.get(name).map_or(0, |n| n.cast_signed());
    let names = many.keys().chain(few.keys());
    names.map(|name| (name.clone(), count(many, name) - count(few, name))).filter(|(_, n)| *n != 0).collect()
}

fn medians(seen: &[IndexMap<String, i64>]) -> IndexMap<String, i64> {
    let names = seen.iter().flat_map(|counts| counts.keys());
    let median = |name: &String| {
        let mut counts: Vec<i64> = seen.iter().map(|c| c.get(name).copied().unwrap_or(0)).collect();
        counts.sort_unstable();
        counts[counts.len() / 2]
    };
    names.map(|name| (name.clone(), median(name).max(0))).collect()
}

/// Subtracts the declared preparation from the total and compares the rest with the declaration.
fn judge(total: Entries, planned: &Planned) -> Proof {
    let params = planned.case.effective_params();
    let prepared = planned.prepares.exact_counts(&params);
    let timed: Entries = total
        .iter()
        .map(|(name, count)| (name.to_string(), (count - prepared.get(name).copied().unwrap_or(0.0)).max(0.0)))
        .collect();
    let unlike = planned.enters.as_ref().filter(|declared| !declared.matches(&timed, &params));
    let warning = unlike.map(|declared| format!("kernel entries are {timed}, declared are {declared}"));
    Proof { entries: Some(timed), status: EntriesStatus::Verified, warning }
}

/// Kills a traced probe that hangs or whose run is interrupted, which also ends the wait for its stops. It must be dropped
/// before the probe is reaped: the PID may be reused after that.
pub(crate) struct Watchdog {
    /// Why it killed the probe, if it did.
    reason: Arc<OnceLock<Failure>>,
    /// Dropped to stop the thread.
    done: Option<mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watchdog {
    pub(crate) fn start(group: u32, timeout: Duration, interrupt: &Interrupt) -> Watchdog {
        let (done, waiting) = mpsc::channel();
        let interrupt = interrupt.clone();
        let deadline = Instant::now() + timeout;
        let reason = Arc::new(OnceLock::new());
        let said = Arc::clone(&reason);
        let watch = move || {
            while waiting.recv_timeout(Duration::from_millis(50)) == Err(mpsc::RecvTimeoutError::Timeout) {
                if interrupt.is_set() || Instant::now() > deadline {
                    said.get_or_init(|| if interrupt.is_set() { Failure::interrupted() } else { hangs(timeout) });
                    return kill_group(group);
                }
            }
        };
        Watchdog { reason, done: Some(done), thread: Some(std::thread::spawn(watch)) }
    }

    fn reason(&self) -> Option<Failure> {
        self.reason.get().cloned()
    }
}

fn hangs(timeout: Duration) -> Failure {
    let seconds = timeout.as_secs_f64();
    let text = format!("counting its kernel entries took longer than {seconds:.0} s: stopped (--timeout allows more)");
    Failure::new(FailureKind::Timeout, text)
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
