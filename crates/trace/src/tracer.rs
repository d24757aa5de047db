//! The interface of all tracers, and their options.

use super::target::{Running, Target};
use anyhow::{Result, bail};
use model::Profile;
use nix::errno::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
pub use sys::bpf::Record as Detail;
use sys::follow::{Follower, Notice};

#[derive(Clone, PartialEq)]
pub enum Root {
    /// A child of ours that waits before its execve, with which counting begins.
    Held(u32),
    Running(Running),
}

impl Root {
    /// Empty for a control group and the whole system.
    pub fn processes(&self) -> &[u32] {
        match self {
            Root::Held(pid) => std::slice::from_ref(pid),
            Root::Running(Running::Processes(pids)) => pids,
            Root::Running(Running::Cgroup(_) | Running::System) => &[],
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
pub enum Grouping {
    /// Processes of one name.
    #[default]
    Name,
    /// One process.
    Process,
    /// Processes of one name in one control group.
    Cgroup,
    /// Threads of one name.
    Thread,
}

#[derive(Clone, Default)]
pub struct Until {
    /// Set by a signal: tracing ends then.
    pub stop: Arc<AtomicBool>,
    /// A time limit: for processes that were running before, or until the next look.
    pub after: Option<Duration>,
    /// Whether tracing ends with the command itself: processes that it leaves running are not waited for.
    pub alone: bool,
}

impl Until {
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// `None` if all have ended, or after the stop.
    pub fn next_notice(&self, follower: &mut Follower) -> Result<Option<Notice>> {
        while !self.stopped() {
            match follower.next_notice() {
                Ok(notice) => return Ok(notice),
                Err(Errno::EINTR) => {}
                Err(errno) => bail!("ptrace lost the command: {} ({errno:?})", errno.desc()),
            }
        }
        Ok(None)
    }
}

pub trait Tracer {
    fn introduction(&self) -> String;

    fn wants_filter(&self) -> bool {
        false
    }

    /// Attaches to `root` and everything that it will start, until the tracer is dropped. The caller may try another tracer if that
    /// is refused.
    fn attach(&mut self, root: Root) -> Result<()>;

    /// Follows until the tree has ended or `until`: it returns earlier only if the tree has ended. Reaps a held root. Tracers that
    /// can do [`Tracer::snapshot`] are called again after `until.after`.
    fn follow(&mut self, until: &Until) -> Result<()>;

    /// All counts so far, and whether calls were counted while these were read: some may then be there twice or not at all.
    fn snapshot(&mut self) -> Result<(Profile, bool)> {
        bail!("this tracer cannot be read while it counts: use --tracer bpf")
    }

    /// Begins counting anew by other groups. Descendants of a command are traced further if their ancestors still run.
    fn regroup(&mut self, _by: Grouping) -> Result<()> {
        bail!("ptrace cannot change its grouping while tracing: use --tracer bpf")
    }

    /// Detaches and returns everything that was collected, or an error. The caller fills in missing usage from the kernel's accounting.
    fn collect(&mut self) -> Result<Profile>;
}

pub const RINGS_USED: &str =
    "io_uring was used: the work it does without system calls is not counted";

#[derive(Clone, Copy)]
pub struct TracerKind {
    pub name: &'static str,
    pub what: &'static str,
    pub open: fn(&TraceOptions) -> Result<Box<dyn Tracer>>,
}

#[derive(Clone)]
pub struct TraceOptions {
    pub target: Target,
    pub tracer: Option<TracerKind>,
    pub detail: Detail,
    /// The time after which tracing ends, if it is limited.
    pub time: Option<Duration>,
    pub more: More,
}

#[derive(Clone, Copy, Default)]
pub struct More {
    pub grouping: Grouping,
    /// Who started whom, if processes are counted by name.
    pub tree: bool,
    pub stacks: bool,
    /// The functions that make the calls, if the bpf tracer may be used.
    pub callers: bool,
    pub paths: bool,
    pub descriptors: bool,
    pub waits: bool,
    pub slowest: usize,
    pub live: bool,
}

impl TraceOptions {
    /// Whether the target is a command, which is held until the tracer has attached.
    pub fn held(&self) -> bool {
        matches!(self.target, Target::Command(_))
    }

    /// The other options need the bpf tracer.
    pub fn for_processes_only(&self) -> Result<()> {
        let More {
            grouping,
            stacks,
            descriptors,
            slowest,
            live,
            ..
        } = self.more;
        let what = match &self.target {
            Target::Running(Running::System) => "the whole system",
            Target::Running(Running::Cgroup(_)) => "a control group",
            _ if grouping != Grouping::Name => "counts by process, control group or thread",
            _ if descriptors => "descriptors",
            _ if stacks => "stacks",
            _ if slowest > 0 => "the slowest calls",
            _ if self.detail == Detail::Samples => "samples",
            _ if live => "counts that are read while it counts",
            _ => return Ok(()),
        };
        bail!("{what}: only eBPF can trace that")
    }
}
