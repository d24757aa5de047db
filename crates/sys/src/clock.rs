//! CPU time of other processes, to the nanosecond; exact for a stopped tracee. Called by `trace`.

use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The CPU time of a process with all its threads, in nanoseconds; `EINVAL` if it has ended. The kernel lets only the process itself
/// read the clock of a single thread; `ThreadClock` reads a file instead.
pub fn process_cpu_ns(pid: i32) -> Result<u64, Errno> {
    // A process's CPU clock as in clock_getcpuclockid(3): the inverted PID, and 2 for scheduler time.
    let clock = ClockId::from_raw((!pid << 3) | 2);
    now_ns(clock)
}

/// The time of a clock in nanoseconds since its epoch, which must not be before it.
pub fn now_ns(clock: ClockId) -> Result<u64, Errno> {
    let time = clock_gettime(clock)?;
    Ok(time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
}

/// The largest number if there are more.
pub fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// 0 before 1970.
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// A thread's schedstat (Documentation/scheduler/sched-stats.rst). The file stays open, which saves most of the time of reading
/// it.
pub struct ThreadClock(File);

#[derive(Clone, Copy)]
pub struct ThreadTime {
    pub cpu_ns: u64,
    pub waiting_ns: u64,
    pub turns: u64,
}

impl ThreadClock {
    /// `None` if the thread has ended, or the kernel has no schedstat.
    pub fn open(tid: i32) -> Option<ThreadClock> {
        File::open(format!("/proc/{tid}/schedstat"))
            .ok()
            .map(ThreadClock)
    }

    /// `None` if the thread has ended.
    pub fn read(&self) -> Option<ThreadTime> {
        let mut text = [0u8; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let mut numbers = std::str::from_utf8(&text[..length])
            .ok()?
            .split_ascii_whitespace()
            .map_while(|word| word.parse().ok());
        Some(ThreadTime {
            cpu_ns: numbers.next()?,
            waiting_ns: numbers.next()?,
            turns: numbers.next()?,
        })
    }
}
