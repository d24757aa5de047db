//! The default tracer: eBPF programs count in the kernel, and nothing is sent while the tree runs.
//!
//! Not here: the programs (`kernel::bpf`). `open` is what `trace` calls.

mod decode;
mod names;
mod usage;

use super::{Collected, Detail, Root, Tracer, Until};
use crate::kernel::bpf::{self, Config, Session};
use crate::kernel::tree::{self, Accounts};
use crate::model::{Ending, TracerFacts};
use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often a tree whose first process has ended is looked at: the rest of it sends no signal.
const GLANCE: Duration = Duration::from_millis(2);
/// How often `until` is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// # Errors
/// Why eBPF cannot be had here, in one line with what to do.
pub fn open(detail: Detail) -> Result<Box<dyn Tracer>> {
    bpf::available().map_err(|why| anyhow::anyhow!("{why}"))?;
    Ok(Box::new(Bpf { detail, following: None, ending: None, early: false }))
}

struct Bpf {
    detail: Detail,
    following: Option<Following>,
    ending: Option<Ending>,
    /// Ended before the tree.
    early: bool,
}

/// What there is while it is attached.
struct Following {
    session: Session,
    root: Root,
    pidfd: OwnedFd,
    added_per_call_ns: f64,
    /// The kernel's accounting of tasks that ran before.
    before: Accounts,
}

impl Tracer for Bpf {
    fn attach(&mut self, root: Root) -> Result<()> {
        let times = self.detail == Detail::Times;
        let adopts = matches!(root, Root::Running(_));
        let mut session = Session::load(&Config { times, adopts, what: names::what_to_do() })?;
        let added_per_call_ns = bpf::added_per_call_ns(&mut session)?;
        let pidfd = bpf::pidfd(pid_of(root).cast_signed())?;
        let before = match root {
            Root::Held(_) => session.mark(pidfd.as_fd(), bpf::layout::state::HELD).map(|()| Accounts::default())?,
            Root::Running(pid) => adopt_tree(&session, pid)?,
        };
        self.following = Some(Following { session, root, pidfd, added_per_call_ns, before });
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let following = self.following.as_ref().context("the tracer is not attached")?;
        let deadline = until.after.map(|after| Instant::now() + after);
        let ended = |now| until.stop.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| now >= deadline);
        while !following.root_has_ended(LOOK)? {
            if ended(Instant::now()) {
                self.early = true;
                return Ok(());
            }
        }
        if let Root::Held(pid) = following.root {
            self.ending = reap(pid)?;
        }
        while following.is_alive()? {
            if ended(Instant::now()) {
                self.early = true;
                return Ok(());
            }
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<Collected> {
        let mut following = self.following.take().context("the tracer is not attached")?;
        let alive = following.alive()?;
        following.session.detach();
        let raw = following.session.read()?;
        let facts = self.facts(&following, raw.globals.lost);
        let mut collected = Collected { facts, ending: self.ending, ..Collected::default() };
        decode::decode(&raw, self.detail, &mut collected);
        usage::fill(&raw, &alive, &following.before, &mut collected);
        Ok(collected)
    }
}

impl Bpf {
    fn facts(&self, following: &Following, lost: u64) -> TracerFacts {
        let how = match self.detail {
            Detail::Times => "calls counted and timed by programs at the kernel's tracepoints",
            Detail::Counts => "calls counted by programs at the kernel's tracepoints",
        };
        let added_per_call_ns = Some(following.added_per_call_ns);
        TracerFacts { kind: "bpf".to_string(), detail: how.to_string(), added_per_call_ns, lost }
    }
}

impl Following {
    /// Waits up to `patience` for the end of the first process.
    fn root_has_ended(&self, patience: Duration) -> Result<bool> {
        let mut fds = [PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO);
        match poll(&mut fds, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::errno::Errno::EINTR) => Ok(false),
            Err(error) => Err(error).context("poll of the traced process"),
        }
    }

    /// Whether any of the tree is left.
    fn is_alive(&self) -> Result<bool> {
        Ok(self.session.globals()?.live.cast_signed() > 0)
    }

    /// The accounting of what still runs.
    fn alive(&self) -> Result<Accounts> {
        let live = self.session.globals()?.live.cast_signed();
        let running = matches!(self.root, Root::Running(_));
        Ok(if live > 0 || running { tree::accounts(pid_of(self.root)) } else { Accounts::default() })
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
            new |= session.add_root(pid)?;
        }
        if !new {
            return Ok(before);
        }
    }
}

fn reap(pid: u32) -> Result<Option<Ending>> {
    loop {
        match waitpid(Pid::from_raw(pid.cast_signed()), None) {
            Ok(WaitStatus::Exited(_, status)) => return Ok(Some(Ending::Exited(status))),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(Some(Ending::Signalled(signal as i32))),
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => bail!("the traced process cannot be waited for: {error}"),
        }
    }
}
