//! Which calls an io_uring carries, and what a request costs in it: a table and its look-up. Pure; `bounds`, a rule of advice and
//! `needs` read it.
//!
//! Source: io_uring_enter(2), which lists the operations and since when there are, and measurements of this machine (METHOD.md).

use crate::attribute::costs::{Costs, UnitCost};

/// The operation that measures a request which does nothing: put, submitted, completed and taken.
pub const OPERATION: &str = "event.uring_nop";

/// Its parameter: requests for each kernel entry.
pub const PARAMETER: &str = "batch";

/// The batches that `run --for` measures.
pub const BATCHES: &[u64] = &[1, 8, 32];

/// Calls that a ring carries and completes in the entry that submits them, unless they would wait.
pub const CARRIED: &[&str] = &[
    "read",
    "pread64",
    "readv",
    "preadv",
    "preadv2",
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendto",
    "sendmsg",
    "accept",
    "accept4",
    "connect",
    "socket",
    "poll",
    "ppoll",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "openat",
    "openat2",
    "close",
];

/// Calls that a ring takes and hands to a thread of the kernel, because they may wait in a file system: that costs more than the
/// crossing that it saves.
pub const HANDED_OVER: &[&str] = &[
    "fsync",
    "fdatasync",
    "sync_file_range",
    "fallocate",
    "ftruncate",
    "statx",
    "renameat",
    "renameat2",
    "unlinkat",
    "mkdirat",
    "symlinkat",
    "linkat",
    "getxattr",
    "fgetxattr",
    "setxattr",
    "fsetxattr",
    "splice",
    "tee",
    "madvise",
    "shutdown",
];

/// What a request costs at one size of batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    pub batch: u64,
    pub cost: UnitCost,
}

/// The cost of a request at each measured size of batch, ascending; empty where none was measured.
pub fn requests(costs: &Costs) -> Vec<Request> {
    let each = |(batch, whole): (u64, UnitCost)| Request {
        batch,
        cost: UnitCost { ns: whole.ns / batch.max(1) as f64, ..whole },
    };
    costs.over(OPERATION, PARAMETER).into_iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall_names::is_known;

    #[test]
    fn every_call_is_known_and_listed_once() {
        let mut names = [CARRIED, HANDED_OVER].concat();
        let unknown: Vec<&&str> = names.iter().filter(|name| !is_known(name)).collect();
        assert_eq!(unknown, [&"recv", &"send"], "only other architectures have these");
        names.sort_unstable();
        let twice: Vec<&[&str]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
