//! Follows a process tree by ptrace: every fork, thread and exec, signals and group stops, until the last task ends.
//!
//! It reports one event at a time while the tracee concerned is stopped; the next call resumes it. Its callers decide what a call
//! means. Tracees get every signal, in order (ptrace(2), PTRACE_SEIZE).

mod leave;

use super::clock::process_cpu_ns;
use super::proc_stat::{self, ProcStat};
use super::syscall_stop::{Call, SyscallStop, syscall_stop};
use super::tracee::{self, Report, Resume, Whose};
use model::Ending;
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

pub enum Event {
    Entered(Call),
    /// A call is about to be entered, and its end will not be reported.
    Filtered(Call),
    Left {
        result: i64,
        failed: bool,
    },
    /// Before it executes anything. `by` is unknown only if the starter was killed just then.
    Started {
        tid: i32,
        by: Option<i32>,
    },
    /// Its ID was `former` until now; the process has no other threads any more.
    Executed {
        former: i32,
    },
    Ended(End),
}

pub struct End {
    pub ending: Ending,
    /// The CPU time in nanoseconds, without children; `None` for a thread.
    pub cpu_ns: Option<u64>,
    /// The kernel's accounting, with the children that it waited for.
    pub usage: libc::rusage,
    /// Minor and major, of the task alone.
    pub faults: [u64; 2],
}

/// Minor and major, of the task alone so far.
pub fn faults(tid: i32) -> [u64; 2] {
    let text = proc_stat::read(format!("/proc/{tid}/task/{tid}/stat")).unwrap_or_default();
    let stat = ProcStat::parse(&text);
    // As numbered in proc_pid_stat(5).
    [10, 12].map(|field| {
        stat.as_ref()
            .and_then(|stat| stat.number(field))
            .unwrap_or(0)
    })
}

pub struct Notice {
    pub tid: i32,
    pub at: Instant,
    /// Earlier than `at` if the tracer was busy with others.
    pub not_before: Instant,
    /// How often it has stopped so far. After each stop it is put on a CPU again.
    pub stops: u64,
    pub what: Event,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Stops {
    Calls,
    /// Stops only at calls that the root's seccomp filter selects. Tracees must not outlive the tracer then: without it, those calls
    /// fail (ENOSYS).
    Filter,
}

/// All calls must come from the thread that created it.
pub struct Follower {
    stops: Stops,
    tracees: HashMap<i32, u64>,
    /// When there was last nothing to report: for all tracees, and for those that were polled one by one.
    quiet: Instant,
    quiet_each: HashMap<i32, Instant>,
    /// Tracees that stopped before their parent's stop reported them; some may have ended since.
    unannounced: HashSet<i32>,
    /// Whether tracees stop at entries too: see [`Follower::stop_at_entries`]; and the tracees that do already.
    at_entries: bool,
    by_entry: HashSet<i32>,
    /// Unannounced tracees that wait for their parent's stop, and since when at least one does.
    held: HashSet<i32>,
    held_since: Instant,
    /// Stopped until `next_notice` is called again.
    stopped: Option<i32>,
    /// When this one ends, following ends, and it is left for its parent to reap.
    leader: Option<i32>,
    bound: bool,
    /// Tracees to poll one by one, so that busy ones do not starve the others.
    round: VecDeque<i32>,
    until_round: usize,
    flags: i32,
    /// Those of tracees that were left running, by `tracee::registers`.
    pub registers: HashMap<i32, [u64; 4]>,
}

/// The number of reports after which every tracee is polled once; as many as there are tracees, if that is more. Waiting for any of
/// them returns the first in the kernel's list, which may be the same one again and again.
const ROUND: usize = 64;

/// How long a task waits for its parent's stop.
const LONGEST_HELD: Duration = Duration::from_millis(100);

impl Follower {
    /// It stops when `leader` ends, which is left for its parent to reap: its process group may still have to be killed by that
    /// number. Tracees of a leader are killed if this thread ends.
    pub fn new(stops: Stops, leader: Option<i32>) -> Follower {
        Follower {
            stops,
            tracees: HashMap::new(),
            quiet: Instant::now(),
            quiet_each: HashMap::new(),
            unannounced: HashSet::new(),
            at_entries: false,
            by_entry: HashSet::new(),
            held: HashSet::new(),
            held_since: Instant::now(),
            stopped: None,
            leader,
            bound: leader.is_some(),
            round: VecDeque::new(),
            until_round: ROUND,
            flags: 0,
            registers: HashMap::new(),
        }
    }

    /// Has tracees killed if this thread ends, also without a leader.
    pub fn bound(mut self) -> Follower {
        self.bound = true;
        self
    }

    /// Attaches to a task and everything that it starts. `EPERM` if it may not be traced or already is, `ESRCH` if it has ended.
    pub fn attach(&mut self, tid: i32) -> Result<(), Errno> {
        let more = match self.stops {
            Stops::Calls if !self.bound => Options::empty(),
            Stops::Calls => Options::PTRACE_O_EXITKILL,
            Stops::Filter => Options::PTRACE_O_TRACESECCOMP | Options::PTRACE_O_EXITKILL,
        };
        tracee::seize(tid, more)?;
        self.tracees.insert(tid, 0);
        Ok(())
    }

