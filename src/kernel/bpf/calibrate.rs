//! The overhead of tracing per call, by kind of call, measured with a child that makes some, untraced and traced in turn.
//!
//! A call that is made a million times in a row is cheaper to trace than one among others: caches and branch predictors
//! know everything. So the child makes calls of all kinds in turn, and reads some memory before each, as programs do
//! between their calls. Each pair is a few milliseconds with the programs of calls detached and attached, in alternating
//! order, on one CPU; within them, the lower quartile of short batches, which nothing interrupts. Pairs differ where the
//! machine is busy with something else, and their interval shows how much is known. `bench/trace stated` compares the
//! result with what workloads lose, `bench/trace calibrated` with other calibrations.

#![allow(unsafe_code)]

use super::layout::{BUCKETS, bucket_ns, state};
use super::load::Programs;
use crate::kernel::pidfd;
use crate::stats::Overhead;
use anyhow::{Context, Result, bail};
use nix::fcntl::OFlag;
use nix::sched::CpuSet;
use nix::sched::sched_setaffinity;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::pipe2;
use nix::unistd::{ForkResult, Pid, fork, read, write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One at a time: the child of another thread's would have copies of our attachments, which then outlive their closing.
static CALIBRATING: Mutex<()> = Mutex::new(());
/// Each untraced and traced. The interval of so many leaves out six at each end.
const PAIRS: usize = 24;
/// Pairs that a busy machine does not get done in this time are left out.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of each side of a pair; the first is left out.
const BATCHES: usize = 9;
const TURNS_PER_BATCH: u32 = 25;
const BARE_PER_BATCH: u32 = 100;
/// Read before each call: as much as first-level caches hold.
const MEMORY: usize = 32 << 10;
const CACHE_LINE: usize = 64;

/// A child that measures and answers once per byte that it reads, until the pipe is closed.
struct Caller {
    child: Pid,
    /// Where it is pinned; `None` if it may not be.
    cpu: Option<u32>,
    to: OwnedFd,
    from: OwnedFd,
}

/// By what a tracer looks at in a call: nothing, a descriptor, a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByKind<T> {
    pub plain: T,
    pub descriptor: T,
    pub path: T,
}

/// What tracing does to calls; `None` where too few pairs were done in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Time that tracing adds.
    pub added: Option<ByKind<Overhead>>,
    /// The time that the programs measure for a call without work minus the untraced time; also `None` if they only count.
    pub offset: Option<Overhead>,
    /// The time that the programs measure for a call without work, in nanoseconds.
    pub call_ns: f64,
}

/// The same calls untraced and traced.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    untraced: Answer,
    traced: Answer,
    /// What the programs measured for a call without work.
    measured_ns: Option<f64>,
}

/// Attaches the programs and measures what they do to calls. Leaves them attached, with all counts at zero.
///
/// # Errors
/// What the kernel refuses.
pub fn calibrate(programs: &mut Programs) -> Result<Calibration> {
    let _alone = CALIBRATING.lock().unwrap_or_else(PoisonError::into_inner);
    let caller = Caller::start()?;
    programs.attach()?;
    let child = pidfd::open(caller.child.as_raw()).context("pidfd_open of the calibration child")?;
    programs.mark(child.as_fd(), state::LIVE)?;
    programs.begin_present()?;
    let pairs = measure(programs, &caller)?;
    caller.end()?;
    programs.attach()?;
    programs.reset()?;
    Ok(Calibration::of(&pairs))
}

