//! The CPU time that the control group may use, in either version. Limits of ancestors apply as well: the tightest counts.

use super::Sources;
use crate::cgroup;

/// Such as 1.5; `None` if there is no visible limit.
pub fn cpus(sources: &Sources) -> Option<f64> {
    let groups = cgroup::directories(sources, "cpu");
    groups
        .iter()
        .filter_map(|group| limit_2(sources, group).or_else(|| limit_1(sources, group)))
        .reduce(f64::min)
}

fn limit_2(sources: &Sources, group: &str) -> Option<f64> {
    let text = sources.text(&format!("{group}/cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    share(quota.parse().ok()?, period.trim().parse().ok()?)
}

/// -1 means that there is no limit.
fn limit_1(sources: &Sources, group: &str) -> Option<f64> {
    let [quota, period] =
        ["quota", "period"].map(|name| sources.number(&format!("{group}/cpu.cfs_{name}_us")));
    share(quota?, period?)
}

/// Nanoseconds since this process's control groups were made: the longest of them; `None` without a visible limit.
pub fn throttled_ns(sources: &Sources) -> Option<u64> {
    cpus(sources)?;
    cgroup::directories(sources, "cpu")
        .iter()
        .filter_map(|group| {
            // Microseconds in version 2, nanoseconds in version 1.
            [("throttled_usec ", 1000), ("throttled_time ", 1)]
                .into_iter()
                .find_map(|(name, unit_ns)| {
                    let text = sources.field(&format!("{group}/cpu.stat"), name)?;
                    Some(text.parse::<u64>().ok()? * unit_ns)
                })
        })
        .max()
}

fn share(quota: f64, period: f64) -> Option<f64> {
    if quota > 0.0 && period > 0.0 {
        Some(quota / period)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn the_tightest_ancestor_counts_in_either_version() {
        let second = [
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ];
        let first = [
            ("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:cpuset:/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ];
        let none = [
            ("proc/self/cgroup", "1:cpu:/\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ];
        let garbage = [("proc/self/cgroup", "garbage\n")];
        let all = [&second[..], &first, &none, &garbage];
        assert_eq!(
            all.map(|files| cpus(&tree(files).1)),
            [Some(1.5), Some(0.5), None, None]
        );
    }

    #[test]
    fn the_time_that_limits_took_is_read_from_either_version() {
        let group = ("proc/self/cgroup", "0::/a\n");
        let second = [
            group,
            ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            (
                "sys/fs/cgroup/a/cpu.stat",
                "usage_usec 9\nnr_throttled 2\nthrottled_usec 70\n",
            ),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
        ];
        let first = [
            ("proc/self/cgroup", "4:cpu:/x\n"),
            ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"),
            (
                "sys/fs/cgroup/cpu/x/cpu.stat",
                "nr_periods 3\nnr_throttled 2\nthrottled_time 800\n",
            ),
        ];
        assert_eq!(
            [&second[..], &first, &[group]].map(|files| throttled_ns(&tree(files).1)),
            [Some(70_000), Some(800), None]
        );
    }
}
