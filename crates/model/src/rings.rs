//! Requests of io_uring.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests of io_uring that completed in one way. Only the first completion of a request is counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RingCount {
    /// Name of the processes; empty if unknown.
    pub process: String,
    /// The opcode's name, such as `read`.
    pub operation: String,
    pub way: RingWay,
    /// Number of requests.
    pub requests: u64,
    /// Nanoseconds from submission to completion, summed over requests.
    pub elapsed_ns: u64,
}

/// How a request completed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RingWay {
    /// Before the call that submitted it waited or returned.
    #[default]
    Inline,
    /// Later, when its data arrived or its device had answered.
    Later,
    /// By a worker thread of the kernel.
    Worker,
}

/// By opcode: include/uapi/linux/io_uring.h, up to Linux 6.18.
const OPERATIONS: &str = "nop readv writev fsync read_fixed write_fixed poll_add poll_remove sync_file_range sendmsg recvmsg timeout \
    timeout_remove accept async_cancel link_timeout connect fallocate openat close files_update statx read write fadvise madvise send \
    recv openat2 epoll_ctl splice provide_buffers remove_buffers tee shutdown renameat unlinkat mkdirat symlinkat linkat msg_ring \
    fsetxattr setxattr fgetxattr getxattr socket uring_cmd send_zc sendmsg_zc read_multishot waitid futex_wait futex_wake futex_waitv \
    fixed_fd_install ftruncate bind listen recv_zc epoll_wait readv_fixed writev_fixed pipe";

/// A newer one is `opcode N`.
pub fn ring_operation(opcode: u16) -> String {
    let name = OPERATIONS.split(' ').nth(opcode.into());
    name.map_or_else(|| format!("opcode {opcode}"), str::to_string)
}

/// The name under which durations of such requests are stored, in place of a call's name.
pub fn ring_latency(operation: &str) -> String {
    format!("[io_uring {operation}]")
}
