//! Proof of kernel entries: an untimed pass runs each case under ptrace with two different n and
//! takes the difference per iteration, so that start-up, protocol and clean-up cancel exactly.

mod requests;
mod scaled;
pub mod stepped;

use crate::runner::{Child, Interrupt, Workers, has_runtime};
use model::{Entries, EntriesStatus, Failure, FailureKind, Planned, Returned};
use nix::errno::Errno;
use requests::{over_all, per_iteration};
pub use requests::{pair, step};
pub use scaled::on_line;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use sys::process::kill_group;
use sys::ptrace::{Counts, EntryCounter};
use sys::threads::Lookout;

#[derive(Clone)]
pub struct Proof {
    pub entries: Option<Entries>,
    pub status: EntriesStatus,
    pub warning: Option<String>,
    /// The number of iterations over which entries were counted, if it is that of the timed ones.
    pub iterations: Option<u64>,
    pub returned: Returned,
    pub counted_unix_s: Option<u64>,
}

impl Proof {
    /// Reports `unverified`, for this reason.
    pub fn none(reason: &str) -> Proof {
        Proof {
            entries: None,
            status: EntriesStatus::Unverified(reason.to_string()),
            warning: None,
            iterations: None,
            returned: Returned::default(),
            counted_unix_s: None,
        }
    }

    /// Whether there may be entries that so few iterations do not show.
    pub fn is_rare(&self) -> bool {
        let entries = self.entries.as_ref();
        entries.is_some_and(|entries| entries.total() < RARE)
    }
}

/// Entries that are not as declared are counted again: a real difference comes back, one of a
/// partner that was late does not.
const RECOUNTS: usize = 2;
/// Under ptrace, unless the caller has less time.
pub const REQUEST: Duration = Duration::from_millis(20);
/// A request that makes more of them is not counted to its end: counting takes microseconds each.
const MOST_ENTRIES: u64 = 200_000;
/// Entries per iteration. Rarer ones are counted over as many iterations as were timed: stopping at each costs microseconds, which so
/// many iterations outweigh.
const RARE: f64 = 1.0 / 1024.0;

/// Counts the kernel entries of a case, in requests of up to `request`.
///
/// Tracer and tracees share the measuring CPU: switching on one CPU takes a microsecond or two,
/// waking an idle one takes tens of microseconds in a virtual machine.
///
/// # Errors
/// The case's own failure. A refusal of ptrace is not one: it is the reason in an unverified proof.
pub fn prove(workers: &Workers, planned: &Planned, request: Duration) -> Result<Proof, Failure> {
    let environment = workers.environment(&planned.case.environment)?;
    if environment.is_guest || environment.unverified.is_some() {
        let reason = environment
            .unverified
            .unwrap_or("it runs in an emulated machine".to_string());
        return Ok(Proof::none(&reason));
    }
    // In fewer iterations a runtime's own calls are not told apart.
    let is_short = !has_runtime(&planned.case);
    let request = if is_short { request } else { REQUEST };
    prove_as(workers, planned, |pass| {
        per_iteration(planned, request, |n| pass.request(&n.to_string()))
    })
}

pub struct Length {
    pub iterations: u64,
    pub time: Duration,
    /// The entries that the case's runtime makes meanwhile in the thread that runs the loop; `None` without a runtime.
    pub runtime: Option<Entries>,
}

/// Counts the entries of a case that are rare over as many iterations as were timed. ptrace costs nothing while no entry is made.
/// For a snippet only the thread that runs the loop is counted.
///
/// # Errors
/// As `prove`.
pub fn prove_over(workers: &Workers, planned: &Planned, length: &Length) -> Result<Proof, Failure> {
    prove_as(workers, planned, |pass| {
        pass.alone = planned.case.language.is_some();
        let (entries, iterations) = over_all(planned, length, |n| pass.request(n))?;
        pass.iterations = Some(iterations);
        Ok(entries)
    })
}

fn prove_as(
    workers: &Workers,
    planned: &Planned,
    count: impl Fn(&mut Pass) -> Result<Entries, Failure>,
) -> Result<Proof, Failure> {
    let placement = &workers.placement;
    placement.on_measuring_cpu(|| until_as_declared(|| count_entries(workers, planned, &count)))
}

