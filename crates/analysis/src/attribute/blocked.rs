//! Why a thread was blocked: whether it waited for work, or something held it up. Pure, by a table.
//!
//! Signs: a connection that the process accepted is a client's, one that it opened a server's. A thread that received something from a
//! client and has sent nothing yet has work: whatever it waits for holds it up. Who ended a wait tells a parent that hands out work from
//! another process that was asked.

use super::waits::Reason;
use Because::{
    Children, Clients, Connections, Disk, Handover, Input, Lock, Other, Peer as Asked, Process,
    Reader, Signals, Sleep, Thread, Timer,
};
use model::{Class, Peer, WaitCount, Waker};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a thread was blocked. The first eight hold it up, the others are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// A lock that another thread had.
    Lock,
    /// Another thread of the process.
    Thread,
    /// Another traced process.
    Process,
    /// A file, a directory or a disk.
    Disk,
    /// A server that the process connected to.
    Peer,
    /// Somebody who does not read what was sent.
    Reader,
    /// It slept, or waited in vain, with work to do.
    Sleep,
    /// Something else.
    Other,
    /// Something from a client that is connected.
    Clients,
    /// New connections.
    Connections,
    /// Work from another thread or process, such as through a condition variable of a pool.
    Handover,
    /// Input from a terminal, or from a process that is not traced.
    Input,
    /// It slept, or its timeout ended the wait.
    Timer,
    /// The end of a child.
    Children,
    /// A signal.
    Signals,
}

impl Because {
    pub fn is_idle(self) -> bool {
        self >= Clients
    }
}

/// What is known of a wait. `None` in a rule: whatever it is.
#[derive(Clone, Copy)]
struct Rule {
    reasons: &'static [Reason],
    lock: Option<bool>,
    asked: Option<bool>,
    timeout: Option<bool>,
    sends: Option<bool>,
    peer: Option<Peer>,
    wakers: &'static [Option<Waker>],
    because: Because,
}

const ANY: Rule = Rule {
    reasons: &[],
    lock: None,
    asked: None,
    timeout: None,
    sends: None,
    peer: None,
    wakers: &[],
    because: Other,
};
const ASKED: Rule = Rule {
    asked: Some(true),
    ..ANY
};
const SENDS: Rule = Rule {
    sends: Some(true),
    because: Reader,
    ..ANY
};

const fn by(wakers: &'static [Option<Waker>], because: Because, rule: Rule) -> Rule {
    Rule {
        wakers,
        because,
        ..rule
    }
}

const fn in_(reasons: &'static [Reason], because: Because, rule: Rule) -> Rule {
    Rule {
        reasons,
        because,
        ..rule
    }
}

const fn with(peer: Peer, because: Because) -> Rule {
    Rule {
        peer: Some(peer),
        because,
        ..ANY
    }
}

/// The first that fits.
const RULES: &[Rule] = &[
    Rule {
        lock: Some(true),
        because: Lock,
        ..ANY
    },
    in_(&[Reason::Disk], Disk, ANY),
    in_(&[Reason::Timer], Sleep, ASKED),
    in_(&[Reason::Timer], Timer, ANY),
    Rule {
        timeout: Some(true),
        because: Sleep,
        ..ASKED
    },
    Rule {
        timeout: Some(true),
        because: Timer,
        ..ANY
    },
    with(Peer::Anybody, Connections),
    Rule {
        peer: Some(Peer::Client),
        ..SENDS
    },
    with(Peer::Client, Clients),
    with(Peer::Server, Asked),
    in_(&[Reason::Children], Process, ASKED),
    in_(&[Reason::Children], Children, ANY),
    by(&[Some(Waker::Thread)], Thread, ASKED),
    by(
        &[Some(Waker::Parent), Some(Waker::Traced), Some(Waker::Other)],
        Process,
        ASKED,
    ),
    SENDS,
    by(&[Some(Waker::Thread), Some(Waker::Parent)], Handover, ANY),
    Rule {
        reasons: &[Reason::Pipe, Reason::Socket],
        ..by(&[Some(Waker::Traced)], Process, ANY)
    },
    by(&[Some(Waker::Traced)], Handover, ANY),
    in_(&[Reason::Lock], Thread, ASKED),
    in_(&[Reason::Lock, Reason::Events], Handover, ANY),
    in_(
        &[Reason::Pipe, Reason::Socket, Reason::Terminal],
        Input,
        ANY,
    ),
];

