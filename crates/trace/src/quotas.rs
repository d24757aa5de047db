//! Whether a quota of CPU time stopped what is traced: the statistics of its control groups, before and after (cgroups(7)).

use super::mounts::mount;
use super::target::Running;
use super::tracer::Root;
use model::Throttled;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::proc_stat;

const STATISTICS: &str = "cpu.stat";

#[derive(Clone, Copy, Default)]
struct Counts {
    periods: u64,
    throttled: u64,
    ns: u64,
}

/// Control groups with their statistics at one moment.
pub struct Quotas(BTreeMap<PathBuf, Counts>);

impl Quotas {
    /// Of the groups that these processes are in, and of those around them.
    pub fn around(root: &Root) -> Quotas {
        let groups: Vec<PathBuf> = match root {
            Root::Running(Running::Cgroup(group)) => {
                group.ancestors().map(Path::to_path_buf).collect()
            }
            _ => root
                .processes()
                .iter()
                .flat_map(|pid| groups(Path::new("/"), *pid))
                .collect(),
        };
        Quotas::counted(groups)
    }

    fn counted(groups: Vec<PathBuf>) -> Quotas {
        let counted = groups.into_iter().filter_map(|group| {
            let counts = counts(&group)?;
            Some((group, counts))
        });
        Quotas(counted.collect())
    }

    /// What has stopped it most since then; `None` if nothing has.
    pub fn throttled(&self) -> Option<Throttled> {
        let since = self.0.iter().filter_map(|(group, before)| {
            let now = counts(group)?;
            Some(Throttled {
                by: quota(group)?.display().to_string(),
                periods: now.periods.checked_sub(before.periods)?,
                throttled: now.throttled.checked_sub(before.throttled)?,
                throttled_ns: now.ns.checked_sub(before.ns)?,
            })
        });
        since
            .filter(|own| own.throttled > 0)
            .max_by_key(|own| own.throttled)
    }
}

/// The file that sets it, in version 2 and 1.
fn quota(group: &Path) -> Option<PathBuf> {
    let files = ["cpu.max", "cpu.cfs_quota_us"].map(|name| group.join(name));
    files.into_iter().find(|file| file.exists())
}

fn counts(group: &Path) -> Option<Counts> {
    let text = proc_stat::read(group.join(STATISTICS)).ok()?;
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(own, _)| *own == name)?.1.trim().parse().ok()
    };
    let in_us = |us: u64| us.saturating_mul(1000);
    Some(Counts {
        periods: value("nr_periods")?,
        throttled: value("nr_throttled")?,
        ns: value("throttled_usec")
            .map(in_us)
            .or_else(|| value("throttled_time"))?,
    })
}

/// The directories of those that a process is in, in the hierarchies that can have quotas.
fn groups(root: &Path, pid: u32) -> Vec<PathBuf> {
    let read = |path: String| proc_stat::read(root.join(path)).unwrap_or_default();
    let (own, mounts) = (
        read(format!("proc/{pid}/cgroup")),
        read("proc/self/mountinfo".into()),
    );
    let found = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, Path::new(parts.next()?));
        let has_cpu = |list: &str| list.split(',').any(|name| name == "cpu");
        let mount = mounts
            .lines()
            .filter_map(mount)
            .find(|mount| match mount.kind {
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
    found.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_group_that_was_stopped_most_is_named() {
        for (mounts, own, group, file, ns) in [
            (
                "24 1 0:23 / /c rw - cgroup2 none rw",
                "0::/a/b\n",
                "c/a",
                "cpu.max",
                "throttled_usec",
            ),
            (
                "23 1 0:22 / /cpu rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n24 1 0:23 / /c rw - cgroup2 none rw",
                "4:cpu,cpuacct:/a/b\n3:memory:/x\n0::/\n",
                "cpu/a",
                "cpu.cfs_quota_us",
                "throttled_time",
            ),
            // As a container sees its own.
            (
                "23 1 0:22 /docker/7 /cpu rw - cgroup cgroup rw,cpu",
                "4:cpu:/docker/7/a\n",
                "cpu/a",
                "cpu.cfs_quota_us",
                "throttled_time",
            ),
        ] {
            let machine = tempfile::tempdir().unwrap();
            let at = |name: &str| machine.path().join(name);
            let write = |name: &str, text: &str| {
                fs::create_dir_all(at(name).parent().unwrap()).unwrap();
                fs::write(at(name), text).unwrap();
            };
            write("proc/self/mountinfo", mounts);
            write("proc/5/cgroup", own);
            write(&format!("{group}/{file}"), "50000 100000\n");
            let counts = |periods: u64, throttled: u64| {
                let text = format!(
                    "usage_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\n{ns} 7\n"
                );
                write(&format!("{group}/cpu.stat"), &text);
            };
            counts(10, 3);
            let quotas = Quotas::counted(groups(machine.path(), 5));
            counts(10, 3);
            assert_eq!(quotas.throttled(), None);
            counts(30, 22);
            let found = quotas.throttled().unwrap();
            let quota = at(group).join(file).display().to_string();
            assert_eq!((found.by, found.periods, found.throttled), (quota, 20, 19));
        }
    }

    #[test]
    fn a_process_that_is_gone_has_no_groups() {
        let machine = tempfile::tempdir().unwrap();
        assert_eq!(groups(machine.path(), 5), Vec::<PathBuf>::new());
    }
}
