//! Advice: each rule on made profiles with the fault and without it.pub use crate::common::*;
pub use analysis::attribute::advice::{Advice, Time, advice};
use analysis::attribute::spent::spent;
use model::DescriptorKind::{Device, File, Pipe, Socket};
pub use model::*;

pub fn call(name: &str, calls: u64, on_cpu_us: u64) -> CallCount {
    let (on_cpu_ns, blocked_ns) = (Some(on_cpu_us * 1000), Some(0));
    CallCount {
        call: name.into(),
        calls,
        on_cpu_ns,
        blocked_ns,
        ..CallCount::default()
    }
}

pub fn class(change: impl FnOnce(&mut Class), count: CallCount) -> CallCount {
    let mut count = count;
    change(&mut count.class);
    count
}

pub fn sized(kind: DescriptorKind, size: u64, count: CallCount) -> CallCount {
    class(
        |class| (class.descriptor, class.size) = (Some(kind), Some(size)),
        count,
    )
}

pub fn operation(name: &str, count: CallCount) -> CallCount {
    class(|class| class.operation = Some(name.into()), count)
}

pub fn failing(errno: &str, failures: u64, count: CallCount) -> CallCount {
    CallCount {
        errors: [(errno.to_string(), failures)].into(),
        ..count
    }
}

pub fn blocked(us: u64, count: CallCount) -> CallCount {
    CallCount {
        blocked_ns: Some(us * 1000),
        ..count
    }
}

/// A second of one process, `worker`, beside another that does little.
pub fn profile(calls: Vec<CallCount>) -> Profile {
    let group = |name: &str, calls| ProcessGroup {
        name: name.into(),
        calls,
        ..ProcessGroup::default()
    };
    let usage = Usage {
        wall_ns: Some(1_000_000_000),
        minor_faults: Some(50_000),
        processes: Some(1),
        peak_rss_kib: Some(2000),
        ..Usage::default()
    };
    let other = vec![call("read", 3, 1), call("getpid", 1, 1)];
    Profile {
        usage,
        complete: true,
        groups: vec![group("worker", calls), group("sh", other)],
        ..Profile::default()
    }
}

pub fn all_advice(profile: &Profile) -> Vec<Advice> {
    advice(profile, Some(50.0), &spent(profile))
}

/// The one piece of advice about this profile, with a range around what it saves.
pub fn only(profile: &Profile) -> Advice {
    let all = all_advice(profile);
    let [one] = &all[..] else { panic!("{all:#?}") };
    let saved = one.saved.unwrap();
    assert!(
        0.0 <= saved.low && saved.low <= saved.value && saved.value <= saved.high,
        "{one:#?}"
    );
    one.clone()
}

pub fn silent(calls: Vec<CallCount>) {
    let all = all_advice(&profile(calls));
    assert_eq!(all, [], "{all:#?}");
}

pub fn near(a: f64, b: f64) {
    assert!((b..b * 1.1).contains(&(a + 1e-6)), "{a} {b}");
}

/// `name` under this operation, with descriptors of this kind and sizes, as far as they are given.
pub fn many(name: &str, operation: &str, calls: u64, us: u64) -> CallCount {
    let operation = Some(operation.to_string()).filter(|name| !name.is_empty());
    class(|class| class.operation = operation, call(name, calls, us))
}

/// Calls with a path, of which so many failed.
pub fn on_path(name: &str, call: &str, calls: u64, absent: u64) -> ObjectCount {
    let count = CallCount {
        call: call.into(),
        calls,
        ..CallCount::default()
    };
    let count = if absent > 0 {
        failing("ENOENT", absent, count)
    } else {
        count
    };
    ObjectCount {
        kind: ObjectKind::Path,
        name: name.into(),
        process: "worker".into(),
        directory: None,
        count,
    }
}

pub fn with_paths(calls: Vec<CallCount>, objects: Vec<ObjectCount>) -> Profile {
    Profile {
        objects,
        ..profile(calls)
    }
}

pub fn timed(name: &str, call: &str, calls: u64) -> ObjectCount {
    let mut object = on_path(name, call, calls, 0);
    object.count.on_cpu_ns = Some(calls * 1000);
    object
}