/// The pairs that are done in time.
fn measure(programs: &mut Programs, caller: &Caller) -> Result<Vec<Pair>> {
    let begun = Instant::now();
    let mut pairs = Vec::new();
    let mut durations = vec![0; BUCKETS];
    while pairs.len() < PAIRS && begun.elapsed() < PATIENCE {
        let mut pair = Pair::default();
        let traced_first = pairs.len() % 2 == 1;
        for traced in [traced_first, !traced_first] {
            if !traced {
                programs.detach_calls();
                pair.untraced = caller.measure()?;
                continue;
            }
            programs.attach()?;
            pair.traced = caller.measure()?;
            let now = caller.cpu.map(|cpu| programs.durations_on(cpu, BARE as u16)).transpose()?.flatten();
            pair.measured_ns = now.as_ref().and_then(|now| typical_ns(&durations, now));
            durations = now.unwrap_or(durations);
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

impl Calibration {
    fn of(pairs: &[Pair]) -> Calibration {
        let added = |kind: fn(&Answer) -> f64| {
            Overhead::from_differences(pairs.iter().map(|pair| kind(&pair.traced) - kind(&pair.untraced)).collect())
        };
        let offset = |pair: &Pair| Some(pair.measured_ns? - pair.untraced.bare);
        let measured = pairs.iter().filter_map(|pair| pair.measured_ns);
        Calibration {
            added: added(|answer| answer.times.plain)
                .zip(added(|answer| answer.times.descriptor))
                .zip(added(|answer| answer.times.path))
                .map(|((plain, descriptor), path)| ByKind { plain, descriptor, path }),
            offset: Overhead::from_differences(pairs.iter().filter_map(offset).collect()),
            call_ns: measured.reduce(f64::min).unwrap_or(0.0),
        }
    }

    /// The offset, if it is known. Never below zero.
    pub fn offset_ns(&self) -> Option<f64> {
        self.offset?.within(self.call_ns)
    }
}

/// The mean of the middle half of the durations that came since `before`, in nanoseconds: interrupts and preemptions are
/// above it.
fn typical_ns(before: &[u32], now: &[u32]) -> Option<f64> {
    let new = || (0..).zip(before.iter().zip(now).map(|(before, now)| u64::from(now.wrapping_sub(*before))));
    let calls: u64 = new().map(|(_, count)| count).sum();
    let (first, last) = (calls / 4, calls - calls / 4);
    let (mut below, mut ns) = (0, 0.0);
    for (bucket, count) in new() {
        let within = (below + count).min(last).saturating_sub(below.max(first));
        ns += within as f64 * (bucket_ns(bucket) + bucket_ns(bucket + 1)) as f64 / 2.0;
        below += count;
    }
    (last > first).then(|| ns / (last - first) as f64)
}

impl Caller {
    fn start() -> Result<Caller> {
        let (go, to) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        let (from, answer) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        // SAFETY: the child makes only async-signal-safe calls and allocates nothing.
        match unsafe { fork() }.context("fork")? {
            ForkResult::Parent { child } => Ok(Caller { child, cpu: pin(child), to, from }),
            ForkResult::Child => {
                drop(to);
                serve(&go, &answer);
                // SAFETY: ends the child at once, without running or flushing anything of the parent's.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// One that lives on would be counted with what is traced.
    fn end(self) -> Result<()> {
        kill(self.child, Signal::SIGKILL).context("the calibration child cannot be ended")
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

/// Keeps a process on the CPU that this one is on, and returns that.
fn pin(child: Pid) -> Option<u32> {
    let cpu = nix::sched::sched_getcpu().ok()?;
    let mut set = CpuSet::new();
    set.set(cpu).ok()?;
    sched_setaffinity(child, &set).ok()?;
    u32::try_from(cpu).ok()
}

/// What the child measured: the lower quartile of batches.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    times: ByKind<f64>,
    /// A call without work, many in a row.
    bare: f64,
}

impl Drop for Caller {
    fn drop(&mut self) {
        // Closing the pipe is not enough: another child may hold a copy of it.
        // One that cannot be killed is not waited for: it may wait for us.
        if kill(self.child, Signal::SIGKILL).is_ok() {
            let _ = waitpid(self.child, None);
        }
    }
}

/// The call without work. No other part of the child makes it.
const BARE: i64 = libc::SYS_getppid;

/// The child's loop. Allocates nothing.
fn serve(go: &OwnedFd, answer: &OwnedFd) {
    // SAFETY: opens a file that every system has; a descriptor of -1 makes calls fail, which costs as much.
    let zeros = unsafe { libc::open(c"/dev/zero".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let mut byte = [0];
    while read(go, &mut byte) == Ok(1) {
        let mut times = [[0.0; BATCHES]; 4];
        for batch in 0..BATCHES {
            let [plain, descriptor, path] = turns(zeros).map(|ns| ns / f64::from(TURNS_PER_BATCH));
            for (list, time) in times.iter_mut().zip([plain, descriptor, path, bare_ns()]) {
                list[batch] = time;
            }
        }
        let mut bytes = [0; 32];
        for (part, list) in bytes.chunks_exact_mut(8).zip(&mut times) {
            let warm = &mut list[1..];
            warm.sort_unstable_by(f64::total_cmp);
            part.copy_from_slice(&warm[warm.len() / 4].to_ne_bytes());
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
        sums[0] += timed(&mut memory, turn, || unsafe { libc::syscall(libc::SYS_getuid) });
        // SAFETY: as above.
        sums[1] += timed(&mut memory, turn, || unsafe {
            libc::syscall(libc::SYS_pread64, zeros, buffer.as_mut_ptr(), 8usize, 0i64)
        });
        let path = c"/usr/lib/os-release";
        // SAFETY: as above; the path is constant.
        sums[2] += timed(&mut memory, turn, || unsafe {
            libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::F_OK)
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

/// The time of a call without work, in nanoseconds, many in a row.
fn bare_ns() -> f64 {
    let start = Instant::now();
    for _ in 0..BARE_PER_BATCH {
        // SAFETY: getppid takes nothing and always succeeds.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
    start.elapsed().as_nanos() as f64 / f64::from(BARE_PER_BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::FEWEST_BLOCKS;

    fn durations(counts: &[(usize, u32)]) -> Vec<u32> {
        let mut all = vec![0; BUCKETS];
        counts.iter().for_each(|(bucket, count)| all[*bucket] = *count);
        all
    }

    #[test]
    fn the_typical_time_is_of_the_new_durations_without_interrupts() {
        let before = durations(&[(10, 1000), (700, 3)]);
        let now = durations(&[(10, 1100), (11, 100), (700, 43)]);
        // The middle half of 100 x 10.5 ns, 100 x 11.5 ns and 40 that took long.
        assert_eq!(typical_ns(&before, &now), Some((40.0 * 10.5 + 80.0 * 11.5) / 120.0));
        assert_eq!(typical_ns(&now, &now), None);
    }

    #[test]
    fn a_machine_that_gets_busy_leaves_the_overhead_unknown() {
        let answer = |ns| Answer { times: ByKind { plain: ns, descriptor: ns, path: ns }, bare: ns };
        let pair = |i: usize, busy: f64| Pair {
            untraced: answer(100.0 + busy * (i % 5) as f64),
            traced: answer(400.0),
            measured_ns: Some(150.0),
        };
        let of = |pairs: usize, busy| Calibration::of(&(0..pairs).map(|i| pair(i, busy)).collect::<Vec<_>>());
        let quiet = of(PAIRS, 0.5);
        assert_eq!((quiet.added.unwrap().path.added(), quiet.offset_ns()), (Some(299.0), Some(49.0)));
        let busy = of(PAIRS, 500.0);
        assert_eq!((busy.added.unwrap().path.added(), busy.offset_ns()), (None, None));
        assert_eq!(of(FEWEST_BLOCKS - 1, 0.0), Calibration { call_ns: 150.0, ..Calibration::default() });
    }

    #[test]
    fn a_child_is_measured_in_pairs() {
        let Ok(caller) = Caller::start() else { return eprintln!("SKIPPED: no process can be started") };
        let (first, second) = (caller.measure().unwrap(), caller.measure().unwrap());
        for answer in [first, second] {
            assert!(answer.bare > 0.0 && answer.times.plain > 0.0 && answer.times.path > 0.0, "{answer:?}");
        }
    }
}
