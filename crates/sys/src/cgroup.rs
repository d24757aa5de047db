//! The files of this process's control groups, of either version. Inside a container, neither the path that the kernel names nor
//! its ancestors need be visible: whatever exists is read, from the path upwards.

use super::Sources;

/// The directories of this process's group with that controller, such as `cpu`, and of its ancestors up to the mount, in
/// both versions' places; most of them need not exist.
pub fn directories(sources: &Sources, controller: &str) -> Vec<String> {
    sources
        .text("proc/self/cgroup")
        .unwrap_or_default()
        .lines()
        .flat_map(|line| of_line(line, controller))
        .collect()
}

/// The directories for a line such as `0::/a/b` (version 2) or `4:cpu,cpuacct:/a/b` (version 1).
fn of_line(line: &str, controller: &str) -> Vec<String> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let mounts = match controllers {
        "" => ["unified", ""],
        some if some.split(',').any(|one| one == controller) => [controller, controllers],
        _ => return Vec::new(),
    };
    // `/a/b`, `/a`, and nothing for the mount itself.
    let upwards = std::iter::successors(Some(path.trim_end_matches('/')), |path| {
        Some(&path[..path.rfind('/')?])
    });
    mounts
        .into_iter()
        .flat_map(|mount| {
            upwards
                .clone()
                .map(move |path| format!("sys/fs/cgroup/{mount}{path}"))
        })
        .collect()
}