/// `request` runs so many iterations and returns all of their entries.
///
/// # Errors
/// Those of `request`.
pub fn prove_by(
    planned: &Planned,
    mut request: impl FnMut(u64) -> Result<Counts, Failure>,
) -> Result<Proof, Failure> {
    // The fewest iterations are enough: nothing else runs in an emulated machine.
    until_as_declared(|| {
        Ok(judge(
            per_iteration(planned, Duration::ZERO, &mut request)?,
            planned,
        ))
    })
}

fn until_as_declared(mut count: impl FnMut() -> Result<Proof, Failure>) -> Result<Proof, Failure> {
    let mut proof = count()?;
    for _ in 0..RECOUNTS {
        // Entries as declared are believed at once: a wrong count that happens to agree is unlikely.
        if proof.warning.is_none() {
            break;
        }
        proof = count()?;
    }
    Ok(proof)
}

fn count_entries(
    workers: &Workers,
    planned: &Planned,
    count: impl Fn(&mut Pass) -> Result<Entries, Failure>,
) -> Result<Proof, Failure> {
    let mut child = workers.start(&planned.case, 0)?;
    let watchdog = match Watchdog::start(child.pid(), workers.timeout * 4, &workers.interrupt) {
        Ok(watchdog) => watchdog,
        Err(error) => return Ok(Proof::none(&error.to_string())),
    };
    let greeting = Workers::greeting(&planned.case);
    // A command that starts the program makes a tree of processes, which must be complete before it is followed. Our own launcher
    // waits for its first line, and starts what serves the program untraced.
    let environment = workers.environment(&planned.case.environment)?;
    let starter = environment.has_starter() && !environment.is_launched();
    if starter {
        child.send(&greeting)?;
        child.ready()?;
    }
    let tracer = match attach(&child, planned, environment.relays) {
        Ok(tracer) => tracer,
        // A case that cannot be traced is measured all the same.
        Err(why) => return Ok(Proof::none(&why)),
    };
    let mut pass = Pass {
        watchdog,
        child,
        tracer,
        alone: false,
        iterations: None,
    };
    let begun = if starter {
        Ok(())
    } else {
        pass.begin(&greeting)
    };
    let counted = begun.and_then(|()| count(&mut pass));
    let total = match counted.map_err(|failure| pass.watchdog.reason().unwrap_or(failure)) {
        // A case that takes too long to count can still be timed.
        Err(failure) if failure.kind == FailureKind::Timeout => {
            return Ok(Proof::none(&failure.message));
        }
        total => total?,
    };
    let proof = judge(total, planned);
    let entries = proof.entries.as_ref();
    Ok(Proof {
        returned: entries
            .map(|entries| pass.tracer.returned.subset(entries.names()))
            .unwrap_or_default(),
        iterations: pass.iterations,
        ..proof
    })
}

fn attach(child: &Child, planned: &Planned, relays: bool) -> Result<EntryCounter, String> {
    // A relay reads the program's reply and writes one of its own, so the child's pipe is not the program's.
    let reply_pipe = if relays { None } else { child.reply_pipe() };
    if reply_pipe.is_none() && planned.case.language.is_some() {
        return Err("the reply of the program's loop was not found".to_string());
    }
    EntryCounter::attach(child.pid(), reply_pipe)
        .map_err(|errno| format!("ptrace was refused: {errno}"))
}

const TOO_MANY: &str = "an iteration makes too many system calls to count them one by one";

fn ended(errno: &dyn std::fmt::Display) -> Failure {
    Failure::crashed(format!("the traced probe ended: {errno}"))
}

struct Pass {
    /// Before the child, so that it cannot kill a group whose leader has been reaped.
    watchdog: Watchdog,
    child: Child,
    tracer: EntryCounter,
    alone: bool,
    iterations: Option<u64>,
}

impl Pass {
    fn begin(&mut self, greeting: &str) -> Result<(), Failure> {
        self.child.send(greeting)?;
        // Followed, not skipped: threads that the worker starts now must be traced from their first call on.
        let counts = self.tracer.until_reply(self.alone, u64::MAX);
        self.child.ready()?;
        counts.map(drop).map_err(|errno| ended(&errno))
    }

