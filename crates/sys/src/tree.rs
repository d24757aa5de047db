//! A tree of running processes as /proc shows it. Only a tracer knows those that have ended.

use super::proc_stat::{self, ProcStat};
use super::status::Status;
use std::collections::BTreeSet;
use std::fs;
use std::str::FromStr;

/// Fails, with advice, if /proc shows another PID namespace than ours: it is that of whoever mounted it, which may be another one
/// after unshare(1) or in a misconfigured container.
pub fn check_numbers() -> Result<(), String> {
    const ADVICE: &str = "mount one for this namespace, as 'mount -t proc proc /proc' or 'unshare --pid --fork --mount-proc' do";
    let status = Status::read("/proc/self/status")
        .ok_or_else(|| format!("/proc does not show us: {ADVICE}"))?;
    if shows_other_numbers(&status) {
        return Err(format!("/proc shows another PID namespace: {ADVICE}"));
    }
    Ok(())
}

/// NSpid lists our PID in each namespace from that of /proc to our own: more than one if they differ. Kernels before
/// 4.1 do not have it.
fn shows_other_numbers(status: &Status) -> bool {
    status.numbers::<u32>("NSpid").count() > 1
}

/// A process and its descendants, without orphans that were reparented. Without this process and its children too: if `root` is the
/// shell that started us, we are not part of what is asked for.
pub fn processes(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = numbers("/proc")
        .into_iter()
        .filter(|pid| *pid != std::process::id())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    descendants(root, &parents)
}

/// The largest peak memory of a process and its descendants so far, in KiB; 0 if it is not known.
pub fn peak_rss_kib(root: u32) -> u64 {
    processes(root)
        .into_iter()
        .filter_map(|pid| Status::of_task(pid).number("VmHWM"))
        .max()
        .unwrap_or(0)
}

fn descendants(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    with_descendants(BTreeSet::from([root]), parents)
        .into_iter()
        .collect()
}

/// `members` and all that descends from them, by pairs of a process and its parent.
pub fn with_descendants(mut members: BTreeSet<u32>, parents: &[(u32, u32)]) -> BTreeSet<u32> {
    loop {
        let before = members.len();
        members.extend(
            parents
                .iter()
                .filter(|(_, parent)| members.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if members.len() == before {
            return members;
        }
    }
}

pub fn numbers<T: FromStr>(directory: &str) -> Vec<T> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    ProcStat::parse(&proc_stat::text(pid))?.parent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_in_any_order() {
        let parents = [(5, 4), (4, 2), (3, 1), (2, 1), (9, 7)];
        assert_eq!(descendants(2, &parents), [2, 4, 5]);
        assert_eq!(descendants(8, &parents), [8]);
    }

    #[test]
    fn a_proc_of_an_outer_namespace_is_known_by_its_two_numbers() {
        fn shows(text: &str) -> bool {
            shows_other_numbers(&Status(text.to_string()))
        }

        assert!(shows("Name:\ta\nNSpid:\t812\t4\n"));
        assert!(!shows("Name:\ta\nNSpid:\t4\n") && !shows("Name:\ta\n"));
    }
}
