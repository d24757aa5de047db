//! The default tracer: eBPF programs count in the kernel, and nothing is sent to user space while the tree runs.
//!
//! Not here: the programs (`kernel::bpf`). Called through `choose`.

mod decode;
mod names;
mod totals;

use super::{Collected, Detail, Root, TraceOptions, Tracer, TracerKind, Until};
use crate::kernel::bpf::layout::state;
use crate::kernel::bpf::{self, Calibration, Config, Programs};
use crate::kernel::pidfd;
use crate::kernel::tracee;
use crate::kernel::tree::{self, TaskAccounts};
use crate::model::{Ending, TracerFacts};
use anyhow::{Context, Result, anyhow};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How the list of tracers describes this one.
pub const KIND: TracerKind = TracerKind {
    name: "bpf",
    what: "The kernel counts: exact, least overhead. Root or CAP_BPF and CAP_PERFMON",
    automatic: true,
    named_calls: false,
    open,
};

const UNATTACHED: &str = "the tracer is not attached";
/// How often to check for the end of a tree whose first process has ended: nothing signals the end of the rest.
const TREE_PERIOD: Duration = Duration::from_millis(2);
/// How often to check `until`.
const UNTIL_PERIOD: Duration = Duration::from_millis(20);

/// Loads and attaches the programs, and measures their overhead per call. Nothing is traced yet.
///
/// # Errors
/// Why eBPF is not available here and what to do, in one line.
pub fn open(options: &TraceOptions) -> Result<Box<dyn Tracer>> {
    bpf::available().map_err(|why| anyhow!("{why}"))?;
    let detail = options.detail;
    let config = Config {
        times: detail == Detail::Times,
        adopts: !options.held(),
        calls: names::rows(),
        numbers: names::numbers(),
    };
    let mut programs = Programs::load(&config)?;
    let calibration = bpf::calibrate(&mut programs)?;
    Ok(Box::new(Bpf { detail, programs, calibration, followed: None, ending: None }))
}

struct Bpf {
    detail: Detail,
    programs: Programs,
    calibration: Calibration,
    followed: Option<Followed>,
    ending: Option<Ending>,
}

/// The traced process.
struct Followed {
    root: Root,
    pidfd: OwnedFd,
    /// The kernel's accounting of tasks that ran before.
    before: TaskAccounts,
}

impl Tracer for Bpf {
    fn introduction(&self) -> String {
        let counts = if self.detail == Detail::Counts { ", counts only" } else { "" };
        format!("eBPF{counts}, about {:.2} us a call", self.calibration.added_ns / 1e3)
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        let pid = root.one_process()?;
        let pidfd = pidfd::open(pid.cast_signed()).with_context(|| format!("trace: no process {pid}"))?;
        let before = match root {
            Root::Held(_) => {
                self.programs.mark(pidfd.as_fd(), state::HELD)?;
                TaskAccounts::default()
            }
            Root::Running(_) => adopt_tree(&self.programs, pid)?,
        };
        self.followed = Some(Followed { root, pidfd, before });
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let followed = self.followed.as_ref().context(UNATTACHED)?;
        let deadline = until.after.map(|after| Instant::now() + after);
        let over = || until.stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        while !followed.root_has_ended(UNTIL_PERIOD)? {
            if over() {
                return Ok(());
            }
        }
        if let Root::Held(pid) = followed.root {
            let ending = tracee::wait_for_end(pid.cast_signed(), 0).context("cannot wait for the traced process")?;
            self.ending = Some(ending);
        }
        while self.live()? > 0 && !over() {
            std::thread::sleep(TREE_PERIOD);
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<Collected> {
        let followed = self.followed.take().context(UNATTACHED)?;
        let alive = match followed.root {
            Root::Held(_) if self.live()? <= 0 => TaskAccounts::default(),
            ref root => tree::accounts(root.one_process()?),
        };
        self.programs.detach();
        let raw = self.programs.read()?;
        let facts = self.facts(raw.globals.lost);
        let mut collected = Collected { facts, ending: self.ending, ..Collected::default() };
        decode::decode(&raw, self.detail, &mut collected);
        decode::subtract(self.calibration.offset_ns.unwrap_or(0.0), &mut collected);
        totals::fill(&raw, &alive, &followed.before, &mut collected);
        Ok(collected)
    }
}

impl Bpf {
    fn facts(&self, lost: u64) -> TracerFacts {
        let how = match self.detail {
            Detail::Times => "calls counted and timed by programs at the kernel's tracepoints",
            Detail::Counts => "calls counted by programs at the kernel's tracepoints",
        };
        TracerFacts {
            kind: "bpf".to_string(),
            detail: how.to_string(),
            added_per_call_ns: Some(self.calibration.added_ns),
            added_total_ns: None,
            adds_system_time: true,
            offset_per_call_ns: self.calibration.offset_ns,
            lost,
        }
    }

    /// Tasks of the tree that have not ended.
    fn live(&self) -> Result<i64> {
        Ok(self.programs.globals()?.live)
    }
}

impl Followed {
    /// Waits up to `timeout` for the first process to end.
    fn root_has_ended(&self, timeout: Duration) -> Result<bool> {
        let mut fds = [PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        match poll(&mut fds, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error).context("poll of the traced process"),
        }
    }
}

/// Traces a running process and its present descendants. Repeats until there is no new one: a process that was not
/// traced yet may just have forked.
fn adopt_tree(programs: &Programs, root: u32) -> Result<TaskAccounts> {
    let before = tree::accounts(root);
    loop {
        let mut new = false;
        for pid in tree::processes(root) {
            new |= adopt(programs, pid)?;
        }
        if !new {
            return Ok(before);
        }
    }
}

/// Traces a running process; false if it is already traced, or has ended since it was listed.
fn adopt(programs: &Programs, pid: u32) -> Result<bool> {
    match pidfd::open(pid.cast_signed()) {
        Ok(pidfd) => programs.mark(pidfd.as_fd(), state::LIVE),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("pidfd_open of process {pid}")),
    }
}