    fn request(&mut self, n: &str) -> Result<Counts, Failure> {
        self.child.send(&format!("{n} 1"))?;
        let counts = self.tracer.until_reply(self.alone, MOST_ENTRIES);
        if counts == Err(Errno::E2BIG) {
            // It cannot be asked to stop: it is inside a request that would take minutes under ptrace.
            kill_group(self.child.pid());
            return Err(Failure::timeout(TOO_MANY));
        }
        self.child.reply()?;
        counts.map_err(|errno| ended(&errno))
    }
}

impl Drop for Pass {
    /// Lets the probe tear down and exit while still traced.
    fn drop(&mut self) {
        self.child.end_input();
        while self.tracer.until_reply(false, u64::MAX).is_ok() {}
    }
}

fn judge(total: Entries, planned: &Planned) -> Proof {
    let params = planned.case.effective_params();
    let prepared = planned.prepares.exact_counts(&params);
    let mut total: Vec<(&str, f64)> = total.iter().collect();
    // Threads take turns by chance: as declared, the order repeats.
    total.sort_by_key(|(name, _)| {
        let mut declared = planned.enters.iter().flat_map(|declared| &declared.0);
        let place = declared.position(|expected| expected.names.iter().any(|one| one == name));
        place.unwrap_or(usize::MAX)
    });
    let timed: Entries = total
        .into_iter()
        .map(|(name, count)| {
            (
                name.to_string(),
                // Preparations are within the requests, as often as iterations.
                (count - prepared.get(name).copied().unwrap_or(0.0)).max(0.0),
            )
        })
        .collect();
    let unlike = planned
        .enters
        .as_ref()
        .filter(|declared| !declared.matches(&timed, &params));
    Proof {
        warning: unlike
            .map(|declared| format!("kernel entries are {timed}, but {declared} is declared")),
        ..verified(timed)
    }
}

fn verified(entries: Entries) -> Proof {
    Proof {
        entries: Some(entries),
        status: EntriesStatus::Verified,
        ..Proof::none("")
    }
}

/// None unless the entries are as the case declares: a difference is counted again.
pub fn from_cache(entries: &Entries, unix_s: u64, planned: &Planned) -> Option<Proof> {
    let is_declared = planned
        .enters
        .as_ref()?
        .matches(entries, &planned.case.effective_params());
    if !is_declared {
        return None;
    }
    Some(Proof {
        counted_unix_s: Some(unix_s),
        ..verified(entries.clone())
    })
}

/// Kills a traced probe that hangs or whose run is interrupted, which ends the wait for its stops.
/// It must be dropped before the probe is reaped: the PID may be reused after that.
pub struct Watchdog {
    reason: Arc<OnceLock<Failure>>,
    _lookout: Lookout,
}

impl Watchdog {
    /// Watches the process group `group` until dropped.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(group: u32, timeout: Duration, interrupt: &Interrupt) -> io::Result<Watchdog> {
        let interrupt = interrupt.clone();
        // Its own clock: the tracer waits in waitpid, which has no timeout.
        let deadline = Instant::now() + timeout;
        let reason = Arc::new(OnceLock::new());
        let shared = Arc::clone(&reason);
        Ok(Watchdog {
            reason,
            _lookout: Lookout::start(Duration::from_millis(50), move || {
                let why = if interrupt.is_set() {
                    Failure::interrupted()
                } else if Instant::now() > deadline {
                    hangs(timeout)
                } else {
                    return true;
                };
                let _ = shared.set(why);
                kill_group(group);
                false
            })?,
        })
    }

    fn reason(&self) -> Option<Failure> {
        self.reason.get().cloned()
    }
}

fn hangs(timeout: Duration) -> Failure {
    let seconds = timeout.as_secs_f64();
    let text = format!(
        "counting its kernel entries took longer than {seconds:.0} s: stopped (--timeout allows more)"
    );
    Failure::timeout(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Case, Role};

    #[test]
    fn entries_are_in_the_order_of_their_declaration() {
        let planned = Planned {
            enters: Some("futex x? sched_yield x?".parse().unwrap()),
            ..Planned::new(Case::native("sync.mutex_contended"), Role::Asked)
        };
        let counted = ["read", "sched_yield", "futex"].map(|name| (name.to_string(), 1.0));
        let proof = judge(counted.into_iter().collect(), &planned);
        assert_eq!(
            proof.entries.unwrap().to_string(),
            "futex x1 sched_yield x1 read x1"
        );
    }
}