/// As ptrace sees them: without time on a CPU.
#[test]
fn calls_without_a_time_on_a_cpu_wait_if_they_are_blocked_for_long() {
    for (blocked_us, transfers) in [(17, 1), (20_000_000, 0)] {
        let reads = CallCount {
            on_cpu_ns: None,
            ..blocked(blocked_us, call("read", 2_000_000, 0))
        };
        let all = all_advice(&profile(vec![sized(Device, 1, reads)]));
        let small = all.iter().filter(|advice| advice.rule == "small-transfers");
        assert_eq!(small.count(), transfers, "{blocked_us} us: {all:?}");
    }
}

/// A rule, calls that are a fault by it, and calls that make them innocent.
type Case = (&'static str, Vec<CallCount>, Vec<Vec<CallCount>>);

const MANY: u64 = 100_000;

fn repeated(name: &str) -> CallCount {
    call(name, MANY, 90_000)
}

fn reads(kind: DescriptorKind, size: u64) -> CallCount {
    sized(kind, size, call("read", MANY, 100_000))
}

fn writes(kind: DescriptorKind) -> CallCount {
    sized(kind, 64, call("write", MANY, 100_000))
}

fn transfers_and_polls() -> Vec<Case> {
    let eagain = CallCount {
        calls: MANY / 2,
        ..failing("EAGAIN", MANY / 2, reads(Socket, 0))
    };
    let request = |name: &str, kind| sized(kind, 64, blocked(900_000, repeated(name)));
    vec![
        // One read of a file's head each, after an open or a seek.
        (
            "small-transfers",
            vec![reads(File, 8)],
            vec![vec![repeated("openat")]],
        ),
        // A file each, an answer to each request, a line for it in a log; what must be there at once.
        (
            "small-transfers",
            vec![writes(File)],
            vec![vec![repeated("openat")], vec![request("recvfrom", Socket)]],
        ),
        (
            "small-transfers",
            vec![writes(Pipe)],
            vec![vec![request("read", Pipe)]],
        ),
        // One for each poll is how a loop learns that there is no more.
        (
            "same-answer",
            vec![eagain],
            vec![vec![blocked(900_000, call("epoll_wait", MANY / 2, 900))]],
        ),
        (
            "empty-polls",
            vec![class(|class| class.set = Some(1), repeated("poll"))],
            vec![vec![sized(Pipe, 64, call("read", MANY, 900))]],
        ),
        ("locks", vec![many("fcntl", "setlk", MANY, 90_000)], vec![]),
    ]
}

/// Questions that always have the same answer.
fn questions() -> Vec<Case> {
    [
        (vec![repeated("getpid")], vec![]),
        (
            vec![
                operation("TIOCGWINSZ", repeated("ioctl")),
                call("openat", 1, 9),
            ],
            vec![vec![operation("TIOCSWINSZ", call("ioctl", MANY, 900))]],
        ),
        (
            vec![many("fcntl", "getfl", MANY, 90_000), call("openat", 1, 1)],
            vec![vec![call("openat", MANY, 900)]],
        ),
        (
            vec![many("clock_gettime", "monotonic", MANY, 90_000)],
            vec![],
        ),
        (vec![failing("EBADF", MANY, repeated("close"))], vec![]),
        (vec![failing("EBADF", MANY, repeated("write"))], vec![]),
        (
            vec![failing("EBADF", MANY, many("fcntl", "dupfd", MANY, 90_000))],
            vec![],
        ),
        (
            vec![failing("EXDEV", MANY, repeated("copy_file_range"))],
            vec![],
        ),
        (
            vec![sized(Pipe, 0, call("read", MANY, 90_000))],
            vec![
                vec![call("openat", MANY, 900)],
                vec![blocked(900_000, call("poll", MANY, 900))],
            ],
        ),
    ]
    .map(|(fault, reasons)| ("same-answer", fault, reasons))
    .to_vec()
}

/// Requests that change nothing when they are repeated.
fn changes() -> Vec<Case> {
    let waits = CallCount {
        calls: MANY,
        ..blocked(900, call("futex", MANY, 9))
    };
    [
        (
            vec![repeated("epoll_ctl")],
            vec![vec![call("socketpair", MANY / 2, 900)]],
        ),
        (vec![repeated("sched_yield")], vec![]),
        (
            vec![repeated("wait4"), call("fork", 1, 1)],
            vec![vec![call("fork", MANY, 900)]],
        ),
        (
            vec![many("rt_sigprocmask", "block", MANY, 90_000)],
            vec![vec![many("rt_sigprocmask", "setmask", MANY, 900)]],
        ),
        (
            vec![repeated("mprotect"), call("mmap", 1, 1)],
            vec![vec![call("mmap", MANY, 900)]],
        ),
        (
            vec![many("futex", "wake", MANY, 90_000)],
            vec![vec![operation("wait", waits)]],
        ),
    ]
    .map(|(fault, reasons)| ("same-answer", fault, reasons))
    .to_vec()
}

#[test]
fn what_is_repeated_is_a_fault_unless_there_is_a_reason() {
    for (rule, fault, reasons) in [transfers_and_polls(), questions(), changes()].concat() {
        let one = only(&profile(fault.clone()));
        assert_eq!(
            (one.rule, one.process.as_str()),
            (rule, "worker"),
            "{one:#?}"
        );
        for reason in reasons {
            let others = all_advice(&profile([fault.clone(), reason].concat()));
            assert!(
                others.iter().all(|one| one.rule != rule),
                "{rule:?}: {others:#?}"
            );
        }
    }
}

#[test]
fn calls_in_turns_are_one_loop_and_save_no_more_than_it_takes() {
    let n = 100_000;
    let one = only(&profile(vec![
        call("getppid", n, 90_000),
        call("getuid", n, 90_000),
    ]));
    assert_eq!((one.names.len(), one.calls), (2, 2 * n));
    let mut short = profile(vec![call("sched_yield", n, 90_000)]);
    (
        short.usage.wall_ns,
        short.usage.processes,
        short.usage.threads,
    ) = (Some(95_000_000), Some(1), Some(0));
    assert!(only(&short).saved.unwrap().high <= 0.095);
}

#[test]
fn what_waits_or_has_another_reason_is_no_fault() {
    let n = 100_000;
    silent(vec![sized(File, 4096, call("read", n, 100_000))]);
    // Who waits for messages takes them as they come.
    silent(vec![sized(
        Pipe,
        1,
        blocked(900_000, call("read", n, 100_000)),
    )]);
    silent(vec![CallCount {
        call: "accept4".into(),
        ..failing("EAGAIN", n, sized(Socket, 0, call("", n, 100_000)))
    }]);
    // Of CPU time no vDSO knows; of a clock that is not known, nobody.
    silent(vec![many("clock_gettime", "thread_cputime_id", n, 90_000)]);
    // A child's end.
    silent(vec![blocked(900_000, call("wait4", n, 90_000))]);
    // A scan of ports, which are closed.
    silent(vec![failing(
        "ECONNREFUSED",
        n,
        sized(Socket, 0, call("connect", n, 90_000)),
    )]);
    // Datagrams stay as many.
    let sent = only(&profile(vec![sized(
        Socket,
        48,
        call("sendto", n, 100_000),
    )]));
    assert!(
        sent.saved.unwrap().low <= 0.5 * n as f64 * 50e-9,
        "{sent:#?}"
    );
    // Locks that others want.
    silent(vec![failing(
        "EAGAIN",
        1,
        blocked(900_000, many("fcntl", "setlkw", n, 90_000)),
    )]);
    let mut both = profile(vec![many("fcntl", "setlk", n, 90_000)]);
    both.groups[1].calls.push(many("fcntl", "setlk", 5, 9));
    assert_eq!(all_advice(&both), []);
}

#[test]
fn a_sync_for_each_record_is_told_with_its_waiting() {
    let sync = |calls| blocked(90_000, call("fdatasync", calls, 10_000));
    let one = only(&profile(vec![sync(50), call("write", 60, 100)]));
    assert_eq!(
        (one.rule, one.time, one.items),
        ("sync-per-record", Time::Elapsed, 60)
    );
    assert_eq!(one.measured_s, Some(0.1));
    near(one.saved.unwrap().value, 0.09);
    silent(vec![sync(50), call("write", 5_000, 100)]);
    silent(vec![sync(5), call("write", 5, 100)]);
    // A file each; or a transaction that somebody waits for.
    let created = || operation("create", call("openat", 30, 100));
    silent(vec![sync(50), call("write", 60, 100), created()]);
    silent(vec![
        sync(50),
        call("write", 60, 100),
        sized(Socket, 64, call("recvfrom", 50, 100)),
    ]);
    let requests = |receives| sized(Socket, 64, call("recvfrom", receives, 100));
    silent(vec![sync(1000), call("write", 1000, 100), requests(499)]);
    // A journal that comes and goes is one file.
    let journal = vec![
        timed("/x-journal", "openat", 30),
        timed("/x-journal", "unlink", 30),
    ];
    assert_eq!(
        only(&with_paths(
            vec![sync(50), call("write", 60, 100), created()],
            journal
        ))
        .rule,
        "sync-per-record"
    );
}

#[test]
fn memory_that_comes_and_goes_is_told_with_its_page_faults() {
    let size = |size, count| class(|class| class.size = Some(size), count);
    let map = |what, bytes| operation(what, size(bytes, call("mmap", 20_000, 20_000)));
    let unmap = |bytes| size(bytes, call("munmap", 20_000, 160_000));
    let one = only(&profile(vec![map("anonymous", 131_072), unmap(131_072)]));
    assert_eq!((one.rule, one.items), ("memory-again", 49_500));
    let one = only(&profile(vec![map("file", 4096), unmap(4096)]));
    assert_eq!((one.rule, one.items), ("small-file-maps", 20_000));
    let again = |calls: Vec<CallCount>| only(&profile(calls));
    let discard = |operation_name| {
        operation(
            operation_name,
            size(1 << 18, call("madvise", 6_000, 90_000)),
        )
    };
    let one = again(vec![discard("dontneed")]);
    assert_eq!(
        (one.rule, one.items, one.names.join(" ")),
        ("memory-again", 49_500, "madvise".into())
    );
    let one = again(vec![call("brk", 6_000, 90_000)]);
    assert!(one.change.contains("M_TRIM_THRESHOLD"), "{one:#?}");
    // Windows onto a file, each page of which is another one.
    silent(vec![
        size(1 << 20, operation("file", call("mmap", 2_000, 900))),
        size(1 << 20, call("munmap", 2_000, 900)),
    ]);
    silent(vec![discard("hugepage")]);
    let mut resident = profile(vec![map("anonymous", 131_072), unmap(131_072)]);
    resident.usage.peak_rss_kib = Some(4_000_000);
    assert_eq!(all_advice(&resident), [], "all may be in use at once");
}

#[test]
fn waits_of_forty_milliseconds_behind_small_sends_are_delayed_acknowledgements() {
    let waits = |ms: u64, is_timed: bool| {
        let received = CallCount {
            call: "recvfrom".into(),
            ..sized(Socket, 4, blocked(15_000 * ms, call("", 15, 900)))
        };
        let mut profile = profile(vec![received, sized(Socket, 4, call("sendto", 30, 900))]);
        let mut durations = Histogram::with_resolution(32);
        (0..15).for_each(|_| durations.record(ms * 1_000_000));
        if is_timed {
            profile.latencies.insert("recvfrom".into(), durations);
        } else {
            profile.waits.push(WaitCount {
                process: "worker".into(),
                call: "recvfrom".into(),
                calls: 15,
                blocked_ns: 15 * ms * 1_000_000,
                ..WaitCount::default()
            });
        }
        all_advice(&profile)
    };
    for is_timed in [true, false] {
        let all = waits(43, is_timed);
        let rules: Vec<_> = all.iter().map(|one| (one.rule, one.items)).collect();
        assert_eq!(rules, [("delayed-acks", 15)]);
        near(all[0].saved.unwrap().value, 0.645);
        let others = [33, 60].map(|ms| waits(ms, is_timed));
        assert_eq!(others, [[], []], "a beat, or a slow server");
    }
}

#[test]
fn what_does_not_matter_is_left_out() {
    let mut long = profile(vec![
        call("getpid", 100_000, 90_000),
        call("fsync", 3, 1_000),
    ]);
    long.usage.wall_ns = Some(60_000_000_000);
    assert_eq!(all_advice(&long), []);
    long.usage.concurrency = Some(Concurrency {
        waiting_ns: 59_000_000_000,
        ..Concurrency::default()
    });
    assert_eq!(
        only(&long).rule,
        "same-answer",
        "the machine ran other programs"
    );
}
