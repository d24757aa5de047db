//! Turns the events of `sys::follow` into counts.

use super::blocked::{Stop, has_paused, off_cpu_ns};
use super::open;
use super::tally::{Outcome, Took};
use super::tree::{Inside, Tree};
use crate::open_calls::is_open_of_fifo;
use crate::tracer::RINGS_USED;
use crate::{Root, Tracer, Until};
use anyhow::{Result, anyhow, ensure};
use model::prose::counted;
use model::syscall_names::bare_name;
use model::{DescriptorKind, Ending, Profile, Thread, TracerFacts, WaitCount};
use nix::errno::Errno;
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use stats::Overhead;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use sys::clock::ThreadTime;
use sys::follow::{End, Event, Follower, Notice, Stops};
use sys::proc_stat::{self, ProcStat};
use sys::process::{name_of, threads_of};
use sys::status::Status;
use sys::syscall_stop::Call;
use sys::tree;
use sys::wake::Waker;

/// After its tracing was stopped.
const DRAINING: Duration = Duration::from_millis(500);

/// Worth a look at /proc.
const LEAST_WAIT_NS: u64 = 100_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// A null call waits for nothing but the tracer.
    pub off_cpu_ns: u64,
    pub added: Option<Overhead>,
    pub added_cpu_ns: Option<f64>,
    /// The part of that between the two stops of a call, with the call.
    pub within_cpu_ns: Option<u64>,
}

#[derive(Clone, Copy)]
pub struct NullCall {
    pub at: Instant,
    pub off_cpu_ns: u64,
    /// The thread's CPU time so far, and between the stops of the call.
    pub cpu_ns: Option<[u64; 2]>,
}

pub struct PtraceTracer {
    stops: Stops,
    times: bool,
    pub waits: bool,
    pub follower: Follower,
    pub tree: Tree,
    pub root: i32,
    pub held: bool,
    calibration: Calibration,
    pub raw: Option<Vec<NullCall>>,
    ending: Option<Ending>,
    warnings: Vec<String>,
    open: Vec<WaitCount>,
    threads: Vec<Thread>,
}

