//! The perf tracer: the kernel's counters of a few named calls, inherited by everything that the command starts.
//!
//! Counts only: no errors, classes, process names or times. For a few calls only: every fork copies each counter, which
//! takes milliseconds with hundreds of them. Calls of 32-bit programs have other tracepoints, which perf does not
//! count. Called through `choose`.

use super::{Root, TraceOptions, Tracer, TracerKind, Until};
use crate::kernel::clock::null_call_ns;
use crate::kernel::perf::{Begin, Counter};
use crate::kernel::process::adopt_orphans;
use crate::kernel::tracee::{self, Report, Whose};
use crate::kernel::wake::Waker;
use crate::model::{CallCount, Ending, ProcessGroup, Profile, TracerFacts};
use crate::stats::{FEWEST_BLOCKS, Overhead};
use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use std::path::PathBuf;
use std::time::Duration;

pub const KIND: TracerKind = TracerKind {
    name: "perf",
    what: "Counters of the calls that --calls names. Counts alone",
    named_calls: true,
    open,
};

/// How many calls can be counted at once.
const MOST: usize = 20;

pub struct PerfTracer {
    names: Vec<String>,
    /// Each with the position of its name.
    counters: Vec<(usize, Counter)>,
    root: Option<Root>,
    added: Option<Overhead>,
    ending: Option<Ending>,
    processes_left: bool,
}

/// Opens the tracer, and tries its counters on this process.
///
/// # Errors
/// Which call cannot be counted, and why.
fn open(options: &TraceOptions) -> Result<Box<dyn Tracer>> {
    options.for_processes_only()?;
    let mut names = options.calls.clone();
    names.sort();
    names.dedup();
    if names.len() > MOST {
        bail!("{} calls are named, but at most {MOST} can be counted: name fewer, or use another tracer", names.len());
    }
    for name in &names {
        Counter::open(name, 0, Begin::AtExec)?;
    }
    let added = added();
    let (counters, root, ending) = (Vec::new(), None, None);
    Ok(Box::new(PerfTracer { names, counters, root, added, ending, processes_left: false }))
}

/// The overhead of a counter per call: null calls without one and with one, in turn.
fn added() -> Option<Overhead> {
    let pair = |_| {
        let without = null_call_ns();
        let counter = Counter::open("getppid", 0, Begin::Now).ok()?;
        let with = null_call_ns();
        drop(counter);
        Some(with - without)
    };
    Overhead::from_differences((0..FEWEST_BLOCKS + 2).map(pair).collect::<Option<Vec<f64>>>()?)
}

impl PerfTracer {
    fn count(&mut self, tid: u32, begin: Begin) -> Result<()> {
        for (position, name) in self.names.iter().enumerate() {
            let counter = Counter::open(name, tid.cast_signed(), begin)?;
            self.counters.push((position, counter));
        }
        Ok(())
    }

    /// Follows until the command and everything that it left running have ended: orphans become our children, and are
    /// reaped. If stopped, reaps what has ended by now.
    fn follow_command(&mut self, root: u32, until: &Until) -> Result<()> {
        loop {
            match tracee::wait(Whose::Any, if until.stopped() { libc::WNOHANG } else { 0 }) {
                Ok(Some((pid, Report::Ended(ending)))) if pid.unsigned_abs() == root => self.ending = Some(ending),
                Ok(Some(_)) | Err(Errno::EINTR) => {}
                Ok(None) => {
                    self.processes_left = true;
                    return Ok(());
                }
                Err(Errno::ECHILD) => return Ok(()),
                Err(errno) => bail!("waitid: {} ({errno:?})", errno.desc()),
            }
        }
    }

    fn sums(&mut self) -> Result<Vec<u64>> {
        let mut sums = vec![0; self.names.len()];
        for (position, counter) in &mut self.counters {
            sums[*position] += counter.read().context("a perf counter cannot be read")?;
        }
        // Counting begins within the command's execve, after its entry.
        if let (Some(Root::Held(_)), Some(execve)) = (&self.root, self.names.iter().position(|name| name == "execve")) {
            sums[execve] += 1;
        }
        Ok(sums)
    }
}

impl Tracer for PerfTracer {
    fn introduction(&self) -> String {
        let cost = self.added.and_then(|added| added.added());
        let cost = cost.map_or_else(String::new, |ns| format!(", about {ns:.0} ns a call that is counted"));
        format!("perf, {} calls counted{cost}", self.names.len())
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        if let Root::Held(pid) = root {
            adopt_orphans();
            self.count(pid, Begin::AtExec)?;
        } else {
            for pid in root.processes() {
                super::threads(*pid)?.into_iter().try_for_each(|tid| self.count(tid, Begin::Now))?;
            }
        }
        self.root = Some(root);
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let _waker = Waker::start(until.stop.clone(), until.after)?;
        match self.root.clone() {
            Some(Root::Held(pid)) => self.follow_command(pid, until),
            Some(root) => {
                let runs = |pid: &u32| PathBuf::from(format!("/proc/{pid}")).exists();
                while !until.stopped() && root.processes().iter().any(runs) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn collect(&mut self) -> Result<Profile> {
        let sums = self.sums()?;
        self.counters.clear();
        let calls = self.names.iter().zip(sums).filter(|(_, calls)| *calls > 0);
        let calls =
            calls.map(|(name, calls)| CallCount { call: name.clone(), calls, ..CallCount::default() }).collect();
        let tracer = TracerFacts {
            kind: "perf".to_string(),
            detail: format!("counters of {}", self.names.join(", ")),
            added_per_call_ns: self.added.and_then(|added| added.added()),
            added_range_ns: self.added.map(|added| added.range()),
            adds_system_time: true,
            ..TracerFacts::default()
        };
        let mut warnings = vec!["only the named calls are counted, and not those of 32-bit programs".to_string()];
        if self.processes_left {
            warnings
                .push("processes of the command were left running; their further calls are not counted".to_string());
        }
        let group = ProcessGroup { name: "all".to_string(), calls, ..ProcessGroup::default() };
        Ok(Profile { tracer, groups: vec![group], ending: self.ending, warnings, ..Profile::default() })
    }
}
