//! What threads did: the time of each, what it waited for, and the requests that it answered.

use super::DescriptorKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of threads: at each moment, each of them is in one of these states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadTime {
    /// On a CPU.
    pub ran_ns: u64,
    /// Runnable: waiting for a CPU.
    pub runnable_ns: u64,
    /// Neither.
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
    /// Its own name.
    pub name: String,
    /// Whether it had ended before tracing did.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// While it was traced.
    #[serde(flatten)]
    pub time: ThreadTime,
    /// The call that it was in when tracing ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenCall>,
}

/// A call that has not returned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpenCall {
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// Whether it was entered before tracing began.
    pub before: bool,
    /// How long it had been seen.
    pub elapsed_ns: u64,
    /// As in `waits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Whether it waits for a lock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lock: bool,
    /// The thread that holds the lock, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<u32>,
    /// The function that waits: the first one outside of the C library and the language's runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// Blocked time of one call, by what it waited for. Of short waits eBPF counts a sample, so that these counts are estimates; ptrace
/// leaves out those below 0.1 ms and does not see who ended a wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCount {
    /// Name of the processes; empty if unknown.
    #[serde(default)]
    pub process: String,
    /// The thread; absent if it is not known, or too many were there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// Kind of the call's descriptor; of poll and epoll, of one that was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<DescriptorKind>,
    /// What the call was made on: a path, the address of the socket's peer, or a futex; `own` and the socket's own address if it has no
    /// peer, `clients of` and its own address if its peer is one.
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
    /// The function that waited: the first one outside of the C library and the language's runtime; absent if stacks are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// How many calls waited so.
    pub calls: u64,
    /// Time until the wake-up.
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

/// Requests that processes of one name answered: from a receive on a connection that they accepted to the next send on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Requests {
    /// Name of the processes; empty if unknown.
    pub process: String,
    /// How many.
    pub requests: u64,
    /// Those whose answer was held back behind data that was not acknowledged, until a delayed acknowledgement came (Nagle's algorithm).
    #[serde(skip_serializing_if = "super::profile::is_zero")]
    pub delayed: u64,
    /// From the receive to the send, summed.
    pub elapsed_ns: u64,
    /// Those that the thread answered that received them. What follows is of these, and of their thread meanwhile.
    pub by_one_thread: u64,
    #[serde(flatten)]
    pub time: ThreadTime,
}

impl Requests {
    pub fn add(&mut self, more: &Requests) {
        self.requests = self.requests.saturating_add(more.requests);
        self.delayed = self.delayed.saturating_add(more.delayed);
        self.elapsed_ns = self.elapsed_ns.saturating_add(more.elapsed_ns);
        self.by_one_thread = self.by_one_thread.saturating_add(more.by_one_thread);
        self.time.add(&more.time);
    }
}

/// In place of a call's name: the durations of requests.
pub const REQUEST: &str = "[request]";