impl PtraceTracer {
    /// A tracer that has not attached to anything.
    pub fn new(stops: Stops, times: bool, calibration: Calibration) -> PtraceTracer {
        PtraceTracer {
            stops,
            times,
            waits: false,
            calibration,
            follower: Follower::new(stops, None),
            tree: Tree::default(),
            root: 0,
            held: false,
            raw: None,
            ending: None,
            warnings: Vec::new(),
            open: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// A process and its present descendants. Repeats until there is no new one, as they may start more meanwhile.
    fn attach_tree(&mut self, pid: i32) -> Result<()> {
        self.attach_threads(pid)?;
        let mut refused = BTreeSet::new();
        loop {
            let all = tree::processes(pid.cast_unsigned()).into_iter();
            let mut new: Vec<i32> = all.map(u32::cast_signed).collect();
            new.retain(|child| !self.follower.has(*child) && !refused.contains(child));
            if new.is_empty() {
                return Ok(());
            }
            for child in new {
                if let Err(error) = self.attach_threads(child) {
                    refused.insert(child);
                    self.note_untraced(child, &error);
                }
            }
        }
    }

    /// One that has ended, or is a zombie, makes no more calls.
    fn note_untraced(&mut self, pid: i32, error: &anyhow::Error) {
        let program = std::fs::read_link(format!("/proc/{pid}/exe"));
        if !program.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            self.warnings
                .push(format!("process {pid} is not traced: {error}"));
        }
    }

    /// Repeats until there is no new one, as they may start more meanwhile.
    fn attach_threads(&mut self, pid: i32) -> Result<()> {
        self.tree.started(pid, None);
        loop {
            let mut new = threads_of(pid);
            ensure!(!new.is_empty(), "no process {pid}");
            new.retain(|tid| !self.follower.has(*tid));
            if new.is_empty() {
                return Ok(());
            }
            for tid in new {
                let call = call_number(tid);
                match self.follower.attach(tid) {
                    // It may have ended meanwhile.
                    Err(Errno::ESRCH) if tid != pid => {}
                    Err(errno) => return Err(refused(pid, errno)),
                    Ok(()) if tid != pid => self.tree.started(tid, Some(pid)),
                    Ok(()) => {}
                }
                self.tree.was_there(tid, call);
            }
        }
    }

    fn take(&mut self, notice: &Notice) {
        let tid = notice.tid;
        match &notice.what {
            Event::Entered(call) => {
                self.tree
                    .enter(tid, call, self.times.then_some(notice.stops));
            }
            Event::Filtered(call) => self.filtered(tid, call),
            Event::Left { result, failed } => {
                self.left(
                    notice,
                    if *failed {
                        Outcome::Failed((-result) as i32)
                    } else {
                        Outcome::Returned(*result)
                    },
                );
            }
            Event::Started { tid, by } => self.tree.started(*tid, *by),
            Event::Executed { former } => {
                let stray = self.tree.executed(tid, *former, &mut self.warnings);
                if let Some(inside) = stray {
                    self.unfinished(&inside, None);
                }
            }
            Event::Ended(end) => self.ended(notice, end),
        }
    }

    /// Counts a call at its only stop. Calls that never return are recognised by name.
    fn filtered(&mut self, tid: i32, call: &Call) {
        self.tree.enter(tid, call, None);
        let Some(inside) = self.tree.leave(tid) else {
            return;
        };
        if let Some(raw) = &mut self.raw {
            raw.push(NullCall {
                at: Instant::now(),
                off_cpu_ns: 0,
                cpu_ns: None,
            });
        }
        let outcome = match bare_name(&self.tree.tally.calls[inside.key.call].name) {
            "exit" | "exit_group" => Outcome::Unfinished,
            name => {
                let installs = name == "prctl" && call.arguments[0] == libc::PR_SET_SECCOMP as u64;
                // A filter of the command may answer calls before ours sees them.
                if installs || name == "seccomp" {
                    self.follower.stop_at_entries();
                }
                Outcome::Unseen
            }
        };
        self.tree.add(&inside, outcome, None);
    }

    fn left(&mut self, notice: &Notice, outcome: Outcome) {
        // `None` if the entry was not seen: a child's first return, or a call that attaching interrupted.
        let Some(inside) = self.tree.leave(notice.tid) else {
            return;
        };
        let took = self.took(&inside, notice);
        self.tree.add(&inside, outcome, took);
        let blocked_ns = took.map(|took| took.blocked_ns);
        if let Some(blocked_ns) = blocked_ns.filter(|ns| self.waits && *ns > LEAST_WAIT_NS) {
            let result = match outcome {
                Outcome::Returned(result) => Some(result),
                _ => None,
            };
            self.tree.waited(notice.tid, &inside, result, blocked_ns);
        }
    }

    fn took(&mut self, inside: &Inside, notice: &Notice) -> Option<Took> {
        let ends = inside.entry.and_then(|entry| {
            let time = self.tree.thread_time(notice.tid)?;
            Some((entry, end_stop(notice, time)))
        });
        let off_cpu_ns = ends.map(|(entry, end)| off_cpu_ns(&entry, &end));
        let cpu_ns = ends.map(|(entry, end)| {
            let total_ns = end.time.cpu_ns;
            [total_ns, total_ns.saturating_sub(entry.time.cpu_ns)]
        });
        if let Some(raw) = &mut self.raw {
            raw.push(NullCall {
                at: notice.at,
                off_cpu_ns: off_cpu_ns.unwrap_or(0),
                cpu_ns,
            });
        }
        let (entry, end) = ends?;
        // A call that the thread spent on its CPU was not blocked, however long its stops took.
        let blocked_ns = if has_paused(&entry, &end) {
            off_cpu_ns?.saturating_sub(self.calibration.off_cpu_ns)
        } else {
            0
        };
        Some(Took {
            blocked_ns,
            cpu_ns: cpu_ns.map(|[_, within_ns]| within_ns),
        })
    }

    /// Time blocked in a call that has not returned.
    fn blocked_so_far_ns(&mut self, tid: i32, inside: &Inside) -> Option<u64> {
        let entry = inside.entry?;
        let text = proc_stat::text(tid.cast_unsigned());
        let sleeps = matches!(ProcStat::parse(&text)?.state(), Some("S" | "D"));
        let end = Stop {
            at: Instant::now(),
            time: self.tree.thread_time(tid)?,
            stops: entry.stops + 1,
        };
        let off_cpu_ns = if sleeps || has_paused(&entry, &end) {
            off_cpu_ns(&entry, &end)
        } else {
            0
        };
        Some(off_cpu_ns.saturating_sub(self.calibration.off_cpu_ns))
    }

    fn unfinished(&mut self, inside: &Inside, blocked_ns: Option<u64>) {
        let took = blocked_ns.map(|blocked_ns| Took {
            blocked_ns,
            cpu_ns: None,
        });
        self.tree.add(inside, Outcome::Unfinished, took);
    }

    fn ended(&mut self, notice: &Notice, end: &End) {
        if notice.tid == self.root {
            self.ending = Some(end.ending);
        }
        if let Some(inside) = self.tree.ended(notice.tid, end) {
            self.unfinished(&inside, killed_after_ns(&inside, notice, end));
        }
    }

    /// Takes the notices until the command's end: one whose tracing is stopped has usually just ended.
    fn drain(&mut self) {
        let deadline = Instant::now() + DRAINING;
        while self.held && self.ending.is_none() && Instant::now() < deadline {
            match self.follower.pending_notice() {
                Ok(Some(notice)) => self.take(&notice),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => return,
            }
        }
    }

    fn leave(&mut self) -> usize {
        // Calls in progress are counted as unfinished, since their ends will not be seen.
        let mut open = Vec::new();
        for (tid, mut inside) in self.tree.all_inside() {
            let call = &self.tree.tally.calls[inside.key.call].name;
            if is_open_of_fifo(call, tid.cast_unsigned()) {
                inside.key.descriptor = Some(DescriptorKind::Pipe);
            }
            let blocked_ns = self.blocked_so_far_ns(tid, &inside);
            self.unfinished(&inside, blocked_ns);
            if let Some(blocked_ns) = blocked_ns.filter(|_| self.waits) {
                open.extend(self.tree.open(tid, &inside, blocked_ns));
            }
        }
        let left = self.follower.leave();
        (self.open, self.threads) = open::calls(open, &self.follower.registers);
        if left > 0 && self.ending.is_some() {
            let fate = match self.stops {
                Stops::Calls => "left running; further calls are not counted",
                Stops::Filter => "killed: with the filter, nothing runs without the tracer",
            };
            self.warnings
                .push(format!("{} of the command {fate}", counted(left, "thread")));
        }
        left
    }

    fn final_warnings(&self) -> Vec<String> {
        let entries = (self.stops == Stops::Filter)
            .then_some("errors and byte counts are unknown: calls were seen at their entry only");
        let rings = self.tree.tally.has_seen("io_uring_").then_some(RINGS_USED);
        let more = entries.into_iter().chain(rings).map(str::to_string);
        self.warnings.iter().cloned().chain(more).collect()
    }
}

/// The number of the call in which a thread is blocked.
fn call_number(tid: i32) -> Option<u64> {
    let text = proc_stat::read(format!("/proc/{tid}/syscall")).ok()?;
    text.split(' ').next()?.parse().ok()
}

fn refused(pid: i32, errno: Errno) -> anyhow::Error {
    let tracer = Status::of_task(pid).number("TracerPid").unwrap_or(0u32);
    match errno {
        Errno::ESRCH => anyhow!("no process {pid}"),
        Errno::EPERM if tracer != 0 => {
            let name = name_of(tracer.cast_signed());
            anyhow!(
                "process {pid} is already traced by process {tracer} ({name}): end that one first"
            )
        }
        Errno::EPERM => anyhow!(
            "process {pid} may not be traced (ptrace: EPERM): {}",
            forbidden(pid)
        ),
        _ => anyhow!(
            "ptrace(PTRACE_SEIZE) of process {pid}: {} ({errno:?})",
            errno.desc()
        ),
    }
}

/// Why a process may not be traced. The files in /proc of a protected process belong to root.
fn forbidden(pid: i32) -> &'static str {
    // The kernel says EPERM in all cases: the owner tells the most common one apart.
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|metadata| metadata.uid());
    if owner.is_ok_and(|owner| owner != geteuid().as_raw()) {
        "it belongs to another user or is protected; try as root, or see kernel.yama.ptrace_scope"
    } else {
        "a container, a filter of system calls, a security module or kernel.yama.ptrace_scope forbids it; allow CAP_SYS_PTRACE \
         (docker: --cap-add=SYS_PTRACE), or run outside"
    }
}

