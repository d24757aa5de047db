//! The engine's view of worker processes: the only place where engine and runner meet.

use crate::engine::{Launcher, Worker};
use crate::runner::{Child, Cpus, Workers};
use model::{Case, Facts, Failure, Reply};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use sys::affinity;
use sys::clock::{ThreadClock, ThreadTime, process_cpu_ns};

impl Launcher for Workers {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let (child, facts) = self.start_ready(case, padding)?;
        let on_measuring = self.environment(&case.environment)?.cpus == Cpus::Measuring;
        // Only the probe itself knows its CPU if a user's command started it.
        let is_on_one = facts.get("cpus") != Some("several");
        let watch = if child.hello().is_none() && on_measuring && is_on_one {
            self.placement
                .measuring
                .map(|cpu| (cpu, Rc::clone(&self.strayed)))
        } else {
            None
        };
        let is_pinned = |hello: &Facts| is_on_one && hello.number("cpu").is_some();
        let pinned = child.hello().map_or(watch.is_some(), is_pinned);
        let waits = Waits::new(&facts);
        Ok(Box::new(Ready {
            child,
            facts,
            watch,
            pinned,
            waits,
        }))
    }
}

struct Ready {
    child: Child,
    facts: Facts,
    /// The worker's, and the flag that says that it left it.
    watch: Option<(u32, Rc<Cell<bool>>)>,
    pinned: bool,
    waits: Option<Waits>,
}

impl Drop for Ready {
    fn drop(&mut self) {
        if let Some((cpu, strayed)) = &self.watch
            && affinity::is_pinned(self.child.pid(), *cpu) == Some(false)
        {
            strayed.set(true);
        }
    }
}

impl Worker for Ready {
    fn request(&mut self, n: u64, k: u32) -> Result<Reply, Failure> {
        let before = self.waits.as_ref().and_then(Waits::read);
        let mut reply = self.child.request(n, k)?;
        if let (Some(waits), Some(before)) = (&self.waits, before)
            && waits.were_in(&reply, before)
        {
            reply
                .batches
                .iter_mut()
                // Which batch it was is unknown, so all of the reply are set aside.
                .for_each(|batch| batch.switches = 1);
        }
        Ok(reply)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn is_pinned(&self) -> bool {
        self.pinned
    }
}

struct Waits {
    pid: i32,
    thread: ThreadClock,
}

/// A worker that has answered goes to sleep meanwhile: the CPU time of a thread that still runs is that
/// of the last tick.
const SETTLE: Duration = Duration::from_micros(500);

/// The share of its time that a worker may wait without being disturbed.
const LEAST_WAIT: f64 = 0.01;

/// The share of its time beyond which a sleeping worker waits for a process that it has started.
const LEAST_SLEEP: f64 = 0.1;

impl Waits {
    /// None if the worker reports its switches by itself, or the system does not tell.
    pub fn new(facts: &Facts) -> Option<Waits> {
        if facts.get("switches") != Some("unknown") {
            return None;
        }
        let pid = facts.number("pid")? as i32;
        let tid = facts.number("tid").map_or(pid, |tid| tid as i32);
        let thread = ThreadClock::open(tid)?;
        Some(Waits { pid, thread })
    }

    /// The CPU time of all threads, because compilers and collectors of a runtime take turns with the one that
    /// runs the batches; and the waits of this one.
    pub fn read(&self) -> Option<ThreadTime> {
        Some(ThreadTime {
            cpu_ns: process_cpu_ns(self.pid).ok()?,
            ..self.thread.read()?
        })
    }

    /// Whether the worker waited for a CPU during a reply. It is asked twice, because the first answer may be old.
    pub fn were_in(&self, reply: &Reply, before: ThreadTime) -> bool {
        let ns = reply.batches.iter().map(|batch| batch.ns).sum();
        self.waited_since(before, ns) && {
            std::thread::sleep(SETTLE);
            self.waited_since(before, ns)
        }
    }

    fn waited_since(&self, before: ThreadTime, ns: u64) -> bool {
        self.read().is_some_and(|now| waited(before, now, ns))
    }
}

/// Whether the worker was put on a CPU more than once, and was neither on it nor asleep all the time. The wait before the
/// first batch is not in `ns`, so time that a CPU was used bounds the wait.
fn waited(before: ThreadTime, now: ThreadTime, ns: u64) -> bool {
    let off_cpu = ns.saturating_sub(now.cpu_ns.saturating_sub(before.cpu_ns));
    let lost = off_cpu.min(now.waiting_ns.saturating_sub(before.waiting_ns));
    let slept = off_cpu - lost;
    now.turns > before.turns + 1
        && lost as f64 > LEAST_WAIT * ns as f64
        && (slept as f64) < LEAST_SLEEP * ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_disturbed(cpu_ns: u64, waiting_ns: u64, turns: u64) -> bool {
        let before = ThreadTime {
            cpu_ns: 70,
            waiting_ns: 30,
            turns: 5,
        };
        let now = ThreadTime {
            cpu_ns: 70 + cpu_ns,
            waiting_ns: 30 + waiting_ns,
            turns: 5 + turns,
        };
        waited(before, now, 1000)
    }

    #[test]
    fn a_worker_that_waited_in_its_batches_was_disturbed() {
        for (cpu_ns, waiting_ns, turns, expected, what) in [
            (1050, 0, 1, false, "on a CPU all the time"),
            (1050, 900, 1, false, "woken late, before the first batch"),
            (530, 480, 2, true, "as long off the CPU as on it"),
            (1040, 700, 3, false, "preempted after the last batch"),
            (995, 5, 2, false, "less than a hundredth"),
            (100, 60, 9, false, "asleep while a child ran"),
            (1900, 300, 7, false, "other threads of its own had the CPU"),
            (530, 480, 1, false, "the CPU time is that of the last tick"),
        ] {
            assert_eq!(is_disturbed(cpu_ns, waiting_ns, turns), expected, "{what}");
        }
    }
}
