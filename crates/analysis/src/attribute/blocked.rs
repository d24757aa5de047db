//! Why a thread was blocked: whether it waited for work, or something held it up. Pure, by a table.
//!
//! Signs: a connection that the process accepted is a client's, one that it opened a server's. A thread that received something from a
//! client and has sent nothing yet has work: whatever it waits for holds it up. The waker distinguishes a parent that hands out work from
//! another process that was asked.

use super::waits::Reason;
use Because::{
    Children, Clients, Connections, Disk, Handover, Input, Lock, Other, Peer as Asked, Process,
    Reader, Signals, Sleep, Thread, Timer,
};
use model::syscall_names::bare_name;
use model::{Class, Peer, WaitCount, Waker};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a thread was blocked. The first eight hold it up, the others are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// A lock held by another thread.
    Lock,
    /// Another thread of the process.
    Thread,
    /// Another traced process.
    Process,
    /// A file, a directory or a disk.
    Disk,
    /// A server that the process connected to.
    Peer,
    /// A reader that does not keep up: a full pipe or socket.
    Reader,
    /// A sleep or a timeout with work to do.
    Sleep,
    /// Something else.
    Other,
    /// Data from a connected client.
    Clients,
    /// New connections.
    Connections,
    /// Work from another thread or process, such as through a condition variable of a pool.
    Handover,
    /// Input from a terminal, or from a process that is not traced.
    Input,
    /// A timer: a sleep, or a wait that timed out.
    Timer,
    /// A child process to exit.
    Children,
    /// A signal.
    Signals,
}

impl Because {
    pub fn is_idle(self) -> bool {
        self >= Clients
    }
}

/// The facts about a wait that the rules test.
struct Known {
    reason: Reason,
    peer: Option<Peer>,
    waker: Option<Waker>,
    call: &'static [&'static str],
    sends: bool,
    lock: bool,
    asked: bool,
    timeout: bool,
}

type Rule = (fn(&Known) -> bool, Because);

// Certain facts come first: locks and timers, then who is at the other end, then who ended the wait.
/// The first rule that matches decides.
const RULES: &[Rule] = &[
    (|it| it.lock || it.call == LOCKS, Lock),
    (|it| it.call == SIGNALS, Signals),
    (|it| it.reason == Reason::Disk, Disk),
    (
        |it| it.asked && (it.timeout || it.reason == Reason::Timer),
        Sleep,
    ),
    (|it| it.timeout || it.reason == Reason::Timer, Timer),
    (|it| it.peer == Some(Peer::Anybody), Connections),
    (|it| it.peer == Some(Peer::Server), Asked),
    (|it| it.sends, Reader),
    (|it| it.peer == Some(Peer::Client), Clients),
    (|it| it.reason == Reason::Children && !it.asked, Children),
    (|it| it.asked && it.waker == Some(Waker::Thread), Thread),
    (
        |it| it.asked && (it.waker.is_some() || it.reason == Reason::Children),
        Process,
    ),
    (
        |it| it.waker == Some(Waker::Traced) && it.is_stream(),
        Process,
    ),
    (
        |it| {
            matches!(
                it.waker,
                Some(Waker::Thread | Waker::Parent | Waker::Traced)
            )
        },
        Handover,
    ),
    (|it| it.asked && it.reason == Reason::Lock, Thread),
    (
        |it| matches!(it.reason, Reason::Lock | Reason::Events),
        Handover,
    ),
    (|it| it.is_stream() || it.reason == Reason::Terminal, Input),
    (|_| true, Other),
];

/// Calls that wait for a lock, whether the tracer knows it or not.
const LOCKS: &[&str] = &["flock", "fcntl", "fcntl64", "semop", "semtimedop"];
const SIGNALS: &[&str] = &["rt_sigtimedwait", "rt_sigsuspend", "sigsuspend", "pause"];
/// The beginnings of calls that send.
const SENDING: &[&str] = &[
    "write",
    "pwrite",
    "send",
    "splice",
    "vmsplice",
    "mq_timedsend",
    "msgsnd",
];

impl Known {
    fn from_wait(wait: &WaitCount) -> Known {
        let call = bare_name(&wait.call);
        let groups = [LOCKS, SIGNALS].into_iter();
        let mut groups = groups.filter(|calls| calls.contains(&call));
        Known {
            reason: reason(wait),
            peer: wait.peer,
            waker: wait.waker,
            call: groups.next().unwrap_or_default(),
            sends: SENDING.iter().any(|begin| call.starts_with(begin)),
            lock: wait.lock,
            asked: wait.asked,
            timeout: wait.timeout,
        }
    }

    fn is_stream(&self) -> bool {
        matches!(self.reason, Reason::Pipe | Reason::Socket)
    }
}

/// The kind of thing that a call waits for, by its name and the kind of descriptor.
pub fn reason(wait: &WaitCount) -> Reason {
    let class = Class {
        descriptor: wait.descriptor,
        ..Class::default()
    };
    Reason::from_call(&wait.call, &class)
}

/// By the first of the rules that matches.
pub fn because(wait: &WaitCount) -> Because {
    let known = Known::from_wait(wait);
    let rule = RULES.iter().find(|(fits, _)| fits(&known));
    rule.map_or(Other, |(_, because)| *because)
}
