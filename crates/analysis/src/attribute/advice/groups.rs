//! The calls of a profile by what they are made for: what there is to say where no rule applies.

use super::caller::{
    FORKS, FUTEX, OPENS, POLLS, STATS, SYNCS, UNLINKS, WRITES, added, is_one_of, s,
};
use model::{CallCount, Profile};

#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub items: &'static str,
    pub calls: u64,
    /// On a CPU, and waiting while nothing else ran.
    pub takes_s: f64,
}

const KINDS: &[(&str, &[&str])] = &[
    ("processes", &[FORKS, "execve execveat exit_group exit"]),
    ("opens and closes", &[OPENS, "close close_range"]),
    (
        "lookups",
        &[STATS, "access faccessat faccessat2 readlink readlinkat"],
    ),
    (
        "directory changes",
        &[
            UNLINKS,
            "mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat",
        ],
    ),
    ("directory listings", &["getdents64 getdents"]),
    ("syncs", &[SYNCS]),
    ("locks", &[FUTEX, "flock fcntl"]),
    (
        "reads",
        &["read readv pread64 preadv preadv2 sendfile copy_file_range splice"],
    ),
    ("writes", &[WRITES, "ftruncate fallocate"]),
    (
        "messages",
        &["sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg connect accept accept4 socket"],
    ),
    (
        "memory mappings",
        &["mmap munmap mprotect brk madvise mremap"],
    ),
    (
        "queries about itself",
        &[
            "getrusage times getpid gettid getppid clock_gettime gettimeofday sysinfo prlimit64 getcwd",
        ],
    ),
    (
        "polls and sleeps",
        &[POLLS, "nanosleep clock_nanosleep sched_yield"],
    ),
];

/// By time, or by calls where no times are known; and the share of the wall time of all calls.
pub fn largest(profile: &Profile, most: usize) -> (Vec<Group>, Option<f64>) {
    let takes = |count: &CallCount| {
        s(added(
            [count.on_cpu_ns, count.stalled_ns].into_iter().flatten(),
        ))
    };
    let group = |(items, names): &(&'static str, &[&str])| {
        let own: CallCount = profile
            .calls()
            .filter(|count| names.iter().any(|names| is_one_of(count, names)))
            .sum();
        Group {
            items,
            calls: own.calls,
            takes_s: takes(&own),
        }
    };
    let mut groups: Vec<Group> = KINDS
        .iter()
        .map(group)
        .filter(|group| group.calls > 0)
        .collect();
    groups.sort_by(|a, b| b.takes_s.total_cmp(&a.takes_s).then(b.calls.cmp(&a.calls)));
    groups.truncate(most);
    let sum = profile.all_calls();
    let share = profile
        .usage
        .wall_ns
        .filter(|wall| *wall > 0 && sum.on_cpu_ns.is_some());
    (groups, share.map(|wall| takes(&sum) / s(wall)))
}
