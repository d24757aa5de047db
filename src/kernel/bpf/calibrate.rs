//! The overhead of tracing per call, measured with a child that makes null calls, first untraced and then traced.
//!
//! Not interleaved, because attaching waits for all CPUs and takes milliseconds; medians of short batches make up for
//! it. The result is an estimate for one line of a report, not a measurement of record.

#![allow(unsafe_code)]

use super::layout::state;
use super::load::Programs;
use crate::kernel::pidfd;
use anyhow::{Context, Result, bail};
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2, read, write};
use std::os::fd::{AsFd, OwnedFd};

const BATCHES: usize = 41;
const CALLS_PER_BATCH: u32 = 300;

/// A child that measures and answers once per byte that it reads, until the pipe is closed.
struct Caller {
    child: Pid,
    to: OwnedFd,
    from: OwnedFd,
}

/// What tracing does to a null call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Time that tracing adds, in nanoseconds.
    pub added_ns: f64,
    /// The mean time that the programs measure minus the untraced time, in nanoseconds; `None` if they only count.
    pub offset_ns: Option<f64>,
}

/// Attaches the programs and measures what they do to a null call. Leaves them attached, with all counts at zero.
///
/// # Errors
/// What the kernel refuses.
pub fn calibrate(programs: &mut Programs) -> Result<Calibration> {
    let caller = Caller::start()?;
    let before = caller.measure()?;
    programs.attach()?;
    let child = pidfd::open(caller.child.as_raw()).context("pidfd_open of the calibration child")?;
    programs.mark(child.as_fd(), state::LIVE)?;
    let traced = caller.measure()?;
    drop(caller);
    let offset_ns = measured_ns(programs)?.map(|measured| measured - before);
    programs.reset()?;
    Ok(Calibration { added_ns: (traced - before).max(0.0), offset_ns })
}

/// The mean time of the null calls that the programs saw, in nanoseconds; `None` without times.
fn measured_ns(programs: &Programs) -> Result<Option<f64>> {
    let (mut calls, mut ns) = (0, 0);
    for (key, counted) in programs.read()?.calls {
        if i64::from(key.number) == libc::SYS_getppid {
            calls += counted.calls;
            ns += counted.on_cpu;
        }
    }
    Ok((ns > 0).then(|| ns as f64 / calls as f64))
}

impl Caller {
    fn start() -> Result<Caller> {
        let (go, to) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        let (from, answer) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        // SAFETY: the child makes only async-signal-safe calls and allocates nothing.
        match unsafe { fork() }.context("fork")? {
            ForkResult::Parent { child } => Ok(Caller { child, to, from }),
            ForkResult::Child => {
                drop(to);
                serve(&go, &answer);
                // SAFETY: ends the child at once, without running or flushing anything of the parent's.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// The median time of a null call in the child, in nanoseconds.
    fn measure(&self) -> Result<f64> {
        write(&self.to, &[1]).context("the calibration child has ended")?;
        let mut answer = [0; 8];
        match read(&self.from, &mut answer).context("the calibration child has ended")? {
            8 => Ok(f64::from_ne_bytes(answer)),
            _ => bail!("the calibration child ended"),
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // Closing the pipe is not enough: another child may hold a copy of it.
        let _ = kill(self.child, Signal::SIGKILL);
        let _ = waitpid(self.child, None);
    }
}

/// The child's loop. Allocates nothing.
fn serve(go: &OwnedFd, answer: &OwnedFd) {
    let mut byte = [0];
    while read(go, &mut byte) == Ok(1) {
        let mut times = [0.0; BATCHES];
        for time in &mut times {
            *time = batch_ns() / f64::from(CALLS_PER_BATCH);
        }
        times.sort_unstable_by(f64::total_cmp);
        if write(answer, &times[BATCHES / 2].to_ne_bytes()) != Ok(8) {
            return;
        }
    }
}

fn batch_ns() -> f64 {
    let start = std::time::Instant::now();
    for _ in 0..CALLS_PER_BATCH {
        // SAFETY: getppid takes nothing and always succeeds.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    start.elapsed().as_nanos() as f64
}