    /// With `Stops::Filter`: the tree has installed a filter of its own. A call that this one answers never gets to ours, but stops
    /// at its entry before.
    pub fn stop_at_entries(&mut self) {
        self.at_entries = true;
    }

    /// Whether the task is traced, as far as reports have come.
    pub fn has(&self, tid: i32) -> bool {
        self.tracees.contains_key(&tid)
    }

    /// Resumes the stopped tracee; `None` when all have ended. After an error other than `EINTR` the tree is lost.
    pub fn next_notice(&mut self) -> Result<Option<Notice>, Errno> {
        if let Some(tid) = self.stopped.take() {
            self.go_on(tid, 0)?;
        }
        while !self.tracees.is_empty() {
            let (tid, event) = match self.report() {
                Err(Errno::ECHILD) => break,
                Err(Errno::EAGAIN) => return Ok(None),
                other => other?,
            };
            let at = Instant::now();
            let stops = self.tracees.get_mut(&tid).map_or(0, |stops| {
                *stops += 1;
                *stops
            });
            let not_before = self
                .quiet_each
                .remove(&tid)
                .map_or(self.quiet, |quiet| quiet.max(self.quiet));
            if let Some(what) = self.handle(tid, event)? {
                return Ok(Some(Notice {
                    tid,
                    at,
                    not_before,
                    stops,
                    what,
                }));
            }
        }
        self.tracees.clear();
        Ok(None)
    }

    /// `None` at once if nothing has happened.
    pub fn pending_notice(&mut self) -> Result<Option<Notice>, Errno> {
        self.flags = libc::WNOHANG;
        let notice = self.next_notice();
        self.flags = 0;
        notice
    }

    /// The notices of the other tracees until all of them have been quiet for a millisecond, while the tracee of the last notice
    /// stays stopped.
    pub fn settle(&mut self) -> Result<Vec<Notice>, Errno> {
        let mut notices = Vec::new();
        let stopped = self.stopped.take();
        // Taken from the kernel, or it would be reported again.
        stopped.map_or(Ok(None), tracee::take_stop)?;
        let mut seen = None;
        while self.tracees.len() > 1 && seen != Some(self.all_stops()) {
            seen = Some(self.all_stops());
            std::thread::sleep(Duration::from_millis(1));
            while let Some(notice) = self.pending_notice()? {
                notices.push(notice);
            }
        }
        self.stopped = stopped;
        Ok(notices)
    }

    fn all_stops(&self) -> u64 {
        self.tracees.values().sum()
    }

    /// The next report. It stays with the kernel until its tracee is resumed or reaped, so that the CPU clock of a
    /// process that has ended can still be read.
    fn report(&mut self) -> Result<(i32, Report), Errno> {
        while let Some(tid) = self.round.pop_front() {
            match tracee::wait(Whose::One(tid), libc::WNOHANG | libc::WNOWAIT) {
                Ok(Some(report)) => return Ok(report),
                Ok(None) => drop(self.quiet_each.insert(tid, Instant::now())),
                Err(Errno::ECHILD) => {}
                Err(errno) => return Err(errno),
            }
        }
        if self.until_round == 0 && self.tracees.len() > 1 {
            self.round.extend(self.tracees.keys());
            self.until_round = ROUND.max(self.tracees.len());
            return self.report();
        }
        self.until_round = self.until_round.saturating_sub(1);
        if let Some(report) = tracee::wait(Whose::Any, libc::WNOWAIT | libc::WNOHANG)? {
            return Ok(report);
        }
        if self.flags == 0
            && let Some(tid) = self.held.iter().next().copied()
        {
            return self.report_while_held(tid);
        }
        let report = tracee::wait(Whose::Any, libc::WNOWAIT | self.flags)?;
        self.quiet = Instant::now();
        report.ok_or(Errno::EAGAIN)
    }

    /// The stop of the parent of `held` follows, unless the parent was killed on its way there.
    fn report_while_held(&mut self, held: i32) -> Result<(i32, Report), Errno> {
        while self.held_since.elapsed() < LONGEST_HELD {
            std::thread::sleep(Duration::from_micros(200));
            if let Some(report) = tracee::wait(Whose::Any, libc::WNOWAIT | libc::WNOHANG)? {
                return Ok(report);
            }
        }
        let stop = Report::Ptrace {
            event: libc::PTRACE_EVENT_STOP,
            signal: libc::SIGTRAP,
        };
        Ok((held, stop))
    }

    fn handle(&mut self, tid: i32, event: Report) -> Result<Option<Event>, Errno> {
        let done = match event {
            Report::Call => self.at_call(tid),
            Report::Ptrace {
                event: libc::PTRACE_EVENT_STOP,
                signal,
            } => self.at_stop(tid, signal),
            Report::Ptrace { event, .. } => self.at_event(tid, event),
            Report::Signal(signal) => self.go_on(tid, signal).map(|()| None),
            Report::Ended(_) if self.leader == Some(tid) => {
                self.tracees.clear();
                return Ok(None);
            }
            Report::Ended(ending) => return self.at_end(tid, ending).map(Some),
        };
        match done {
            // Killed while it was stopped: the next report is its end.
            Err(Errno::ESRCH) => Ok(None),
            other => other,
        }
    }

