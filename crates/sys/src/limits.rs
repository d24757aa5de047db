//! Limits on descriptors and processes: checked before a run that needs many, raised for the driver, and restored for
//! workers, because the limit on descriptors affects what a worker measures.

use super::{Sources, cgroup};
use anyhow::{Context, Result, bail};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[derive(Clone, Copy)]
pub struct Limits {
    pub descriptors: u64,
    /// `None` without a visible limit.
    pub processes: Option<u64>,
}

impl Limits {
    /// The limits of this process: on descriptors, the one up to which it may be raised.
    pub fn here(sources: &Sources) -> Limits {
        let hard = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(_, hard)| hard);
        Limits {
            descriptors: hard,
            processes: [of_user(), of_group(sources)].into_iter().flatten().min(),
        }
    }

    /// The error has advice.
    pub fn check(&self, cases: u64, descriptors: u64, processes: u64) -> Result<()> {
        if descriptors > self.descriptors {
            bail!(
                "{cases} cases need {descriptors} open files, and the limit is {}: name fewer cases, or raise it with \
                 'ulimit -Hn {descriptors}' if that is permitted",
                self.descriptors
            );
        }
        match self.processes {
            Some(most) if processes > most => bail!(
                "{cases} cases need {processes} processes, and the limit leaves {most}: name fewer cases, or raise it \
                 ('ulimit -u', or pids.max of the control group)"
            ),
            _ => Ok(()),
        }
    }
}

fn set(soft: u64, hard: u64) -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)
}

/// The user's other processes count too, but cannot all be seen. Root has no such limit (setrlimit(2)).
fn of_user() -> Option<u64> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    (super::owner::effective_user() != 0 && soft != RLIM_INFINITY).then_some(soft)
}

fn of_group(sources: &Sources) -> Option<u64> {
    fn number(sources: &Sources, path: &str) -> Option<u64> {
        sources.text(path)?.parse().ok()
    }

    cgroup::directories(sources, "pids")
        .iter()
        .filter_map(|group| {
            // `max` is not a number: such a group has no limit.
            let most = number(sources, &format!("{group}/pids.max"))?;
            Some(most.saturating_sub(number(sources, &format!("{group}/pids.current"))?))
        })
        .min()
}

/// 0 if not known.
pub fn open_descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

#[derive(Clone, Copy)]
pub struct Raised {
    soft: u64,
    hard: u64,
}

/// Raises the limit on descriptors as far as is permitted; `None` if it is high enough.
pub fn raise(descriptors: u64) -> Result<Option<Raised>> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("getrlimit")?;
    if soft >= descriptors {
        return Ok(None);
    }
    let wanted = descriptors.min(hard);
    set(wanted, hard).with_context(|| format!("cannot raise the open-file limit to {wanted}"))?;
    Ok(Some(Raised { soft, hard }))
}

impl Raised {
    /// Gives the program that `command` starts the limit from before: some calls are slower with a larger table of descriptors.
    #[allow(unsafe_code)]
    pub fn undo_for(self, command: &mut Command) {
        // SAFETY: between fork and exec, this makes one system call (setrlimit(2)), allocates nothing and takes no
        // lock.
        unsafe { command.pre_exec(move || Ok(set(self.soft, self.hard)?)) };
    }
}

/// The text to append to an error of starting a process; empty if it does not come from a limit.
pub fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            "; there are too many processes: see 'ulimit -u' and pids.max of the control group"
        }
        Some(libc::EMFILE) => "; too many files are open: see 'ulimit -n'",
        Some(libc::ENOMEM) => "; there is too little memory: name fewer cases",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn the_tightest_group_limits_processes() {
        let (_keep, sources) = tree(&[
            ("proc/self/cgroup", "5:pids:/a/b\n0::/\n"),
            ("sys/fs/cgroup/pids/a/b/pids.max", "max\n"),
            ("sys/fs/cgroup/pids/a/b/pids.current", "3\n"),
            ("sys/fs/cgroup/pids/a/pids.max", "100\n"),
            ("sys/fs/cgroup/pids/a/pids.current", "30\n"),
        ]);
        assert_eq!(of_group(&sources), Some(70));
        assert_eq!(of_group(&tree(&[]).1), None);
    }
}
