//! Which waits a call can end, and by which calls its own waits end. Pure.

use model::{Drives, drives};

const FUTEX: u8 = 1;
/// Waits of a parent for its child.
const CHILD: u8 = 2;
/// Waits for bytes, or for somebody at the other end.
const DATA: u8 = 4;
/// Waits for a lock, a message or a signal.
const QUEUE: u8 = 8;

/// Calls, the waits that they can end, and the kinds of their own waits, besides those for bytes moved through descriptors.
const TABLE: &[(&str, u8, u8)] = &[
    ("exit exit_group", FUTEX | CHILD | DATA | QUEUE, 0),
    ("execve execveat", FUTEX | CHILD | DATA, 0),
    ("wait4 waitid waitpid vfork clone clone3", 0, CHILD),
    ("futex futex_time64 futex_wait futex_waitv", FUTEX, FUTEX),
    ("futex_wake futex_requeue", FUTEX, 0),
    (
        "close close_range dup2 dup3 shutdown listen epoll_ctl timerfd_settime timerfd_settime64",
        DATA | QUEUE,
        0,
    ),
    (
        "accept accept4 connect ioctl open openat openat2 io_uring_enter recvmmsg sendmmsg",
        DATA,
        DATA,
    ),
    (
        "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal",
        DATA | QUEUE,
        0,
    ),
    ("rt_sigtimedwait rt_sigtimedwait_time64", 0, QUEUE),
    (
        "flock fcntl fcntl64 ipc semop semtimedop semctl msgsnd msgrcv msgctl mq_timedsend mq_timedreceive",
        QUEUE,
        QUEUE,
    ),
];

/// The waits that a call can end, and in the upper half of the byte the kinds of its own waits.
pub fn waits(name: &str) -> u8 {
    let row = TABLE
        .iter()
        .find(|(names, ..)| names.split(' ').any(|known| known == name));
    let (_, ends, ended_by) = row.copied().unwrap_or_default();
    let (more_ends, more_ended_by) = match drives(name) {
        Some((Drives::Bytes, _)) => (DATA, DATA),
        Some((Drives::Set, _)) => (0, DATA),
        _ => (0, 0),
    };
    // The lower half is what the call ends, the upper half what ends its own waits (waits.h).
    ends | more_ends | (ended_by | more_ended_by) << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_by_calls_that_can_end_it() {
        fn ends(waker: &str, waiter: &str) -> bool {
            waits(waker) & waits(waiter) >> 4 != 0
        }

        for (waker, waiter) in [
            ("write", "read"),
            ("read", "write"),
            ("sendto", "epoll_wait"),
            ("close", "poll"),
            ("futex", "futex"),
            ("exit_group", "wait4"),
            ("execve", "vfork"),
            ("exit", "futex"),
            ("kill", "rt_sigtimedwait"),
            ("connect", "accept4"),
        ] {
            assert!(ends(waker, waiter), "{waker} {waiter}");
        }
        for (waker, waiter) in [
            ("getppid", "read"),
            ("mmap", "epoll_wait"),
            ("write", "clock_nanosleep"),
            ("write", "futex"),
            ("futex", "read"),
            ("exit", "nanosleep"),
            ("epoll_wait", "epoll_wait"),
        ] {
            assert!(!ends(waker, waiter), "{waker} {waiter}");
        }
    }

    #[test]
    fn each_name_is_a_call() {
        let mut names = TABLE.iter().flat_map(|(names, ..)| names.split(' '));
        assert_eq!(
            names.find(|name| !model::syscall_names::is_known(name)),
            None
        );
    }
}
