//! What `why` makes of the time of threads: idle ones, waits, and deadlocks. Nothing is measured here.

use analysis::attribute::blocked::Because;
use analysis::attribute::blocked::because;
use analysis::attribute::hung::{Hung, hung};
use analysis::attribute::ledger::{Ledger, State, ledger};
use analysis::attribute::spent::Spent;
use model::runtime::is_runtime;
use model::*;

fn thread(tid: u32, ran_ns: u64, runnable_ns: u64, blocked_ns: u64) -> Thread {
    Thread {
        tid,
        time: ThreadTime {
            ran_ns,
            runnable_ns,
            blocked_ns,
        },
        ..Thread::default()
    }
}

fn wait(tid: u32, call: &str, lock: bool, blocked_ns: u64) -> WaitCount {
    WaitCount {
        tid: Some(tid),
        call: call.into(),
        lock,
        calls: 10,
        blocked_ns,
        ..WaitCount::default()
    }
}

fn profile(threads: Vec<Thread>, waits: Vec<WaitCount>) -> Profile {
    let mut all = ThreadTime::default();
    for Thread { time, .. } in &threads {
        all.ran_ns += time.ran_ns;
        all.runnable_ns += time.runnable_ns;
        all.blocked_ns += time.blocked_ns;
    }
    let usage = Usage {
        thread_time: Some(all),
        threads: Some(2),
        ..Usage::default()
    };
    Profile {
        usage,
        threads,
        waits,
        ..Profile::default()
    }
}

fn found(profile: &Profile) -> Ledger {
    let ledger = ledger(profile, &Spent::default()).unwrap();
    let sum: f64 = ledger.parts.iter().map(|part| part.seconds).sum();
    assert!((sum - ledger.thread_s).abs() < 1e-9, "{ledger:?}");
    ledger
}

#[test]
fn idle_threads_are_left_out_unless_all_are() {
    let (busy, idle) = (
        thread(1, 100_000_000, 0, 900_000_000),
        thread(2, 1, 0, 1_000_000_000),
    );
    let waits = vec![
        wait(1, "futex", true, 800_000_000),
        wait(2, "epoll_wait", false, 1_000_000_000),
    ];
    let both = found(&profile(vec![busy, idle.clone()], waits.clone()));
    assert_eq!((both.busy, both.idle, both.thread_s), (1, 1, 1.0));
    let states: Vec<_> = both
        .parts
        .iter()
        .map(|part| (part.state, part.seconds))
        .collect();
    let lock = State::Blocked {
        because: Because::Lock,
    };
    assert_eq!(states[0], (lock, 0.8));
    assert_eq!(
        (states.len(), states[1].1, states[2].1),
        (3, 0.1, 0.09999999999999998)
    );
    let alone = found(&profile(vec![idle], waits[1..].to_vec()));
    assert_eq!((alone.busy, alone.idle), (0, 1));
}

#[test]
fn waits_are_no_longer_than_the_scheduler_saw() {
    let threads = vec![thread(1, 500, 0, 1_000)];
    let waits = vec![wait(1, "futex", true, 4_000)];
    let ledger = found(&profile(threads, waits));
    assert!((ledger.parts[0].seconds - 1e-6).abs() < 1e-12, "{ledger:?}");
}

#[test]
fn one_thread_of_a_command_has_no_ledger() {
    let mut profile = profile(vec![thread(1, 1, 0, 0)], vec![wait(1, "read", false, 1)]);
    profile.usage.threads = Some(0);
    assert!(ledger(&profile, &Spent::default()).is_none());
    profile.scope = Some("process 1".into());
    assert!(ledger(&profile, &Spent::default()).is_some());
}

fn waits(tid: u32, on: &str, holder: Option<u32>, before: bool) -> Thread {
    Thread {
        tid,
        open: Some(OpenCall {
            call: "futex".into(),
            on: Some(on.into()),
            lock: holder.is_some(),
            holder,
            before,
            elapsed_ns: 900_000_000,
            ..OpenCall::default()
        }),
        ..Thread::default()
    }
}

