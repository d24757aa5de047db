//! Whether a quota of CPU time stopped the traced processes: the statistics of their control groups, before and after (cgroups(7)).

use super::mounts::mount;
use super::target::Running;
use super::tracer::Root;
use model::Throttled;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use sys::proc_stat;

pub struct Quotas(Vec<(PathBuf, Throttled)>);

impl Quotas {
    /// The statistics of the groups that these processes are in, and of those around them.
    pub fn around(root: &Root) -> Quotas {
        Quotas::counted(match root {
            Root::Running(Running::Cgroup(group)) => {
                let around = group.ancestors().map(Path::to_path_buf);
                // The quota may be in version 1, beside this hierarchy.
                let processes = proc_stat::read(group.join("cgroup.procs")).unwrap_or_default();
                let pids = processes.lines().filter_map(|pid| pid.parse().ok());
                around.chain(around_processes(pids)).collect()
            }
            _ => around_processes(root.processes().iter().copied()).collect(),
        })
    }

    fn counted(groups: BTreeSet<PathBuf>) -> Quotas {
        let counted = groups.into_iter().filter_map(|group| {
            let counts = counts(&group)?;
            Some((group, counts))
        });
        Quotas(counted.collect())
    }

    /// The quota that has stopped them most often since then; `None` if none has.
    pub fn throttled(&self) -> Option<Throttled> {
        let since = self.0.iter().filter_map(|(group, before)| {
            let now = counts(group)?;
            Some(Throttled {
                // A group that was removed and made again has smaller numbers: it is left out.
                periods: now.periods.checked_sub(before.periods)?,
                throttled: now.throttled.checked_sub(before.throttled)?,
                throttled_ns: now.throttled_ns.checked_sub(before.throttled_ns)?,
                ..now
            })
        });
        since
            .filter(|limits| limits.throttled > 0)
            .max_by_key(|limits| limits.throttled)
    }
}

fn around_processes(pids: impl Iterator<Item = u32>) -> impl Iterator<Item = PathBuf> {
    pids.flat_map(|pid| groups(Path::new("/"), pid))
}

fn counts(group: &Path) -> Option<Throttled> {
    let text = proc_stat::read(group.join("cpu.stat")).ok()?;
    let values: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, value)| Some((name, value.trim().parse().ok()?)))
        .collect();
    // In version 2, and in version 1, which counts nanoseconds.
    let files = ["cpu.max", "cpu.cfs_quota_us"].map(|name| group.join(name));
    let ns = values
        .get("throttled_usec")
        .map(|us| us.saturating_mul(1000));
    Some(Throttled {
        by: files
            .iter()
            .find(|file| file.exists())?
            .display()
            .to_string(),
        periods: *values.get("nr_periods")?,
        throttled: *values.get("nr_throttled")?,
        throttled_ns: ns.or_else(|| values.get("throttled_time").copied())?,
    })
}

/// The directories of the groups that a process is in and of those around them, in the hierarchies that can have quotas.
fn groups(root: &Path, pid: u32) -> BTreeSet<PathBuf> {
    fn has_cpu(list: &str) -> bool {
        list.split(',').any(|name| name == "cpu")
    }

    let [memberships, mounts] = [&format!("proc/{pid}/cgroup"), "proc/self/mountinfo"]
        .map(|path| proc_stat::read(root.join(path)).unwrap_or_default());
    let groups = memberships.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, Path::new(parts.next()?));
        let mount = mounts
            .lines()
            .filter_map(mount)
            .find(|mount| match mount.kind {
                // Version 2 has an empty list of controllers in /proc/PID/cgroup.
                "cgroup2" => controllers.is_empty(),
                "cgroup" => has_cpu(controllers) && has_cpu(mount.options),
                _ => false,
            })?;
        let top = root.join(mount.place.trim_start_matches('/'));
        let group = top.join(path.strip_prefix(&mount.root).ok()?);
        let around = group
            .ancestors()
            .take_while(|group| group.starts_with(&top));
        Some(around.map(Path::to_path_buf).collect::<Vec<_>>())
    });
    groups.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_group_that_was_stopped_most_is_named() {
        for (mounts, membership, group, file, ns) in [
            (
                "24 1 0:23 / /c rw - cgroup2 none rw",
                "0::/a/b\n",
                "c/a",
                "cpu.max",
                "throttled_usec",
            ),
            (
                "23 1 0:22 /d /cpu rw shared:4 - cgroup cgroup rw,cpu,cpuacct",
                "3:memory:/x\n4:cpu,cpuacct:/d/a/b\n0::/\n",
                "cpu/a",
                "cpu.cfs_quota_us",
                "throttled_time",
            ),
        ] {
            let machine = tempfile::tempdir().unwrap();
            let top = machine.path();
            for (path, text) in [
                ("proc/self/mountinfo", mounts),
                ("proc/5/cgroup", membership),
                (&format!("{group}/{file}"), "50000 100000\n"),
            ] {
                fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
                fs::write(top.join(path), text).unwrap();
            }
            let group = top.join(group);
            let set_counts = |periods: u64, throttled: u64| {
                let text = format!(
                    "usage_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\n{ns} 7\n"
                );
                fs::write(group.join("cpu.stat"), text).unwrap();
            };
            set_counts(10, 3);
            let quotas = Quotas::counted(groups(top, 5));
            set_counts(10, 3);
            assert!(quotas.throttled().is_none() && groups(top, 6).is_empty());
            set_counts(30, 22);
            let limits = quotas.throttled().unwrap();
            let quota = group.join(file).display().to_string();
            assert_eq!(
                (limits.by, limits.periods, limits.throttled),
                (quota, 20, 19)
            );
        }
    }
}
