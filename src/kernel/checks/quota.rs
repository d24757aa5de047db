//! How much CPU time the control group may use, in either version of control groups.
//!
//! A limit of any ancestor holds as well, so the tightest one counts. Inside a container the ancestors may not be
//! visible, nor the path that the kernel names: what is there is read, from the path upwards.

use super::Sources;

/// CPUs' worth of time; `None` for no limit, or none that can be seen.
pub fn cpus(sources: &Sources) -> Option<f64> {
    let text = sources.text("proc/self/cgroup").unwrap_or_default();
    let limits = text.lines().flat_map(|line| group_limits(sources, line));
    limits.reduce(f64::min)
}

/// All limits along a line such as `0::/a/b` (version 2) or `4:cpu,cpuacct:/a/b` (version 1).
fn group_limits(sources: &Sources, line: &str) -> Vec<f64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let unified = controllers.is_empty();
    if !unified && !controllers.split(',').any(|controller| controller == "cpu") {
        return Vec::new();
    }
    let mounts = if unified { vec!["unified".into(), String::new()] } else { vec!["cpu".into(), controllers.into()] };
    let read = if unified { limit_2 } else { limit_1 };
    let groups = mounts.iter().flat_map(|mount| upwards(path).map(move |path| format!("sys/fs/cgroup/{mount}{path}")));
    groups.filter_map(|group| read(sources, &group)).collect()
}

/// `/a/b`, `/a`, and nothing for the mount itself.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path.trim_end_matches('/')), |path| parent(path))
}

fn parent(path: &str) -> Option<&str> {
    path.rfind('/').map(|slash| &path[..slash])
}

/// `MICROSECONDS PERIOD`, or `max PERIOD`.
fn limit_2(sources: &Sources, group: &str) -> Option<f64> {
    let text = sources.text(&format!("{group}/cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    share(quota.parse().ok()?, period.trim().parse().ok()?)
}

/// A quota of -1 is no limit.
fn limit_1(sources: &Sources, group: &str) -> Option<f64> {
    let number = |name: &str| sources.number(&format!("{group}/cpu.cfs_{name}_us"));
    share(number("quota")?, number("period")?)
}

fn share(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fake::tree;

    #[test]
    fn the_tightest_ancestor_counts() {
        let (_keep, sources) = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ]);
        assert_eq!(cpus(&sources), Some(1.5));
    }

    #[test]
    fn the_first_version_is_read_too() {
        let (_keep, sources) = tree(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:cpuset:/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(cpus(&sources), Some(0.5));
    }

    #[test]
    fn no_limit_is_none() {
        let files = [("proc/self/cgroup", "1:cpu:/\n0::/\n"), ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")];
        assert_eq!(cpus(&tree(&files).1), None);
        assert_eq!(cpus(&tree(&[("proc/self/cgroup", "garbage\n")]).1), None);
    }
}
