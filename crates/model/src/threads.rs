//! Thread time by state, waits, and the requests that threads answered.

use super::DescriptorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Thread time by scheduler state, in nanoseconds; the three add up to threads x elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadTime {
    /// On a CPU.
    pub ran_ns: u64,
    /// Runnable: waiting for a CPU.
    pub runnable_ns: u64,
    /// Blocked: neither running nor runnable.
    pub blocked_ns: u64,
}

impl ThreadTime {
    pub fn add(&mut self, more: &ThreadTime) {
        self.ran_ns = self.ran_ns.saturating_add(more.ran_ns);
        self.runnable_ns = self.runnable_ns.saturating_add(more.runnable_ns);
        self.blocked_ns = self.blocked_ns.saturating_add(more.blocked_ns);
    }

    pub fn all_ns(&self) -> u64 {
        [self.runnable_ns, self.blocked_ns]
            .into_iter()
            .fold(self.ran_ns, u64::saturating_add)
    }
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Thread {
    /// The name of its process.
    pub process: String,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's own name (comm).
    pub name: String,
    /// Whether the thread exited before tracing ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// While it was traced.
    #[serde(flatten)]
    pub time: ThreadTime,
    /// The system call that was in progress when tracing ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenCall>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessName {
    /// Its number.
    pub pid: u32,
    /// Its name; empty if unknown.
    pub name: String,
}

/// A call that has not returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpenCall {
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// Whether the call was entered before tracing began.
    pub before: bool,
    /// Nanoseconds since the call, or tracing if that is later, began.
    pub elapsed_ns: u64,
    /// The object, as in `waits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Whether it waits for a lock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lock: bool,
    /// The thread that holds the lock, or the process for a lock on a file, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<u32>,
    /// The processes that hold the lock on a file, or have the other end of a pipe open: at most three.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<ProcessName>,
    /// The process that took the lock on a file and has ended, if nobody is known to hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<u32>,
    /// The waiting function: the first frame outside the C library and the language runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// Blocked time of a call, by what it waited for. eBPF samples short waits, so these counts are estimates; ptrace leaves out waits below
/// 0.1 ms and does not see who ended a wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCount {
    /// Name of the processes; empty if unknown.
    #[serde(default)]
    pub process: String,
    /// The thread ID; absent if unknown, or if there were too many threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// Kind of the call's descriptor; of poll and epoll, of one that was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<DescriptorKind>,
    /// The object of the call: a path, the address of the socket's peer, or a futex's address and, if it is known, the
    /// name of its variable; `own` and the socket's own address if it has no peer, `clients of` and its own address if its peer is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Who is at the other end of a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Peer>,
    /// The process that ended the wait, by name; `thread` and the thread's name if it is the same process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Who that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waker: Option<Waker>,
    /// The call waited for a lock: a futex that one takes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lock: bool,
    /// The thread had received something from a client, and not sent anything to one since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// Nothing ended the wait before its timeout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timeout: bool,
    /// The call has not returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The waiting function: the first frame outside the C library and the language runtime; absent without stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Number of calls that waited.
    pub calls: u64,
    /// Nanoseconds until the wake-up.
    pub blocked_ns: u64,
    /// The part of it in which all threads were blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<u64>,
}

/// Who is at the other end of a socket.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// A client, whose connection was accepted.
    Client,
    /// Nobody yet: the socket listens, or is not connected.
    Anybody,
    /// A server that was connected to.
    Server,
}

/// Who ended a wait.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Waker {
    /// Another thread of the process.
    Thread,
    /// The parent of the process.
    Parent,
    /// Another traced process.
    Traced,
    /// A process that is not traced.
    Other,
}

/// Requests answered by processes of one name, by where clients connected: each runs from a receive on an accepted connection to the next
/// send on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Requests {
    /// Name of the processes; empty if unknown.
    pub process: String,
    /// `clients of` and the address that they connected to, as in `waits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Connections on which something was received or sent.
    #[serde(skip_serializing_if = "super::profile::is_zero")]
    pub connections: u64,
    /// Number of requests.
    pub requests: u64,
    /// Requests whose answer Nagle's algorithm held back until a delayed acknowledgement arrived.
    #[serde(skip_serializing_if = "super::profile::is_zero")]
    pub delayed: u64,
    /// Nanoseconds from receive to send, summed over requests.
    pub elapsed_ns: u64,
    /// Requests received and answered by the same thread. The fields below cover these requests and that thread.
    pub by_one_thread: u64,
    #[serde(flatten)]
    pub time: ThreadTime,
}

impl Requests {
    pub fn add(&mut self, more: &Requests) {
        self.connections = self.connections.saturating_add(more.connections);
        self.requests = self.requests.saturating_add(more.requests);
        self.delayed = self.delayed.saturating_add(more.delayed);
        self.elapsed_ns = self.elapsed_ns.saturating_add(more.elapsed_ns);
        self.by_one_thread = self.by_one_thread.saturating_add(more.by_one_thread);
        self.time.add(&more.time);
    }
}

/// Stands in for a call's name where durations of requests are stored.
pub const REQUEST: &str = "[request]";
