//! The overhead of tracing per call, by kind of call, measured with a child that makes some, first untraced and then
//! traced.
//!
//! A call that is made a million times in a row is cheaper to trace than one among others: caches and branch predictors
//! know everything. So the child makes calls of all kinds in turn, and reads some memory before each, as programs do
//! between their calls. Not interleaved with untraced ones, because attaching waits for all CPUs and takes milliseconds;
//! medians of short batches make up for it. `bench/trace stated` compares the result with what workloads lose.

#![allow(unsafe_code)]

use super::layout::state;
use super::load::Programs;
use crate::kernel::linux::{self, pipe2, system_call};
use crate::kernel::pidfd;
use anyhow::{Context, Result, bail};
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, read, write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

const BATCHES: usize = 41;
const TURNS_PER_BATCH: u32 = 100;
/// Read before each call: as much as first-level caches hold.
const MEMORY: usize = 32 << 10;
const CACHE_LINE: usize = 64;

/// A child that measures and answers once per byte that it reads, until the pipe is closed.
struct Caller {
    child: Pid,
    to: OwnedFd,
    from: OwnedFd,
}

/// Times of calls by what a tracer looks at: nothing, a descriptor, a path. In nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByKind {
    pub plain: f64,
    pub descriptor: f64,
    pub path: f64,
}

/// What tracing does to calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Time that tracing adds.
    pub added_ns: ByKind,
    /// The mean time that the programs measure for a call without work minus the untraced time, in nanoseconds; `None` if
    /// they only count.
    pub offset_ns: Option<f64>,
}

/// Attaches the programs and measures what they do to calls. Leaves them attached, with all counts at zero.
///
/// # Errors
/// What the kernel refuses.
pub fn calibrate(programs: &mut Programs) -> Result<Calibration> {
    let caller = Caller::start()?;
    let before = caller.measure()?;
    programs.attach()?;
    let child = pidfd::open(caller.child.as_raw()).context("pidfd_open of the calibration child")?;
    programs.mark(child.as_fd(), state::LIVE)?;
    programs.begin_present()?;
    let traced = caller.measure()?;
    drop(caller);
    let offset_ns = measured_ns(programs)?.map(|measured| measured - before.bare);
    programs.reset()?;
    Ok(Calibration { added_ns: traced.times.minus(&before.times), offset_ns })
}

/// The mean time of the calls without work that the programs saw, in nanoseconds; `None` without times.
fn measured_ns(programs: &Programs) -> Result<Option<f64>> {
    let (mut calls, mut ns) = (0, 0);
    for (key, counted) in programs.read()?.calls {
        if i64::from(key.number) == BARE {
            calls += counted.calls;
            ns += counted.on_cpu;
        }
    }
    Ok((ns > 0).then(|| ns as f64 / calls as f64))
}

impl ByKind {
    fn minus(&self, before: &ByKind) -> ByKind {
        let less = |now: f64, before: f64| (now - before).max(0.0);
        ByKind {
            plain: less(self.plain, before.plain),
            descriptor: less(self.descriptor, before.descriptor),
            path: less(self.path, before.path),
        }
    }
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

    fn measure(&self) -> Result<Answer> {
        write(&self.to, &[1]).context("the calibration child has ended")?;
        let mut answer = [0; size_of::<Answer>()];
        if read(&self.from, &mut answer).context("the calibration child has ended")? != answer.len() {
            bail!("the calibration child ended");
        }
        let word = |at: usize| f64::from_ne_bytes(std::array::from_fn(|byte| answer[8 * at + byte]));
        Ok(Answer { times: ByKind { plain: word(0), descriptor: word(1), path: word(2) }, bare: word(3) })
    }
}

/// Medians of what the child measured.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    times: ByKind,
    /// A call without work, many in a row.
    bare: f64,
}

impl Drop for Caller {
    fn drop(&mut self) {
        // Closing the pipe is not enough: another child may hold a copy of it.
        let _ = kill(self.child, Signal::SIGKILL);
        let _ = waitpid(self.child, None);
    }
}

/// The call without work. No other part of the child makes it.
const BARE: i64 = linux::SYS_GETPPID;

/// The child's loop. Allocates nothing.
fn serve(go: &OwnedFd, answer: &OwnedFd) {
    // SAFETY: opens a file that every system has; a descriptor of -1 makes calls fail, which costs as much.
    let zeros = unsafe { libc::open(c"/dev/zero".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let mut byte = [0];
    while read(go, &mut byte) == Ok(1) {
        let mut times = [[0.0; BATCHES]; 4];
        for batch in 0..BATCHES {
            let [plain, descriptor, path] = turns(zeros);
            for (list, time) in times.iter_mut().zip([plain, descriptor, path, bare_ns()]) {
                list[batch] = time / f64::from(TURNS_PER_BATCH);
            }
        }
        let mut bytes = [0; 32];
        for (part, list) in bytes.chunks_exact_mut(8).zip(&mut times) {
            list.sort_unstable_by(f64::total_cmp);
            part.copy_from_slice(&list[BATCHES / 2].to_ne_bytes());
        }
        if write(answer, &bytes) != Ok(bytes.len()) {
            return;
        }
    }
}

/// Calls of each kind in turn: the time of each kind.
fn turns(zeros: i32) -> [f64; 3] {
    let mut buffer = [0u8; 8];
    let mut memory = [0u8; MEMORY];
    let mut sums = [0.0; 3];
    for turn in 0..TURNS_PER_BATCH {
        // SAFETY: none of the calls does more than write to the buffer, of its length.
        sums[0] += timed(&mut memory, turn, || unsafe { system_call!(SYS_getuid) });
        // SAFETY: as above.
        sums[1] +=
            timed(&mut memory, turn, || unsafe { system_call!(SYS_pread64, zeros, buffer.as_mut_ptr(), 8usize, 0i64) });
        let path = c"/usr/lib/os-release";
        // SAFETY: as above; the path is constant.
        sums[2] += timed(&mut memory, turn, || unsafe {
            system_call!(SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::F_OK)
        });
    }
    sums
}

/// The time of one call, in nanoseconds, after other work.
fn timed(memory: &mut [u8; MEMORY], turn: u32, call: impl FnOnce() -> i64) -> f64 {
    for line in memory.chunks_exact_mut(CACHE_LINE) {
        line[0] = line[0].wrapping_add(turn as u8);
    }
    std::hint::black_box(&memory);
    let start = Instant::now();
    call();
    start.elapsed().as_nanos() as f64
}

fn bare_ns() -> f64 {
    let start = Instant::now();
    for _ in 0..TURNS_PER_BATCH {
        // SAFETY: getppid takes nothing and always succeeds.
        unsafe { system_call!(SYS_getppid) };
    }
    start.elapsed().as_nanos() as f64
}
