//! The default tracer: eBPF programs count in the kernel, and nothing is sent to user space while the tree runs.
//!
//! Not here: the programs (`kernel::bpf`). Called through `choose`.

mod decode;
mod names;
mod scope;
mod totals;

use super::{Collected, Detail, Root, Running, TraceOptions, Tracer, TracerKind, Until};
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
/// How often to look for processes that entered a control group.
const ENTRY_PERIOD: Duration = Duration::from_millis(100);

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

/// What is traced.
struct Followed {
    root: Root,
    /// Of the processes that were named.
    pidfds: Vec<OwnedFd>,
    /// The kernel's accounting of tasks that ran before.
    before: TaskAccounts,
}

impl Tracer for Bpf {
    fn introduction(&self) -> String {
        let counts = if self.detail == Detail::Counts { ", counts only" } else { "" };
        format!("eBPF{counts}, about {:.2} us a call", self.calibration.added_ns / 1e3)
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        let open = |pid: &u32| pidfd::open(pid.cast_signed()).with_context(|| format!("trace: no process {pid}"));
        let pidfds: Vec<OwnedFd> = root.processes().iter().map(open).collect::<Result<_>>()?;
        let before = match &root {
            Root::Held(_) => {
                pidfds.iter().try_for_each(|pidfd| self.programs.mark(pidfd.as_fd(), state::HELD).map(drop))?;
                TaskAccounts::default()
            }
            Root::Running(what) => {
                let before = tree::accounts(&scope::members(what)?);
                scope::adopt_all(&self.programs, what)?;
                before
            }
        };
        self.followed = Some(Followed { root, pidfds, before });
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let followed = self.followed.as_ref().context(UNATTACHED)?;
        let deadline = until.after.map(|after| Instant::now() + after);
        let over = || until.stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if let Root::Running(what @ (Running::Cgroup(_) | Running::System)) = &followed.root {
            while !over() {
                let left = deadline.map_or(ENTRY_PERIOD, |deadline| deadline.saturating_duration_since(Instant::now()));
                std::thread::sleep(left.min(ENTRY_PERIOD));
                if matches!(what, Running::Cgroup(_)) {
                    scope::adopt_all(&self.programs, what)?;
                }
            }
            return Ok(());
        }
        for pidfd in &followed.pidfds {
            while !has_ended(pidfd, UNTIL_PERIOD)? {
                if over() {
                    return Ok(());
                }
            }
        }
        if let (Root::Held(pid), None) = (&followed.root, self.ending) {
            let ending = tracee::wait_for_end(pid.cast_signed(), 0).context("cannot wait for the traced process")?;
            self.ending = Some(ending);
        }
        while self.live()? > 0 && !over() {
            std::thread::sleep(TREE_PERIOD);
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Collected> {
        let raw = self.programs.read()?;
        let mut collected = Collected { facts: self.facts(raw.globals.lost), ..Collected::default() };
        decode::decode(&raw, self.detail, &mut collected);
        decode::subtract(self.calibration.offset_ns.unwrap_or(0.0), &mut collected);
        Ok(collected)
    }

    fn collect(&mut self) -> Result<Collected> {
        let followed = self.followed.take().context(UNATTACHED)?;
        let alive = match followed.root {
            Root::Held(_) if self.live()? <= 0 => TaskAccounts::default(),
            Root::Held(pid) => tree::accounts(&tree::processes(pid)),
            Root::Running(ref what) => tree::accounts(&scope::members(what).unwrap_or_default()),
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

/// Waits up to `timeout` for a process to end.
fn has_ended(pidfd: &OwnedFd, timeout: Duration) -> Result<bool> {
    let mut fds = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
    match poll(&mut fds, timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error).context("poll of the traced process"),
    }
}