/// Time blocked in the call in which a process was killed; `None` if it ended by itself, or had several threads, whose CPU time is
/// known only together.
fn killed_after_ns(inside: &Inside, notice: &Notice, end: &End) -> Option<u64> {
    if !inside.alone || !matches!(end.ending, Ending::Signalled(_)) {
        return None;
    }
    let entry = inside.entry?;
    let time = ThreadTime {
        cpu_ns: end.cpu_ns?,
        ..entry.time
    };
    Some(off_cpu_ns(&entry, &end_stop(notice, time)))
}

fn end_stop(notice: &Notice, time: ThreadTime) -> Stop {
    Stop {
        // Not `at`: a busy tracer would add its own delay to the call.
        at: notice.not_before,
        time,
        stops: notice.stops,
    }
}

impl Tracer for PtraceTracer {
    fn introduction(&self) -> String {
        let (how, fate) = match self.stops {
            Stops::Filter => (
                "ptrace with a seccomp filter, counts only",
                "; the command ends if syscost is killed",
            ),
            Stops::Calls => ("ptrace", ""),
        };
        let known = self.calibration.added.and_then(|added| added.added());
        let cost = known.map_or_else(String::new, |ns| {
            format!(", about {:.1} us a call", ns / 1e3)
        });
        format!("{how}{cost}{fate}")
    }