    fn at_call(&mut self, tid: i32) -> Result<Option<Event>, Errno> {
        match syscall_stop(tid)? {
            SyscallStop::Entry(call) if self.at_entries => self.stop_at(tid, Event::Filtered(call)),
            SyscallStop::Entry(call) => self.stop_at(tid, Event::Entered(call)),
            SyscallStop::Exit { .. } if self.at_entries => self.pass(tid),
            SyscallStop::Exit { result, failed } => {
                self.stop_at(tid, Event::Left { result, failed })
            }
            SyscallStop::Filter(_) | SyscallStop::None => self.pass(tid),
        }
    }

    fn stop_at(&mut self, tid: i32, what: Event) -> Result<Option<Event>, Errno> {
        self.stopped = Some(tid);
        Ok(Some(what))
    }

    fn pass(&mut self, tid: i32) -> Result<Option<Event>, Errno> {
        self.go_on(tid, 0).map(|()| None)
    }

    fn at_stop(&mut self, tid: i32, signal: i32) -> Result<Option<Event>, Errno> {
        // A new task may stop before the kernel reports its parent's fork: held, so that it makes no call without a known parent.
        if let Entry::Vacant(new) = self.tracees.entry(tid) {
            new.insert(1);
            self.unannounced.insert(tid);
            self.held.insert(tid);
            self.held_since = Instant::now();
            return tracee::take_stop(tid).map(|_| None);
        }
        if self.held.remove(&tid) {
            return self.stop_at(tid, Event::Started { tid, by: None });
        }
        if matches!(
            signal,
            libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU
        ) {
            // A group stop. Taken from the kernel, or it would be reported again at once: the tracee stays stopped.
            tracee::wait(Whose::One(tid), libc::WNOHANG)?;
            return tracee::listen(tid).map(|()| None);
        }
        self.pass(tid)
    }

    fn at_event(&mut self, tid: i32, event: i32) -> Result<Option<Event>, Errno> {
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let child = event_message(tid)?;
                self.go_on(tid, 0)?;
                let started = Event::Started {
                    tid: child,
                    by: Some(tid),
                };
                if self.held.remove(&child) {
                    self.unannounced.remove(&child);
                    return self.stop_at(child, started);
                }
                // It may have been seen before, and may even have ended.
                let seen =
                    self.unannounced.remove(&child) || self.tracees.insert(child, 0).is_some();
                Ok((!seen).then_some(started))
            }
            libc::PTRACE_EVENT_EXEC => {
                // Until it is taken, the kernel refuses requests to a tracee whose ID changed by this.
                tracee::wait(Whose::One(tid), libc::WNOHANG)?;
                let former = event_message(tid)?;
                if let Some(stops) = self.tracees.remove(&former) {
                    self.tracees.insert(tid, stops + u64::from(former != tid));
                }
                self.stop_at(tid, Event::Executed { former })
            }
            // It stopped at the entry already.
            libc::PTRACE_EVENT_SECCOMP if self.by_entry.contains(&tid) => self.pass(tid),
            libc::PTRACE_EVENT_SECCOMP => match syscall_stop(tid)? {
                SyscallStop::Filter(call) => self.stop_at(tid, Event::Filtered(call)),
                _ => self.pass(tid),
            },
            _ => self.pass(tid),
        }
    }

    fn at_end(&mut self, tid: i32, ending: Ending) -> Result<Event, Errno> {
        if self.held.remove(&tid) {
            // Killed before it was announced: its end is reported again.
            return Ok(Event::Started { tid, by: None });
        }
        // When a process ends, only its last thread is reported, under the process's ID.
        let cpu_ns = process_cpu_ns(tid).ok();
        let faults = faults(tid);
        let usage = tracee::reap(tid)?;
        self.tracees.remove(&tid);
        Ok(Event::Ended(End {
            ending,
            cpu_ns,
            usage,
            faults,
        }))
    }

    fn go_on(&mut self, tid: i32, signal: i32) -> Result<(), Errno> {
        if self.at_entries {
            self.by_entry.insert(tid);
        }
        let how = if self.stops == Stops::Calls || self.at_entries {
            Resume::ToCall
        } else {
            Resume::ToEvent
        };
        match tracee::resume(tid, how, signal) {
            // Killed while it was stopped: its end is reported next.
            Err(Errno::ESRCH) => Ok(()),
            other => other,
        }
    }
}

/// The new task of a fork event, or the former ID of an exec event.
fn event_message(tid: i32) -> Result<i32, Errno> {
    ptrace::getevent(Pid::from_raw(tid)).map(|id| id as i32)
}

impl Drop for Follower {
    /// Tracees of a leader are killed with it, by whoever started it.
    fn drop(&mut self) {
        if self.leader.is_none() {
            self.leave();
        }
    }
}
