//! One execution of a command, timed.

use super::site::{LOOK, has_entered};
use crate::{Bound, LaunchError};
use anyhow::{Context, Result};
use measure::runner::{Interrupt, RunDirectory};
use model::TimedRun;
use std::fs::File;
use std::time::Instant;
use sys::launch::{Launch, Started, hold_null_calls};
use sys::tracee::{reap, wait_for_end};
use sys::usage::Used;

/// Runs a command to its end; `None` if that was interrupted. The clock starts when the program is released, which is held before its
/// execve or by our launcher.
///
/// # Errors
/// The command cannot be executed.
pub fn time(launch: &Launch, bound: Bound) -> Result<Option<TimedRun>> {
    let held = launch
        .hold()
        .map_err(|error| LaunchError::at_start(launch, error))?;
    let (group, pid) = (held.pid, i32::try_from(held.pid)?);
    let interrupt = bound.interrupt;
    bound.note_group(RunDirectory::group_started, group);
    let mut begun = Instant::now();
    let mut started = held.release(false).context("the held command has ended")?;
    let mut mounts = None;
    if launch.enters {
        mounts = enter(&mut started, pid, interrupt).inspect_err(|_| {
            started.end();
            let _ = reap(pid);
        })?;
        begun = Instant::now();
        // An error means that it could not enter and has ended, with a status.
        let _ = started.release();
    }
    let interrupted = !ended(&started, interrupt);
    // Read before the mounts are let go: unmounting may take long.
    let wall = begun.elapsed();
    drop(mounts);
    // Not reaped yet: until the janitor has forgotten the group, its number must not be given to another process.
    let ending = wait_for_end(pid, libc::WNOWAIT)?;
    bound.note_group(RunDirectory::group_ended, group);
    let usage = reap(pid)?;
    if let Some((step, errno)) = started.failure() {
        return Err(LaunchError::at_step(launch, step, errno).into());
    }
    let used = Used::from(&usage);
    let run = TimedRun {
        wall_ns: u64::try_from(wall.as_nanos())?,
        user_ns: used.user_ns,
        system_ns: used.system_ns,
        peak_rss_kib: usage.ru_maxrss.unsigned_abs(),
        faults: used.minor_faults + used.major_faults,
        status: ending.status(),
    };
    Ok((!interrupted && !interrupt.is_set()).then_some(run))
}

/// The mounts stay while the file is open, so that unmounting is not timed; `None` if our launcher could not enter.
fn enter(started: &mut Started, pid: i32, interrupt: &Interrupt) -> Result<Option<File>> {
    has_entered(started, interrupt)
        .then(|| {
            File::open(format!("/proc/{pid}/ns/mnt"))
                .context("cannot keep the mounts of an environment")
        })
        .transpose()
}

fn ended(started: &Started, interrupt: &Interrupt) -> bool {
    while !started.ends_within(LOOK) {
        if interrupt.is_set() {
            started.end();
            return false;
        }
    }
    true
}

/// The memory in KiB of a process that is about to become a command: the kernel counts it for the command as well.
pub fn least_rss_kib() -> Result<u64> {
    let held = hold_null_calls(0).context("cannot start a process")?;
    let pid = i32::try_from(held.pid)?;
    held.release(false).context("the held process has ended")?;
    Ok(reap(pid)?.ru_maxrss.unsigned_abs())
}