    fn wants_filter(&self) -> bool {
        self.stops == Stops::Filter
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        self.held = matches!(root, Root::Held(_));
        for pid in root.processes() {
            let pid = i32::try_from(*pid).map_err(|_| anyhow!("no process {pid}"))?;
            if !self.held {
                self.attach_tree(pid)?;
                self.tree.counting = true;
                continue;
            }
            self.root = pid;
            self.follower
                .attach(pid)
                .map_err(|errno| refused(pid, errno))?;
            self.tree.started(pid, None);
        }
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let _waker = Waker::start(until.stop.clone(), until.after)?;
        while let Some(notice) = until.next_notice(&mut self.follower)? {
            self.take(&notice);
            if until.alone && self.ending.is_some() {
                break;
            }
        }
        if !until.alone {
            self.drain();
        }
        if self.leave() == 0 && !until.alone {
            // Everything had ended by then: nothing is missing.
            until.stop.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<Profile> {
        let (kind, detail) = match (self.stops, self.times) {
            (Stops::Filter, _) => (
                "seccomp",
                "one stop per call, by a seccomp filter; no errors, no results",
            ),
            (Stops::Calls, false) => ("ptrace", "two stops per call"),
            (Stops::Calls, true) => (
                "ptrace",
                "two stops per call, whose cost is in its time; blocked time excludes it and waits for a CPU",
            ),
        };
        let tracer = TracerFacts {
            kind: kind.to_string(),
            detail: detail.to_string(),
            added_per_call_ns: self.calibration.added.and_then(|added| added.added()),
            added_range_ns: self.calibration.added.map(|added| added.range()),
            added_cpu_per_call_ns: self.calibration.added_cpu_ns,
            adds_system_time: Some(false),
            lost: self.tree.lost,
            ..TracerFacts::default()
        };
        let mut profile = Profile {
            tracer,
            groups: self.tree.tally.groups(),
            waits: self.open.drain(..).chain(self.tree.tally.waits()).collect(),
            threads: std::mem::take(&mut self.threads),
            usage: self.tree.usage(self.held),
            ending: self.ending,
            warnings: self.final_warnings(),
            ..Profile::default()
        };
        self.tree.fill(&mut profile);
        Ok(profile)
    }
}