/// They wait for a lock, whatever the tracer knows of it.
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

pub fn reason(wait: &WaitCount) -> Reason {
    let class = Class {
        descriptor: wait.descriptor,
        ..Class::default()
    };
    Reason::from_call(&wait.call, &class)
}

pub fn because(wait: &WaitCount) -> Because {
    let call = model::syscall_names::bare_name(&wait.call);
    if SIGNALS.contains(&call) {
        return Signals;
    }
    if LOCKS.contains(&call) {
        return Lock;
    }
    let sends = SENDING.iter().any(|begin| call.starts_with(begin));
    let reason = reason(wait);
    let fits = |asked: Option<bool>, is: bool| asked.is_none_or(|asked| asked == is);
    let rule = RULES.iter().find(|rule| {
        (rule.reasons.is_empty() || rule.reasons.contains(&reason))
            && fits(rule.lock, wait.lock)
            && fits(rule.asked, wait.asked)
            && fits(rule.timeout, wait.timeout)
            && fits(rule.sends, sends)
            && (rule.peer.is_none() || rule.peer == wait.peer)
            && (rule.wakers.is_empty() || rule.wakers.contains(&wait.waker))
    });
    rule.map_or(Other, |rule| rule.because)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::DescriptorKind;

    fn wait(call: &str) -> WaitCount {
        WaitCount {
            call: call.into(),
            ..WaitCount::default()
        }
    }

    fn asked(wait: WaitCount) -> WaitCount {
        WaitCount {
            asked: true,
            ..wait
        }
    }

    fn from(waker: Waker, wait: WaitCount) -> WaitCount {
        WaitCount {
            waker: Some(waker),
            ..wait
        }
    }

    fn at(peer: Peer, call: &str) -> WaitCount {
        WaitCount {
            peer: Some(peer),
            descriptor: Some(DescriptorKind::Socket),
            ..wait(call)
        }
    }

    fn pipe(call: &str) -> WaitCount {
        WaitCount {
            descriptor: Some(DescriptorKind::Pipe),
            ..wait(call)
        }
    }

    #[test]
    fn what_holds_a_thread_up_is_told_from_waiting_for_work() {
        let lock = WaitCount {
            lock: true,
            ..wait("futex")
        };
        let timeout = WaitCount {
            timeout: true,
            ..wait("poll")
        };
        for (wait, expected) in [
            (asked(lock.clone()), Lock),
            (lock, Lock),
            (wait("flock"), Lock),
            (from(Waker::Thread, wait("futex")), Handover),
            (asked(from(Waker::Thread, wait("futex"))), Thread),
            (asked(from(Waker::Traced, wait("futex"))), Process),
            (asked(from(Waker::Traced, wait("epoll_wait"))), Process),
            (from(Waker::Traced, wait("epoll_wait")), Handover),
            (wait("fdatasync"), Disk),
            (at(Peer::Client, "recvfrom"), Clients),
            (asked(at(Peer::Client, "epoll_wait")), Clients),
            (at(Peer::Client, "sendto"), Reader),
            (at(Peer::Anybody, "accept4"), Connections),
            (at(Peer::Anybody, "epoll_wait"), Connections),
            (asked(at(Peer::Server, "recvfrom")), Asked),
            (at(Peer::Server, "epoll_wait"), Asked),
            (wait("clock_nanosleep"), Timer),
            (asked(wait("clock_nanosleep")), Sleep),
            (asked(timeout.clone()), Sleep),
            (timeout, Timer),
            (from(Waker::Parent, pipe("read")), Handover),
            (from(Waker::Traced, pipe("read")), Process),
            (from(Waker::Other, pipe("read")), Input),
            (from(Waker::Traced, pipe("write")), Reader),
            (wait("wait4"), Children),
            (asked(wait("wait4")), Process),
            (wait("rt_sigsuspend"), Signals),
            (wait("epoll_wait"), Handover),
            (wait("keyctl"), Other),
        ] {
            assert_eq!(because(&wait), expected, "{wait:?}");
            assert_eq!(because(&wait).is_idle(), expected >= Clients);
        }
    }
}
