//! The default tracer: eBPF programs count in the kernel, and nothing is sent while the tree runs.
//!
//! Not here: the programs (`kernel::bpf`). Called by way of `choose`.

mod decode;
mod names;
mod usage;

use super::{Collected, Detail, Kind, Options, Root, Tracer, Until};
use crate::kernel::bpf::layout::state;
use crate::kernel::bpf::{self, Calibration, Config, Session};
use crate::kernel::pidfd;
use crate::kernel::tree::{self, Accounts};
use crate::model::{Ending, TracerFacts};
use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

pub const KIND: Kind = Kind {
    name: "bpf",
    what: "The kernel counts: exact, least overhead. Root or CAP_BPF and CAP_PERFMON",
    automatic: true,
    named_calls: false,
    open,
};

const UNATTACHED: &str = "the tracer is not attached";
/// How often a tree whose first process has ended is looked at: the rest of it sends no signal.
const GLANCE: Duration = Duration::from_millis(2);
/// How often `until` is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Loads and attaches the programs, and measures what they add to a call: nothing is traced yet.
///
/// # Errors
/// Why eBPF cannot be had here, in one line with what to do.
pub fn open(options: &Options) -> Result<Box<dyn Tracer>> {
    bpf::available().map_err(|why| anyhow!("{why}"))?;
    let detail = options.detail;
    let config = Config { times: detail == Detail::Times, adopts: !options.held, what: names::what_to_do() };
    let mut session = Session::load(&config)?;
    let calibration = bpf::calibrate(&mut session)?;
    Ok(Box::new(Bpf { detail, session, calibration, followed: None, ending: None }))
}

struct Bpf {
    detail: Detail,
    session: Session,
    calibration: Calibration,
    followed: Option<Followed>,
    ending: Option<Ending>,
}

/// Who is followed.
struct Followed {
    root: Root,
    pidfd: OwnedFd,
    /// The kernel's accounting of tasks that ran before.
    before: Accounts,
}

impl Tracer for Bpf {
    fn introduction(&self) -> String {
        let counts = if self.detail == Detail::Counts { ", counts only" } else { "" };
        format!("eBPF{counts}, about {:.2} us a call", self.calibration.added_ns / 1e3)
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        let pid = pid_of(root);
        let pidfd = pidfd::open(pid.cast_signed()).with_context(|| format!("trace: no process {pid}"))?;
        let before = match root {
            Root::Held(_) => {
                self.session.mark(pidfd.as_fd(), state::HELD)?;
                Accounts::default()
            }
            Root::Running(pid) => adopt_tree(&self.session, pid)?,
        };
        self.followed = Some(Followed { root, pidfd, before });
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let followed = self.followed.as_ref().context(UNATTACHED)?;
        let deadline = until.after.map(|after| Instant::now() + after);
        let over = || until.stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        while !followed.root_has_ended(LOOK)? {
            if over() {
                return Ok(());
            }
        }
        if let Root::Held(pid) = followed.root {
            self.ending = reap(pid)?;
        }
        while self.live()? > 0 && !over() {
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<Collected> {
        let followed = self.followed.take().context(UNATTACHED)?;
        let alive = match followed.root {
            Root::Held(_) if self.live()? <= 0 => Accounts::default(),
            root => tree::accounts(pid_of(root)),
        };
        self.session.detach();
        let raw = self.session.read()?;
        let facts = self.facts(raw.globals.lost);
        let mut collected = Collected { facts, ending: self.ending, ..Collected::default() };
        decode::decode(&raw, self.detail, &mut collected);
        decode::take_off(self.calibration.offset_ns.unwrap_or(0.0), &mut collected);
        usage::fill(&raw, &alive, &followed.before, &mut collected);
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
            adds_system_time: true,
            offset_per_call_ns: self.calibration.offset_ns,
            lost,
        }
    }

    /// Tasks of the tree that have not ended.
    fn live(&self) -> Result<i64> {
        Ok(self.session.globals()?.live.cast_signed())
    }
}

impl Followed {
    /// Waits up to `timeout` for the end of the first process.
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

fn pid_of(root: Root) -> u32 {
    match root {
        Root::Held(pid) | Root::Running(pid) => pid,
    }
}

/// Follows a running process and what it has started that is still its descendant. Looks again until nobody is new, as
/// a process that was not followed yet may just have forked.
fn adopt_tree(session: &Session, root: u32) -> Result<Accounts> {
    let before = tree::accounts(root);
    loop {
        let mut new = false;
        for pid in tree::processes(root) {
            new |= adopt(session, pid)?;
        }
        if !new {
            return Ok(before);
        }
    }
}

/// False if it is followed already, or has ended since it was listed.
fn adopt(session: &Session, pid: u32) -> Result<bool> {
    match pidfd::open(pid.cast_signed()) {
        Ok(pidfd) => session.add_root(pidfd.as_fd()),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("pidfd_open of process {pid}")),
    }
}

fn reap(pid: u32) -> Result<Option<Ending>> {
    loop {
        match waitpid(Pid::from_raw(pid.cast_signed()), None) {
            Ok(WaitStatus::Exited(_, status)) => return Ok(Some(Ending::Exited(status))),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(Some(Ending::Signalled(signal as i32))),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => bail!("the traced process cannot be waited for: {error}"),
        }
    }
}
