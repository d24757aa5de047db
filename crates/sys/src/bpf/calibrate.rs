//! The overhead of tracing by what is traced, measured with a child that makes some of each, untraced and traced in turn.
//!
//! A call that is made a million times in a row is cheaper to trace than one among others: caches and branch predictors know
//! everything. So the child makes calls of all kinds in turn, and reads some memory before each, as programs do. Each pair is a
//! few milliseconds on one CPU, in alternating order; within them counts the lower quartile of short batches, which nothing
//! interrupts. `bench/trace stated` compares the result with what workloads lose, `bench/trace calibrated` with other
//! calibrations.

#![allow(unsafe_code)]

use super::layout::{BUCKETS, bucket_ns, state};
use super::load::Programs;
use crate::pidfd;
use anyhow::{Context, Result, ensure};
use nix::fcntl::OFlag;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2, read, write};
use serde::{Deserialize, Serialize};
use stats::{Overhead, median};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Held by the one thread that calibrates: a child that another thread forks meanwhile would have copies of our attachments, which
/// then outlive their closing.
static CALIBRATING: Mutex<()> = Mutex::new(());
/// The number of pairs, each untraced and traced. The interval of so many leaves out six at each end.
const PAIRS: usize = 24;
/// Pairs that a busy machine does not get done in this time are left out.
const PATIENCE: Duration = Duration::from_secs(2);
/// Batches on each side of a pair; the first is left out, because caches are cold.
const BATCHES: usize = 9;
const TURNS_PER_BATCH: u32 = 25;
const BARE_PER_BATCH: u32 = 100;
const PROCESSES_PER_BATCH: u32 = 2;
const PAGE_BYTES: usize = 4096;
/// Bytes that are read before each call: as many as first-level caches hold.
const MEMORY: usize = 32 << 10;
const CACHE_LINE: usize = 64;

/// Measures and answers once per byte that it reads, until the pipe is closed.
struct Caller {
    child: Pid,
    cpu: Option<u32>,
    to: OwnedFd,
    from: OwnedFd,
}

/// The events that cost a tracer different times: a call, by what it looks at; one on one of many relative paths, whose entries in
/// the tracer's maps are not in the caches; a path that it has not seen before; a switch, with what woke the thread; a process that
/// begins and ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Plain,
    Descriptor,
    Path,
    ManyPaths,
    Name,
    Switch,
    Process,
}

const KINDS: usize = 7;

pub const MANY: u32 = 8192;

pub type Each<T> = [T; KINDS];

/// `None` if too few pairs were done in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub added: Option<Each<Overhead>>,
    /// The time that the programs measure for a call without work, minus its untraced time; also `None` if they only count.
    pub offset: Option<Overhead>,
    pub call_ns: f64,
    pub fault_ns: f64,
}

#[derive(Clone, Copy, Default)]
struct Pair {
    untraced: Answer,
    traced: Answer,
    measured_ns: Option<f64>,
}

/// Takes up to 2 s. Leaves the programs attached, with all counts at zero.
///
/// # Errors
/// The child cannot be started, or the kernel refuses to attach a program or to mark the child.
pub fn calibrate(programs: &mut Programs) -> Result<Calibration> {
    let _alone = CALIBRATING.lock().unwrap_or_else(PoisonError::into_inner);
    let caller = Caller::start()?;
    programs.attach()?;
    let child =
        pidfd::open(caller.child.as_raw()).context("pidfd_open of the calibration child")?;
    programs.mark(child.as_fd(), state::LIVE)?;
    programs.begin_present()?;
    let pairs = measure(programs, &caller)?;
    // The last pair may have ended detached, and the programs must see the child's end: it would stay in the count of live tasks.
    programs.attach()?;
    caller.end()?;
    programs.reset()?;
    Ok(Calibration::from_pairs(&pairs))
}

