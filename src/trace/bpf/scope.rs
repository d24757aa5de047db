//! Which running processes are traced from the start: those that are named with their descendants, those of a control
//! group, or all but ours. What they start later is followed by the programs; what enters a group later is adopted when it
//! is seen there.

use crate::kernel::bpf::Programs;
use crate::kernel::bpf::layout::state;
use crate::kernel::pidfd;
use crate::kernel::tree;
use crate::trace::Running;
use anyhow::{Context, Result};
use nix::errno::Errno;
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

/// Traces what runs now. Repeats until there is nothing new: a process that was not traced yet may just have forked.
/// Returns all that run.
pub fn adopt_all(programs: &Programs, what: &Running) -> Result<Vec<u32>> {
    loop {
        let pids = members(what)?;
        let mut new = false;
        for pid in &pids {
            new |= adopt(programs, *pid)?;
        }
        if !new {
            return Ok(pids);
        }
    }
}

/// The processes that belong to it now.
pub fn members(what: &Running) -> Result<Vec<u32>> {
    let own = std::process::id();
    let mut pids: Vec<u32> = match what {
        Running::Processes(roots) => roots.iter().flat_map(|root| tree::processes(*root)).collect(),
        Running::Cgroup(path) => of_cgroup(path)?,
        Running::System => tree::all_processes(),
    };
    pids.sort_unstable();
    pids.dedup();
    pids.retain(|pid| *pid != own && *pid > 0);
    Ok(pids)
}

/// The processes of a control group and of those below it.
fn of_cgroup(path: &Path) -> Result<Vec<u32>> {
    let file = path.join("cgroup.procs");
    let text = fs::read_to_string(&file).with_context(|| format!("trace: {}", file.display()))?;
    let mut pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let below = fs::read_dir(path).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    // One that is removed meanwhile has no processes.
    below.for_each(|entry| pids.extend(of_cgroup(&entry.path()).unwrap_or_default()));
    Ok(pids)
}

/// Traces a running process; false if it is already traced, or has ended since it was listed.
fn adopt(programs: &Programs, pid: u32) -> Result<bool> {
    match pidfd::open(pid.cast_signed()) {
        Ok(pidfd) => programs.mark(pidfd.as_fd(), state::LIVE),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("pidfd_open of process {pid}")),
    }
}