fn hung_in(threads: Vec<Thread>) -> Vec<Hung> {
    hung(&Profile {
        threads,
        ..Profile::default()
    })
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock() {
    let found = hung_in(vec![
        waits(1, "condition", None, true),
        waits(2, "a", Some(3), true),
        waits(3, "b", Some(2), true),
        waits(4, "b", Some(2), true),
        waits(5, "c", Some(6), false),
    ]);
    let cycles: Vec<_> = found
        .iter()
        .map(|own| (own.threads.as_slice(), own.cycle.as_slice()))
        .collect();
    assert_eq!(
        cycles,
        [
            (&[3, 4][..], &[3, 2, 3][..]),
            (&[2], &[2, 3, 2]),
            (&[1], &[]),
        ]
    );
}

/// Of waits since the trace began, only those are left that lasted a second; of a command that exited, only those for locks.
#[test]
fn long_waits_of_a_command_hang() {
    let since = |tid, elapsed_ns, lock: bool| {
        let mut thread = waits(tid, "a", lock.then_some(9), false);
        let open = thread.open.as_mut().unwrap();
        (open.before, open.elapsed_ns) = (false, elapsed_ns);
        thread
    };
    let mut own = Profile {
        threads: vec![
            since(1, 2_000_000_000, true),
            since(2, 1_500_000_000, true),
            since(3, 900_000_000, true),
            since(4, 2_000_000_000, false),
        ],
        ..Profile::default()
    };
    for (ending, threads) in [
        (None, &[1, 2, 4][..]),
        (Some(Ending::Signalled(2)), &[1, 2, 4]),
        (Some(Ending::Exited(0)), &[1, 2]),
    ] {
        own.ending = ending;
        let found = hung(&own);
        assert_eq!(found[0].threads, threads, "{found:?}");
        assert_eq!((found[0].before, found[0].waited_s), (false, 1.5));
    }
}

#[test]
fn who_waits_for_a_deadlock_is_not_in_it() {
    let found = hung_in(vec![
        waits(1, "a", Some(3), true),
        waits(2, "a", Some(3), true),
        waits(3, "b", Some(2), true),
    ]);
    let cycles = found.iter().filter(|own| own.cycle.len() == 3);
    assert_eq!(cycles.count(), 2);
    assert_eq!((found[0].threads.len(), found[0].cycle.len()), (2, 3));
}

fn call(call: &str) -> WaitCount {
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

fn at(peer: Peer, name: &str) -> WaitCount {
    WaitCount {
        peer: Some(peer),
        descriptor: Some(DescriptorKind::Socket),
        ..call(name)
    }
}

fn pipe(name: &str) -> WaitCount {
    WaitCount {
        descriptor: Some(DescriptorKind::Pipe),
        ..call(name)
    }
}

#[test]
fn what_holds_a_thread_up_is_told_from_waiting_for_work() {
    let lock = WaitCount {
        lock: true,
        ..call("futex")
    };
    let timeout = WaitCount {
        timeout: true,
        ..call("poll")
    };
    for (wait, expected) in [
        (asked(lock.clone()), Because::Lock),
        (lock, Because::Lock),
        (call("flock"), Because::Lock),
        (from(Waker::Thread, call("futex")), Because::Handover),
        (asked(from(Waker::Thread, call("futex"))), Because::Thread),
        (asked(from(Waker::Traced, call("futex"))), Because::Process),
        (
            asked(from(Waker::Traced, call("epoll_wait"))),
            Because::Process,
        ),
        (from(Waker::Traced, call("epoll_wait")), Because::Handover),
        (call("fdatasync"), Because::Disk),
        (at(Peer::Client, "recvfrom"), Because::Clients),
        (asked(at(Peer::Client, "epoll_wait")), Because::Clients),
        (at(Peer::Client, "sendto"), Because::Reader),
        (at(Peer::Anybody, "accept4"), Because::Connections),
        (at(Peer::Anybody, "epoll_wait"), Because::Connections),
        (asked(at(Peer::Server, "recvfrom")), Because::Peer),
        (at(Peer::Server, "epoll_wait"), Because::Peer),
        (call("clock_nanosleep"), Because::Timer),
        (asked(call("clock_nanosleep")), Because::Sleep),
        (asked(timeout.clone()), Because::Sleep),
        (timeout, Because::Timer),
        (from(Waker::Parent, pipe("read")), Because::Handover),
        (from(Waker::Traced, pipe("read")), Because::Process),
        (from(Waker::Other, pipe("read")), Because::Input),
        (from(Waker::Traced, pipe("write")), Because::Reader),
        (asked(from(Waker::Traced, pipe("write"))), Because::Reader),
        (call("wait4"), Because::Children),
        (asked(call("wait4")), Because::Process),
        (call("rt_sigsuspend"), Because::Signals),
        (call("epoll_wait"), Because::Handover),
        (call("keyctl"), Because::Other),
    ] {
        assert_eq!(because(&wait), expected, "{wait:?}");
        assert_eq!(because(&wait).is_idle(), expected >= Because::Clients);
    }
}

#[test]
fn what_a_program_wrote_itself_is_no_runtime() {
    for name in [
        "worker",
        "conn",
        "take_gil",
        "Server::accept_loop",
        "main.handle",
    ] {
        assert!(!is_runtime(name), "{name}");
    }
    for name in [
        "__lll_lock_wait",
        "pthread_mutex_lock",
        "__GI___libc_read",
        "epoll_wait",
        "[unknown]",
        "lib.so+0x80c4",
        "std::sys::sync::mutex::futex::Mutex::lock_contended",
        "runtime.futex",
    ] {
        assert!(is_runtime(name), "{name}");
    }
}

#[test]
fn opcodes_of_io_uring_have_their_names() {
    let names = [0, 22, 34, 50, 62, 63].map(ring_operation);
    let expected = ["nop", "read", "shutdown", "waitid", "pipe", "opcode 63"];
    assert_eq!(names, expected);
}