fn measure(programs: &mut Programs, caller: &Caller) -> Result<Vec<Pair>> {
    let begun = Instant::now();
    let mut pairs = Vec::new();
    let mut durations = vec![0; BUCKETS];
    while pairs.len() < PAIRS && begun.elapsed() < PATIENCE {
        let mut pair = Pair::default();
        let traced_first = pairs.len() % 2 == 1;
        // In alternating order: a machine that gets slower steadily would otherwise make tracing look expensive.
        for traced in [traced_first, !traced_first] {
            if !traced {
                programs.detach();
                pair.untraced = caller.measure()?;
                continue;
            }
            programs.attach()?;
            pair.traced = caller.measure()?;
            let now = caller
                .cpu
                .map(|cpu| programs.durations_on(cpu, BARE as u16))
                .transpose()?
                .flatten();
            pair.measured_ns = now.as_ref().and_then(|now| typical_ns(&durations, now));
            durations = now.unwrap_or(durations);
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

impl Calibration {
    fn from_pairs(pairs: &[Pair]) -> Calibration {
        let measured = pairs.iter().filter_map(|pair| pair.measured_ns);
        let all: Option<Vec<Overhead>> = (0..KINDS)
            .map(|kind| {
                Overhead::from_differences(pairs.iter().map(|pair| pair.added_ns()[kind]).collect())
            })
            .collect();
        Calibration {
            added: all.and_then(|all| all.try_into().ok()),
            offset: Overhead::from_differences(
                pairs
                    .iter()
                    .filter_map(|pair| Some(pair.measured_ns? - pair.untraced.bare))
                    .collect(),
            ),
            call_ns: measured.reduce(f64::min).unwrap_or(0.0),
            fault_ns: median(pairs.iter().map(|pair| pair.untraced.fault).collect()).unwrap_or(0.0),
        }
    }

    /// The part of a call's time that the programs do not see, in nanoseconds: the way into the kernel and back.
    pub fn unseen_ns(&self) -> f64 {
        self.offset
            .filter(|offset| offset.high < 0.0)
            .map_or(0.0, |offset| -offset.ns)
    }

    /// The overhead of calls, and the offset if times are measured, have a usable interval.
    pub fn is_known(&self) -> bool {
        self.added.is_some_and(|added| {
            added[..=Kind::Path as usize]
                .iter()
                .all(|each| each.added().is_some())
        }) && (self.offset.is_none() || self.offset_ns().is_some())
    }

    /// Nanoseconds, never below zero; `None` if the pairs disagree too much.
    pub fn offset_ns(&self) -> Option<f64> {
        self.offset?.within(self.call_ns)
    }
}

impl Pair {
    /// Nanoseconds for each kind of event, without the calls that come with it.
    fn added_ns(&self) -> Each<f64> {
        let [plain, descriptor, path, many, name, switch, process] =
            std::array::from_fn(|kind| self.traced.times[kind] - self.untraced.times[kind]);
        // A switch comes with a write and a read; a process with a fork, a wait and its exit, and two switches.
        let switch = (switch - 2.0 * descriptor).max(0.0);
        [
            plain,
            descriptor,
            path,
            many,
            (name - path).max(0.0),
            switch,
            (process - 3.0 * plain - 2.0 * switch).max(0.0),
        ]
    }
}

/// The mean of the middle half of the durations since `before`: interrupts and preemptions are above it.
fn typical_ns(before: &[u32], now: &[u32]) -> Option<f64> {
    // Counters of 32 bits, which may wrap around in a long trace.
    let new = before
        .iter()
        .zip(now)
        .map(|(before, now)| u64::from(now.wrapping_sub(*before)));
    let calls: u64 = new.clone().sum();
    let (first, last) = (calls / 4, calls - calls / 4);
    let (mut below, mut ns) = (0, 0.0);
    for (bucket, count) in new.enumerate() {
        let within = (below + count).min(last).saturating_sub(below.max(first));
        ns += within as f64 * (bucket_ns(bucket) + bucket_ns(bucket + 1)) as f64 / 2.0;
        below += count;
    }
    if last > first {
        Some(ns / (last - first) as f64)
    } else {
        None
    }
}

/// `work` may not allocate; it gets ends of two pipes, the caller the others.
fn forked(work: impl FnOnce(&OwnedFd, &OwnedFd)) -> nix::Result<(Pid, OwnedFd, OwnedFd)> {
    let (there, to) = pipe2(OFlag::O_CLOEXEC)?;
    let (from, back) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: the child makes only async-signal-safe calls and allocates nothing.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok((child, to, from)),
        ForkResult::Child => {
            drop((to, from));
            work(&there, &back);
            // SAFETY: ends the child at once, without running or flushing anything of the parent's.
            unsafe { libc::_exit(0) }
        }
    }
}

impl Caller {
    fn start() -> Result<Caller> {
        let (child, to, from) = forked(serve).context("the calibration child cannot be started")?;
        Ok(Caller {
            child,
            cpu: pin(child),
            to,
            from,
        })
    }

    /// Kills the child: if it lived on, its calls would be counted with those of the traced command.
    fn end(self) -> Result<()> {
        kill(self.child, Signal::SIGKILL).context("the calibration child cannot be ended")
    }

    fn measure(&self) -> Result<Answer> {
        const ENDED: &str = "the calibration child has ended";
        write(&self.to, &[1]).context(ENDED)?;
        let mut answer = Answer::default();
        let length = read(&self.from, answer.as_mut_bytes()).context(ENDED)?;
        ensure!(length == size_of::<Answer>(), ENDED);
        Ok(answer)
    }
}

/// Pins the child to the CPU that this process is on.
fn pin(child: Pid) -> Option<u32> {
    let cpu = nix::sched::sched_getcpu().ok()?;
    let mut set = CpuSet::new();
    set.set(cpu).ok()?;
    sched_setaffinity(child, &set).ok()?;
    u32::try_from(cpu).ok()
}

/// The lower quartile of batches.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
struct Answer {
    times: Each<f64>,
    bare: f64,
    fault: f64,
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

fn serve(go: &OwnedFd, answer: &OwnedFd) {
    // SAFETY: opens a file that every system has; a descriptor of -1 makes calls fail, which costs as much.
    let [zeros, libraries] = [c"/dev/zero", c"/usr/lib"]
        .map(|path| unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) });
    let (mut byte, mut names, mut measured) = ([0], 0, 0);
    let mut peer = None;
    while read(go, &mut byte) == Ok(1) {
        // Not before the first request, when the child is marked: the peer is to be traced as well.
        let Some(peer) = peer.get_or_insert_with(Peer::start) else {
            return;
        };
        // Both of the first two measurements touch all paths once, so that the traced one enters them into the maps.
        if measured < 2 {
            for number in 0..MANY {
                asked(libraries, &made_up(b"", number));
            }
            measured += 1;
        }
        let mut times = [[0.0; BATCHES]; KINDS + 2];
        for batch in 0..BATCHES {
            let calls =
                turns(zeros, libraries, &mut names).map(|ns| ns / f64::from(TURNS_PER_BATCH));
            let others = [peer.switch_ns(), process_ns(), bare_ns(), fault_ns()];
            for (list, time) in times.iter_mut().zip(calls.into_iter().chain(others)) {
                list[batch] = time;
            }
        }
        let quartiles = times.map(|mut list| {
            let warm = &mut list[1..];
            warm.sort_unstable_by(f64::total_cmp);
            warm[warm.len() / 4]
        });
        if write(answer, quartiles.as_bytes()) != Ok(size_of::<Answer>()) {
            return;
        }
    }
}

/// Sends back what it gets, until the other end is closed.
struct Peer {
    to: OwnedFd,
    from: OwnedFd,
}

impl Peer {
    fn start() -> Option<Peer> {
        let (_, to, from) = forked(|there, back| {
            // SAFETY: without its parent, it has nothing to do.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let mut byte = [0];
            while read(there, &mut byte) == Ok(1) && write(back, &byte) == Ok(1) {}
        })
        .ok()?;
        Some(Peer { to, from })
    }

    fn switch_ns(&self) -> f64 {
        let mut byte = [0];
        let both_ns = mean_ns(TURNS_PER_BATCH, || {
            write(&self.to, &[1]) == Ok(1) && read(&self.from, &mut byte) == Ok(1)
        });
        both_ns / 2.0
    }
}

/// The mean time of `work` in nanoseconds; 0 if it fails once.
fn mean_ns(count: u32, mut work: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        if !work() {
            return 0.0;
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

fn process_ns() -> f64 {
    // SAFETY: the child ends at once.
    mean_ns(PROCESSES_PER_BATCH, || match unsafe { fork() } {
        // SAFETY: as above.
        Ok(ForkResult::Child) => unsafe { libc::_exit(0) },
        Ok(ForkResult::Parent { child }) => waitpid(child, None).is_ok(),
        Err(_) => false,
    })
}

/// The time of a page fault in nanoseconds, when memory is touched for the first time.
fn fault_ns() -> f64 {
    const PAGES: usize = 32;
    let (bytes, access) = (PAGES * PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: new memory, written within its length and given back.
    unsafe {
        let anywhere = std::ptr::null_mut();
        let memory = libc::mmap(
            anywhere,
            bytes,
            access,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if memory == libc::MAP_FAILED {
            return 0.0;
        }
        let start = Instant::now();
        for page in 0..PAGES {
            memory.cast::<u8>().add(page * PAGE_BYTES).write_volatile(1);
        }
        let ns = start.elapsed().as_nanos() as f64;
        libc::munmap(memory, bytes);
        ns / PAGES as f64
    }
}

/// The sums of the turns' nanoseconds by kind. `names` counts the paths made up so far.
fn turns(zeros: i32, libraries: i32, names: &mut u32) -> [f64; 5] {
    let mut buffer = [0u8; 8];
    let mut memory = [0u8; MEMORY];
    let mut sums = [0.0; 5];
    for turn in 0..TURNS_PER_BATCH {
        // SAFETY: none of the calls does more than write to the buffer, of its length.
        sums[0] += timed(&mut memory, turn, || unsafe {
            libc::syscall(libc::SYS_getuid)
        });
        // SAFETY: as above.
        sums[1] += timed(&mut memory, turn, || unsafe {
            libc::syscall(libc::SYS_pread64, zeros, buffer.as_mut_ptr(), 8usize, 0i64)
        });
        sums[2] += timed(&mut memory, turn, || {
            asked(libc::AT_FDCWD, &made_up(b"/usr/lib/", 0))
        });
        *names += 1;
        let (one, new) = (
            made_up(b"", names.wrapping_mul(STRIDE) % MANY),
            made_up(b"/usr/lib/", *names),
        );
        sums[3] += timed(&mut memory, turn, || asked(libraries, &one));
        sums[4] += timed(&mut memory, turn, || asked(libc::AT_FDCWD, &new));
    }
    sums
}

/// Far from the last one, or the processor would fetch it before it is needed.
const STRIDE: u32 = 2_654_435_761;

/// A path that leads nowhere, with its 0.
fn made_up(directory: &[u8], number: u32) -> [u8; 32] {
    let mut path = [0; 32];
    let file = b"os-release/";
    path[..directory.len()].copy_from_slice(directory);
    path[directory.len()..][..file.len()].copy_from_slice(file);
    for (place, digit) in path[directory.len() + file.len()..][..8]
        .iter_mut()
        .enumerate()
    {
        *digit = b'a' + (number >> (4 * place) & 15) as u8;
    }
    path
}

fn asked(directory: i32, path: &[u8; 32]) -> i64 {
    // SAFETY: the path ends with a 0.
    unsafe { libc::syscall(libc::SYS_faccessat, directory, path.as_ptr(), libc::F_OK) }
}

/// The nanoseconds of `call` after it has displaced part of the first-level cache, as other work of a program would.
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
    // SAFETY: getppid takes nothing and always succeeds.
    mean_ns(BARE_PER_BATCH, || unsafe { libc::syscall(BARE) } > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::FEWEST_BLOCKS;

    fn durations(counts: &[(usize, u32)]) -> Vec<u32> {
        let mut all = vec![0; BUCKETS];
        counts
            .iter()
            .for_each(|(bucket, count)| all[*bucket] = *count);
        all
    }

    #[test]
    fn the_typical_time_is_of_the_new_durations_without_interrupts() {
        let before = durations(&[(10, 1000), (700, 3)]);
        let now = durations(&[(10, 1100), (11, 100), (700, 43)]);
        // The middle half of 100 x 10.5 ns, 100 x 11.5 ns and 40 that took long.
        assert_eq!(
            typical_ns(&before, &now),
            Some((40.0 * 10.5 + 80.0 * 11.5) / 120.0)
        );
        assert_eq!(typical_ns(&now, &now), None);
    }

    #[test]
    fn a_machine_that_gets_busy_leaves_the_overhead_unknown() {
        fn calibration(pairs: usize, busy: f64) -> Calibration {
            Calibration::from_pairs(&(0..pairs).map(|i| pair(i, busy)).collect::<Vec<_>>())
        }

        fn pair(i: usize, busy: f64) -> Pair {
            Pair {
                untraced: answer(100.0 + busy * (i % 5) as f64),
                traced: answer(400.0),
                measured_ns: Some(150.0),
            }
        }

        fn answer(ns: f64) -> Answer {
            Answer {
                times: [ns; KINDS],
                bare: ns,
                fault: 500.0,
            }
        }

        fn of_kind(calibration: &Calibration, kind: Kind) -> Overhead {
            calibration.added.unwrap()[kind as usize]
        }

        let quiet = calibration(PAIRS, 0.5);
        assert_eq!(
            (of_kind(&quiet, Kind::Path).added(), quiet.offset_ns()),
            (Some(299.0), Some(49.0))
        );
        assert!(quiet.is_known());
        let busy = calibration(PAIRS, 500.0);
        assert_eq!(
            (of_kind(&busy, Kind::Path).added(), busy.offset_ns()),
            (None, None)
        );
        assert!(!busy.is_known());
        let few = Calibration {
            call_ns: 150.0,
            fault_ns: 500.0,
            ..Calibration::default()
        };
        assert_eq!(calibration(FEWEST_BLOCKS - 1, 0.0), few);
    }

    #[test]
    fn a_child_is_measured_in_pairs() {
        let Ok(caller) = Caller::start() else {
            return eprintln!("SKIPPED: no process can be started");
        };
        let (first, second) = (caller.measure().unwrap(), caller.measure().unwrap());
        for answer in [first, second] {
            assert!(
                answer.bare > 0.0 && answer.fault > 0.0 && answer.times.iter().all(|ns| *ns > 0.0),
                "{answer:?}"
            );
        }
    }
}
