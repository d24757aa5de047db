//! Follows a process tree by ptrace: every fork, thread and exec, signals and group stops, to the end of the last one.
//!
//! It hands over what happens one at a time, while the tracee that it happened to stands still; the next call lets that
//! one go on. What a call means and how it is counted is the caller's: `trace::ptrace`. Tracees are never interrupted
//! without need and get every signal, in order (ptrace(2), PTRACE_SEIZE).

mod leave;

use super::clock::process_cpu_ns;
use super::tracee::{self, Call, Report, Resume, Standing, Whose};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

/// What happened to a tracee.
#[derive(Clone, Debug)]
pub enum Event {
    Entered(Call),
    /// A call is about to be entered, and its end will not be reported.
    Filtered(Call),
    Left {
        result: i64,
        failed: bool,
    },
    /// A new one, `tid`, was seen for the first time; its maker, if that is known already.
    Started {
        tid: i32,
        by: Option<i32>,
    },
    /// It runs another program now. Before, its number was `former`; the process has no other threads any more.
    Executed {
        former: i32,
    },
    Ended(End),
}

/// How a thread ended; of the last one of a process, what the kernel accounted for.
#[derive(Clone, Debug)]
pub struct End {
    pub exited: Option<i32>,
    pub killed_by: Option<i32>,
    /// CPU time of the process without its children; `None` for a thread.
    pub cpu_ns: Option<u64>,
    /// Of the process with the children that it waited for.
    pub usage: libc::rusage,
}

/// A tracee, what happened to it, and when that was noticed.
#[derive(Clone, Debug)]
pub struct Notice {
    pub tid: i32,
    pub at: Instant,
    /// How often it has stood still so far: after each time it takes a turn on a CPU.
    pub stops: u64,
    pub what: Event,
}

/// How calls are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// At entry and end.
    Calls,
    /// By the seccomp filter that the root puts onto itself. Nobody may outlive the tracer then.
    Filter,
}

/// Follows a tree. All its calls must come from the thread that made it.
pub struct Follower {
    stops: Stops,
    /// With the number of stops so far.
    tracees: HashMap<i32, u64>,
    /// Tracees that stopped before their maker reported them, some of which may have ended since.
    unannounced: HashSet<i32>,
    /// Stands still until `next_notice` is called again, with the signal that it is to get.
    standing: Option<(i32, i32)>,
    /// Tracees that are to be asked one by one, so that busy ones do not keep others waiting.
    round: VecDeque<i32>,
    until_round: usize,
    /// WNOHANG while nobody is waited for.
    flags: i32,
}

/// Reports after which every tracee is asked once, or as many as there are tracees. Waiting for any of them gives the
/// first in the kernel's list, which may be the same again and again.
const ROUND: usize = 64;

impl Follower {
    pub fn new(stops: Stops) -> Follower {
        let tracees = HashMap::new();
        Follower {
            stops,
            tracees,
            unannounced: HashSet::new(),
            standing: None,
            round: VecDeque::new(),
            until_round: ROUND,
            flags: 0,
        }
    }

    /// Attaches to one thread and all that it will start. It goes on until it stops by itself.
    ///
    /// # Errors
    /// `EPERM` where it may not be traced or is traced already, `ESRCH` where it is gone.
    pub fn attach(&mut self, tid: i32) -> Result<(), Errno> {
        let more = match self.stops {
            Stops::Calls => Options::empty(),
            Stops::Filter => Options::PTRACE_O_TRACESECCOMP | Options::PTRACE_O_EXITKILL,
        };
        tracee::seize(tid, more)?;
        self.tracees.insert(tid, 0);
        Ok(())
    }

    pub fn has(&self, tid: i32) -> bool {
        self.tracees.contains_key(&tid)
    }

    /// What happens next; `None` when all have ended.
    ///
    /// # Errors
    /// `EINTR` when a signal came; anything else means that the tree was lost.
    pub fn next_notice(&mut self) -> Result<Option<Notice>, Errno> {
        if let Some((tid, signal)) = self.standing.take() {
            self.go_on(tid, signal)?;
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
            if let Some(what) = self.handle(tid, event)? {
                return Ok(Some(Notice { tid, at, stops, what }));
            }
        }
        self.tracees.clear();
        Ok(None)
    }

    /// What has happened already; `None` where nothing has, or when all have ended.
    ///
    /// # Errors
    /// As `next_notice`.
    pub fn pending_notice(&mut self) -> Result<Option<Notice>, Errno> {
        self.flags = libc::WNOHANG;
        let notice = self.next_notice();
        self.flags = 0;
        notice
    }

    /// The next report, which stays with the kernel until its tracee is resumed or reaped: so the CPU clock of a process
    /// that has ended can still be read.
    fn report(&mut self) -> Result<(i32, Report), Errno> {
        while let Some(tid) = self.round.pop_front() {
            match tracee::wait(Whose::One(tid), libc::WNOHANG | libc::WNOWAIT) {
                Ok(Some(report)) => return Ok(report),
                Ok(None) | Err(Errno::ECHILD) => {}
                Err(errno) => return Err(errno),
            }
        }
        if self.until_round == 0 && self.tracees.len() > 1 {
            self.round.extend(self.tracees.keys());
            self.until_round = ROUND.max(self.tracees.len());
            return self.report();
        }
        self.until_round = self.until_round.saturating_sub(1);
        tracee::wait(Whose::Any, libc::WNOWAIT | self.flags)?.ok_or(Errno::EAGAIN)
    }

    fn handle(&mut self, tid: i32, event: Report) -> Result<Option<Event>, Errno> {
        let done = match event {
            Report::Call => self.at_call(tid),
            Report::Ptrace { event: libc::PTRACE_EVENT_STOP, signal } => self.at_stop(tid, signal),
            Report::Ptrace { event, .. } => self.at_event(tid, event),
            Report::Signal(signal) => self.go_on(tid, signal).map(|()| None),
            Report::Exited(_) | Report::Killed(_) => return self.at_end(tid, event).map(Some),
        };
        match done {
            // Killed while it stood: the next report is its end.
            Err(Errno::ESRCH) => Ok(None),
            other => other,
        }
    }

    fn at_call(&mut self, tid: i32) -> Result<Option<Event>, Errno> {
        match tracee::standing(tid)? {
            Standing::Entry(call) => Ok(self.stands(tid, Event::Entered(call))),
            Standing::Exit { result, failed } => Ok(self.stands(tid, Event::Left { result, failed })),
            Standing::Filter(_) | Standing::Elsewhere => self.go_on(tid, 0).map(|()| None),
        }
    }

    fn stands(&mut self, tid: i32, what: Event) -> Option<Event> {
        self.standing = Some((tid, 0));
        Some(what)
    }

    /// The first stop of a new tracee, a group stop, or the end of one.
    fn at_stop(&mut self, tid: i32, signal: i32) -> Result<Option<Event>, Errno> {
        if let Entry::Vacant(new) = self.tracees.entry(tid) {
            new.insert(1);
            self.unannounced.insert(tid);
            return Ok(self.stands(tid, Event::Started { tid, by: None }));
        }
        if tracee::stops_group(signal) {
            // Taken from the kernel, or it would be reported again at once: the tracee stays where it is.
            tracee::wait(Whose::One(tid), libc::WNOHANG)?;
            return tracee::listen(tid).map(|()| None);
        }
        self.go_on(tid, 0).map(|()| None)
    }

    fn at_event(&mut self, tid: i32, event: i32) -> Result<Option<Event>, Errno> {
        let number = || ptrace::getevent(Pid::from_raw(tid)).map(|number| number as i32);
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let child = number()?;
                self.go_on(tid, 0)?;
                Ok(self.announced(child).then_some(Event::Started { tid: child, by: Some(tid) }))
            }
            libc::PTRACE_EVENT_EXEC => {
                // Until it is taken, the kernel refuses requests to a tracee that changed its number by this.
                tracee::wait(Whose::One(tid), libc::WNOHANG)?;
                let former = number()?;
                if let Some(stops) = self.tracees.remove(&former) {
                    self.tracees.insert(tid, stops + u64::from(former != tid));
                }
                Ok(self.stands(tid, Event::Executed { former }))
            }
            libc::PTRACE_EVENT_SECCOMP => match tracee::standing(tid)? {
                Standing::Filter(call) => Ok(self.stands(tid, Event::Filtered(call))),
                _ => self.go_on(tid, 0).map(|()| None),
            },
            _ => self.go_on(tid, 0).map(|()| None),
        }
    }

    /// Notes what the maker of `child` says; false where the child has been seen already, and may even be gone.
    fn announced(&mut self, child: i32) -> bool {
        !self.unannounced.remove(&child) && self.tracees.insert(child, 0).is_none()
    }

    fn at_end(&mut self, tid: i32, event: Report) -> Result<Event, Errno> {
        // Of a process that has ended only the last thread is reported, under the process's number.
        let cpu_ns = process_cpu_ns(tid).ok();
        let usage = tracee::reap(tid)?;
        self.tracees.remove(&tid);
        let (exited, killed_by) = match event {
            Report::Exited(code) => (Some(code), None),
            Report::Killed(signal) => (None, Some(signal)),
            _ => (None, None),
        };
        Ok(Event::Ended(End { exited, killed_by, cpu_ns, usage }))
    }

    fn go_on(&self, tid: i32, signal: i32) -> Result<(), Errno> {
        let how = if self.stops == Stops::Calls { Resume::ToCall } else { Resume::ToEvent };
        match tracee::resume(tid, how, signal) {
            // Killed while it stood: its end is reported next.
            Err(Errno::ESRCH) => Ok(()),
            other => other,
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.leave();
    }
}
