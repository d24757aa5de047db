//! Advice: each rule on made profiles with the fault and without it, and on the programs of tests/advice/faults.c as the
//! kernel runs them. Whether the seconds are right is measured by bench/faults/check.

use crate::common::*;
use analysis::attribute::advice::{Advice, Time, advice};
use analysis::attribute::spent::spent;
use model::DescriptorKind::{Device, File, Pipe, Socket};
use model::*;

fn call(name: &str, calls: u64, on_cpu_us: u64) -> CallCount {
    let (on_cpu_ns, blocked_ns) = (Some(on_cpu_us * 1000), Some(0));
    CallCount {
        call: name.into(),
        calls,
        on_cpu_ns,
        blocked_ns,
        ..CallCount::default()
    }
}

fn class(of: impl FnOnce(&mut Class), count: CallCount) -> CallCount {
    let mut count = count;
    of(&mut count.class);
    count
}

fn sized(kind: DescriptorKind, size: u64, count: CallCount) -> CallCount {
    class(
        |class| (class.descriptor, class.size) = (Some(kind), Some(size)),
        count,
    )
}

fn operation(name: &str, count: CallCount) -> CallCount {
    class(|class| class.operation = Some(name.into()), count)
}

fn failing(errno: &str, failures: u64, count: CallCount) -> CallCount {
    CallCount {
        errors: [(errno.to_string(), failures)].into(),
        ..count
    }
}

fn blocked(us: u64, count: CallCount) -> CallCount {
    CallCount {
        blocked_ns: Some(us * 1000),
        ..count
    }
}

/// A second of one process, `worker`, beside another that does little.
fn profile(calls: Vec<CallCount>) -> Profile {
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

fn found(profile: &Profile) -> Vec<Advice> {
    advice(profile, Some(50.0), &spent(profile))
}

/// The one piece of advice about this profile, with a range around what it saves.
fn only(profile: &Profile) -> Advice {
    let all = found(profile);
    let [one] = &all[..] else { panic!("{all:#?}") };
    let saved = one.saved.unwrap();
    assert!(
        0.0 <= saved.low && saved.low <= saved.value && saved.value <= saved.high,
        "{one:#?}"
    );
    one.clone()
}

fn silent(calls: Vec<CallCount>) {
    let all = found(&profile(calls));
    assert_eq!(all, [], "{all:#?}");
}

fn near(a: f64, b: f64) {
    assert!((b..b * 1.1).contains(&(a + 1e-6)), "{a} {b}");
}

/// `name` under this operation, with descriptors of this kind and sizes, as far as they are given.
fn many(name: &str, operation: &str, calls: u64, us: u64) -> CallCount {
    let operation = Some(operation.to_string()).filter(|name| !name.is_empty());
    class(|class| class.operation = operation, call(name, calls, us))
}

/// As ptrace sees them: without time on a CPU.
#[test]
fn calls_without_a_time_on_a_cpu_wait_if_they_are_blocked_for_long() {
    for (blocked_us, transfers) in [(17, 1), (20_000_000, 0)] {
        let reads = CallCount {
            on_cpu_ns: None,
            ..blocked(blocked_us, call("read", 2_000_000, 0))
        };
        let found = found(&profile(vec![sized(Device, 1, reads)]));
        let small = found
            .iter()
            .filter(|advice| advice.rule == "small-transfers");
        assert_eq!(small.count(), transfers, "{blocked_us} us: {found:?}");
    }
}

/// Calls that are a fault, and what beside them makes them innocent.
#[test]
fn what_is_repeated_is_a_fault_unless_there_is_a_reason() {
    let n = 100_000;
    let sized = |name, kind, size, count: CallCount| {
        sized(
            kind,
            size,
            CallCount {
                call: String::from(name),
                ..count
            },
        )
    };
    let reads = |kind, size| sized("read", kind, size, call("", n, 100_000));
    let writes = |kind| sized("write", kind, 64, call("", n, 100_000));
    let half = |count| CallCount {
        calls: n / 2,
        ..count
    };
    let eagain = || half(failing("EAGAIN", n / 2, reads(Socket, 0)));
    let set = |set, count: CallCount| class(|class| class.set = Some(set), count);
    let calls = |name| call(name, n, 90_000);
    type Case = (&'static str, Vec<CallCount>, Vec<Vec<CallCount>>);
    let cases: Vec<Case> = vec![
        // One read of a file's head each, after an open or a seek.
        (
            "small-transfers",
            vec![reads(File, 8)],
            vec![vec![calls("openat")]],
        ),
        // A file each, an answer to each request, a line for it in a log; what must be there at once.
        (
            "small-transfers",
            vec![writes(File)],
            vec![
                vec![calls("openat")],
                vec![sized("recvfrom", Socket, 64, blocked(900_000, calls("")))],
            ],
        ),
        (
            "small-transfers",
            vec![writes(Pipe)],
            vec![vec![sized("read", Pipe, 64, blocked(900_000, calls("")))]],
        ),
        // One for each poll is how a loop learns that there is no more.
        (
            "same-answer",
            vec![eagain()],
            vec![vec![blocked(900_000, call("epoll_wait", n / 2, 900))]],
        ),
        (
            "empty-polls",
            vec![set(1, calls("poll"))],
            vec![vec![sized("read", Pipe, 64, call("", n, 900))]],
        ),
        ("same-answer", vec![calls("getpid")], vec![]),
        (
            "same-answer",
            vec![calls("epoll_ctl")],
            vec![vec![call("socketpair", n / 2, 900)]],
        ),
        (
            "same-answer",
            vec![
                operation("TIOCGWINSZ", calls("ioctl")),
                call("openat", 1, 9),
            ],
            vec![vec![operation("TIOCSWINSZ", call("ioctl", n, 900))]],
        ),
        (
            "same-answer",
            vec![many("fcntl", "getfl", n, 90_000), call("openat", 1, 1)],
            vec![vec![call("openat", n, 900)]],
        ),
        (
            "same-answer",
            vec![many("clock_gettime", "monotonic", n, 90_000)],
            vec![],
        ),
        ("same-answer", vec![calls("sched_yield")], vec![]),
        (
            "same-answer",
            vec![calls("wait4"), call("fork", 1, 1)],
            vec![vec![call("fork", n, 900)]],
        ),
        (
            "same-answer",
            vec![failing("EBADF", n, calls("close"))],
            vec![],
        ),
        (
            "same-answer",
            vec![failing("EBADF", n, many("fcntl", "dupfd", n, 90_000))],
            vec![],
        ),
        (
            "same-answer",
            vec![failing("EXDEV", n, calls("copy_file_range"))],
            vec![],
        ),
        (
            "same-answer",
            vec![many("rt_sigprocmask", "block", n, 90_000)],
            vec![vec![many("rt_sigprocmask", "setmask", n, 900)]],
        ),
        (
            "same-answer",
            vec![sized("read", Pipe, 0, call("", n, 90_000))],
            vec![
                vec![call("openat", n, 900)],
                vec![blocked(900_000, call("poll", n, 900))],
            ],
        ),
        (
            "same-answer",
            vec![calls("mprotect"), call("mmap", 1, 1)],
            vec![vec![call("mmap", n, 900)]],
        ),
        ("locks", vec![many("fcntl", "setlk", n, 90_000)], vec![]),
        (
            "same-answer",
            vec![many("futex", "wake", n, 90_000)],
            vec![vec![class(
                |class| class.operation = Some("wait".into()),
                CallCount {
                    calls: n,
                    ..blocked(900, call("futex", n, 9))
                },
            )]],
        ),
    ];
    for (rule, fault, reasons) in cases {
        let one = only(&profile(fault.clone()));
        assert_eq!(
            (one.rule, one.process.as_str()),
            (rule, "worker"),
            "{one:#?}"
        );
        for reason in reasons {
            let found = found(&profile([fault.clone(), reason].concat()));
            assert!(
                found.iter().all(|one| one.rule != rule),
                "{rule:?}: {found:#?}"
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
    assert_eq!(found(&both), []);
}

/// Calls with a path, of which so many failed.
fn on_path(name: &str, call: &str, calls: u64, absent: u64) -> ObjectCount {
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

fn with_paths(calls: Vec<CallCount>, objects: Vec<ObjectCount>) -> Profile {
    Profile {
        objects,
        ..profile(calls)
    }
}

fn found_with(calls: Vec<CallCount>, objects: Vec<ObjectCount>) -> Vec<Advice> {
    found(&with_paths(calls, objects))
}

fn timed(name: &str, call: &str, calls: u64) -> ObjectCount {
    let mut object = on_path(name, call, calls, 0);
    object.count.on_cpu_ns = Some(calls * 1000);
    object
}

#[test]
fn files_are_opened_again_unless_they_change() {
    let close = || {
        class(
            |class| class.descriptor = Some(File),
            call("close", 40_000, 60_000),
        )
    };
    let opens = || vec![call("openat", 40_000, 40_000), close()];
    let one = only(&with_paths(opens(), vec![timed("/data", "openat", 40_000)]));
    assert_eq!((one.rule, one.calls, one.items), ("open-again", 39_999, 1));
    near(
        one.saved.unwrap().value,
        (0.040 + 0.060) * 39_999.0 / 40_000.0,
    );
    assert_eq!(one.paths[0].path, "/data");
    let quiet = |calls, objects| assert_eq!(found(&with_paths(calls, objects)), []);
    quiet(
        opens(),
        (0..20_000)
            .map(|n| timed(&format!("/{n}"), "openat", 2))
            .collect(),
    );
    // A lock file; one that is replaced; one that is locked while it is open; relative to what is not known.
    quiet(
        opens(),
        vec![
            timed("/lock", "openat", 40_000),
            timed("/lock", "unlink", 40_000),
        ],
    );
    quiet(
        opens(),
        vec![
            timed("/new", "openat", 40_000),
            timed("/new", "rename", 40_000),
        ],
    );
    let shared = || [opens(), vec![blocked(9_000, call("flock", 40_000, 4_000))]].concat();
    quiet(shared(), vec![timed("/lock", "openat", 40_000)]);
    quiet(opens(), vec![timed("data", "openat", 40_000)]);
}

#[test]
fn paths_are_looked_up_again() {
    let stat = || {
        vec![class(
            |class| class.depth = Some(1),
            call("newfstatat", 100_000, 100_000),
        )]
    };
    let one = only(&with_paths(
        stat(),
        vec![
            timed("/a.h", "newfstatat", 60_000),
            timed("/b.h", "newfstatat", 40_000),
        ],
    ));
    assert_eq!((one.rule, one.items, one.calls), ("same-answer", 2, 99_998));
    let each = |times| -> Vec<ObjectCount> {
        let own = (0..20_000).map(|n| timed(&format!("/{n}.h"), "newfstatat", times));
        own.collect()
    };
    let one = only(&with_paths(stat(), each(5)));
    assert_eq!((one.items, one.calls), (20_000, 80_000), "the sum counts");
    let quiet = found(&with_paths(stat(), each(2)));
    assert_eq!(quiet, [], "once more, to see whether it changed");
    let links = (0..20_000).map(|n| timed(&format!("/{n}.h"), "readlink", 1));
    let other = each(2).into_iter().chain(links).collect();
    assert_eq!(found(&with_paths(stat(), other)), [], "another question");
    let access = (0..20_000).map(|n| timed(&format!("/{n}.h"), "access", 1));
    let same = each(2).into_iter().chain(access).collect();
    assert_eq!(only(&with_paths(stat(), same)).calls, 40_000);
    assert_eq!(
        found(&profile(stat())),
        [],
        "nobody knows whether they are the same"
    );
    let nowhere = |found: u64| {
        let calls = CallCount {
            calls: 20_000 + found,
            ..failing("ENOENT", 20_000, call("access", 0, 20_000))
        };
        let absent = (0..20_000).map(|n| ObjectCount {
            count: failing("ENOENT", 1, call("access", 1, 1)),
            ..on_path(&format!("/{n}"), "", 0, 0)
        });
        found_with(vec![calls], absent.collect())
    };
    let phrases = |all: Vec<Advice>| all.iter().map(|one| one.phrase).collect::<Vec<_>>();
    assert_eq!(
        phrases(nowhere(0)),
        ["{calls}, all of names that do not exist"]
    );
    assert_eq!(phrases(nowhere(1_000)), [""; 0], "some exist");
    // A journal that is absent while locks are taken.
    let missing = |calls| failing("ENOENT", calls, call("access", calls, 90_000));
    let absent = || ObjectCount {
        count: missing(50_000),
        ..on_path("/d/x.db-journal", "access", 0, 0)
    };
    assert_eq!(
        only(&with_paths(vec![missing(50_000)], vec![absent()])).rule,
        "same-answer"
    );
    let locked = vec![
        missing(50_000),
        blocked(90_000, many("fcntl", "setlk", 50_000, 9_000)),
    ];
    assert_eq!(found(&with_paths(locked, vec![absent()])), []);
}

#[test]
fn what_is_searched_for_is_missing_in_two_places_and_found_in_another() {
    let miss = |name: &str| ObjectCount {
        count: failing("ENOENT", 40_000, call("openat", 40_000, 40_000)),
        ..on_path(name, "", 0, 0)
    };
    let hit = || on_path("/c/x.h", "openat", 40_000, 0);
    let calls = || vec![failing("ENOENT", 80_000, call("openat", 80_000, 80_000))];
    let one = found(&with_paths(
        calls(),
        vec![miss("/a/x.h"), miss("/b/x.h"), hit()],
    ))
    .remove(0);
    assert_eq!((one.rule, one.calls, one.items), ("search", 80_000, 40_000));
    near(one.saved.unwrap().value, 0.080);
    // Files that are nowhere, a file that is checked for in one place.
    for objects in [
        vec![miss("/a/.rc"), miss("/b/.rc")],
        vec![miss("/a/x.h"), hit()],
    ] {
        assert!(
            found(&with_paths(calls(), objects))
                .iter()
                .all(|one| one.rule != "search")
        );
    }
}

#[test]
fn temporary_files_hold_data_and_locks_do_not() {
    let create = || operation("create", call("openat", 10_000, 90_000));
    let write = |bytes| CallCount {
        bytes: Some(bytes),
        ..sized(File, 512, call("pwrite64", 10_000, 900))
    };
    let journal = || {
        vec![
            timed("/t/journal", "openat", 10_000),
            timed("/t/journal", "unlink", 10_000),
        ]
    };
    let work = |bytes| vec![create(), call("unlink", 10_000, 80_000), write(bytes)];
    let one = only(&with_paths(work(5_120_000), journal()));
    assert_eq!((one.rule, one.items), ("temporary-files", 10_000));
    assert_eq!(
        found(&with_paths(work(50_000), journal())),
        [],
        "a process id in a lock file"
    );
    let and = |more: CallCount| {
        found(&with_paths(
            [work(5_120_000), vec![more]].concat(),
            journal(),
        ))
    };
    assert_eq!(and(call("rename", 10_000, 9)), [], "they are published");
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
    assert_eq!(found(&resident), [], "all may be in use at once");
}

/// `parent` starts `processes` of `child`, which take 1 ms each, half of it to start.
fn family(parents: &[&str], child: &str, processes: u64) -> Profile {
    let calls = vec![
        call("execve", processes, processes * 500),
        call("exit_group", processes, processes),
    ];
    let group = |name: &str, calls| ProcessGroup {
        name: name.into(),
        system_ns: Some(processes * 1_000_000),
        user_ns: Some(0),
        calls,
        ..ProcessGroup::default()
    };
    let path = |names: &[&str], processes| ProcessPath {
        names: names.iter().map(ToString::to_string).collect(),
        processes,
        calls: 9,
    };
    let groups = vec![
        group(parents[0], vec![call("vfork", processes, processes)]),
        group(child, calls),
    ];
    let mut tree = vec![path(&parents[..1], 1)];
    tree.extend((2..=parents.len()).map(|depth| path(&parents[..depth], processes)));
    tree.push(path(&[parents, &[child]].concat(), processes));
    Profile {
        groups,
        tree,
        ..profile(Vec::new())
    }
}

#[test]
fn a_process_for_each_item_is_told() {
    for parents in [&["find"][..], &["python3", "sh"]] {
        let one = only(&family(parents, "true", 300));
        assert_eq!(
            (one.rule, one.process.as_str(), one.subject.as_deref()),
            ("process-per-item", parents[0], Some("true"))
        );
        assert_eq!(one.items, 300);
    }
    assert_eq!(found(&family(&["find"], "true", 15)), []);
    // What a build starts, directly or by a compiler driver.
    assert_eq!(found(&family(&["make"], "cc1", 300)), []);
    assert_eq!(found(&family(&["find", "gcc"], "cc1", 300)), []);
    let mut computing = family(&["find"], "gzip", 300);
    computing.groups[1].user_ns = Some(30_000_000_000);
    assert_eq!(found(&computing), [], "it works, and does not only start");
}

#[test]
fn forks_of_large_processes_copy_page_tables_and_vforks_do_not() {
    let execs = || call("execve", 51, 51);
    let clone = |us| operation("process", call("clone", 50, us));
    let one = only(&profile(vec![clone(100_000), execs()]));
    assert_eq!((one.rule, one.items), ("fork-for-exec", 50));
    let slow = only(&profile(vec![clone(100_000), call("execve", 51, 100_000)]));
    let freed_s = slow.saved.unwrap().value - one.saved.unwrap().value;
    assert!(
        (0.05..0.1).contains(&freed_s),
        "its exec frees the copy: {freed_s}"
    );
    silent(vec![clone(5_000), execs()]);
    silent(vec![blocked(900_000, clone(100_000)), execs()]);
    silent(vec![
        operation("thread", call("clone", 50, 100_000)),
        execs(),
    ]);
    silent(vec![clone(100_000), call("execve", 1, 100)]);
}

#[test]
fn an_idle_process_that_wakes_up_for_nothing_is_told() {
    let sleeps = |calls| blocked(900_000, call("clock_nanosleep", calls, 10_000));
    let ran = |ns, calls| {
        let mut ran = profile(calls);
        (ran.usage.user_ns, ran.usage.system_ns) = (Some(0), Some(ns));
        (ran.groups[0].user_ns, ran.groups[0].system_ns) = (Some(0), Some(ns));
        found(&ran)
    };
    let idle = |calls| ran(20_000_000, calls);
    assert_eq!(
        ran(60_000_000, vec![sleeps(1000)]),
        [],
        "it computes at a pulse"
    );
    let all = idle(vec![sleeps(1000)]);
    assert_eq!(
        all.iter()
            .map(|one| (one.rule, one.items))
            .collect::<Vec<_>>(),
        [("wake-ups", 1000)]
    );
    assert_eq!(idle(vec![sleeps(10)]), []);
    assert_eq!(
        idle(vec![
            sleeps(1000),
            sized(File, 64, call("pread64", 1500, 9))
        ]),
        [],
        "it works each time"
    );
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
        found(&profile)
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
fn threads_that_a_connection_wakes_all_of_are_a_herd() {
    let herd = |threads: u32, switches: u64| {
        let calls = vec![
            blocked(900_000, call("epoll_wait", 1_100, 300_000)),
            blocked(100_000, call("recvfrom", 1_000, 1_000)),
            failing("EAGAIN", 100, call("accept4", 1_100, 3_000)),
        ];
        let mut profile = profile(calls);
        profile.usage.voluntary_switches = Some(switches);
        let wait = |thread| WaitCount {
            process: "worker".into(),
            call: "epoll_wait".into(),
            tid: Some(thread),
            peer: Some(Peer::Anybody),
            ..WaitCount::default()
        };
        profile.waits = (1..=threads).map(wait).collect();
        profile
    };
    let one = only(&herd(64, 51_000));
    assert_eq!((one.rule, one.items, one.calls), ("herd", 50, 1_100));
    near(one.saved.unwrap().value, 0.294);
    assert_eq!(found(&herd(64, 3_000)), [], "each wakes about one");
    assert_eq!(
        found(&herd(1, 51_000)),
        [],
        "one thread waits again and again"
    );
}

/// Under ptrace the waits for a CPU of all threads are added up: more than the wall time.
#[test]
fn many_threads_that_wait_for_a_cpu_leave_the_wall_time_as_it_is() {
    let mut profile = profile(vec![many("getppid", "", 1000, 1000)]);
    profile.usage.threads = Some(8);
    profile.usage.concurrency = None;
    let alone = found(&profile);
    profile.usage.waiting_ns = Some(7_000_000_000);
    assert_eq!(found(&profile), alone);
    assert_eq!(alone, [], "1 ms of a second");
}

#[test]
fn what_does_not_matter_is_left_out() {
    let mut long = profile(vec![
        call("getpid", 100_000, 90_000),
        call("fsync", 3, 1_000),
    ]);
    long.usage.wall_ns = Some(60_000_000_000);
    assert_eq!(found(&long), []);
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

/// Faults that are the only ones of their programs.
const ANSWERS: [&str; 8] = [
    "small-reads",
    "stat-storm",
    "identity",
    "discards",
    "signal-masks",
    "open-again",
    "empty-polls",
    "spin",
];

#[test]
fn the_answer_is_in_the_first_three_lines_of_a_screen() {
    if !has_bpf() {
        return;
    }
    let walked = one_of_each_kind(&ANSWERS, &ANSWERS[..5]);
    for (fault, _, name, count) in FAULTS.iter().filter(|(fault, ..)| walked.contains(fault)) {
        let screen = trace(fault, "faulty", count).printed("why p.json");
        let first: Vec<&str> = screen.lines().take(3).collect();
        let is_answer = first[1].starts_with("faults: ") && first.join(" ").contains(name);
        assert!(is_answer, "{fault}: {screen}");
        assert!(screen.lines().count() <= 24, "{fault}: {screen}");
    }
}

const FAULTS: [(&str, &str, &str, &str); 27] = [
    ("small-reads", "small-transfers", "read", "50000"),
    ("small-writes", "small-transfers", "write", "50000"),
    ("search-path", "search", "openat", "2000"),
    ("stat-storm", "same-answer", "newfstatat", "50000"),
    ("identity", "same-answer", "getpid", "50000"),
    ("real-clock", "same-answer", "clock_gettime", "50000"),
    ("empty-polls", "empty-polls", "poll", "5000"),
    ("empty-reads", "same-answer", "read", "20000"),
    ("futex-traffic", "futex-traffic", "futex", "10000"),
    ("fork-for-exec", "fork-for-exec", "clone", "12"),
    ("sync-per-record", "sync-per-record", "fdatasync", "40"),
    ("large-poll-sets", "large-poll-sets", "poll", "2000"),
    ("temporary-files", "temporary-files", "unlink", "500"),
    ("small-maps", "memory-again", "munmap", "500"),
    ("discards", "memory-again", "madvise", "2000"),
    ("trims", "memory-again", "brk", "2000"),
    ("signal-masks", "same-answer", "rt_sigprocmask", "100000"),
    ("end-of-input", "same-answer", "read", "100000"),
    ("watches", "same-answer", "inotify_add_watch", "20000"),
    ("four-looks", "same-answer", "newfstatat", "2000"),
    ("open-again", "open-again", "openat", "20000"),
    ("small-file-maps", "small-file-maps", "munmap", "4000"),
    ("descriptor-sweep", "same-answer", "fcntl", "100000"),
    ("spin", "same-answer", "sched_yield", "200000"),
    ("wake-ups", "wake-ups", "clock_nanosleep", "500"),
    ("locks", "locks", "fcntl", "20000"),
    ("process-per-item", "process-per-item", "execve", "50"),
];
const KINDS: [&str; 6] = [
    "small-reads",
    "discards",
    "signal-masks",
    "identity",
    "fork-for-exec",
    "wake-ups",
];

fn faults() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
        let line = format!(
            "-O1 -pthread -o {} tests/advice/faults.c",
            program.display()
        );
        assert!(cc(line));
        program
    })
}

fn traced(fault: &str, variant: &str, count: &str) -> Vec<Value> {
    list(&trace(fault, variant, count).document("why p.json")["advice"]).clone()
}

/// A place with the profile p.json.
fn trace(fault: &str, variant: &str, count: &str) -> Place {
    let place = Place::new();
    let program = faults().to_str().unwrap();
    let words =
        format!("--paths -o p.json --report /dev/null -- {program} {fault} {variant} {count}");
    // cargo sets it to directories that the loader searches in vain: on a busy machine those failed opens become advice.
    let mut trace = place.command(("trace", &words));
    let output = trace.env_remove("LD_LIBRARY_PATH").output().unwrap();
    expect_status(&output, 0);
    place
}

fn tells(&(fault, rule, name, count): &(&str, &str, &str, &str)) {
    let of_rule = |all: Vec<Value>| all.into_iter().find(|advice| advice["rule"] == rule);
    let faulty = traced(fault, "faulty", count);
    let one = of_rule(faulty.clone()).unwrap_or_else(|| panic!("{fault}: {faulty:#?}"));
    assert_eq!(one["process"], "faults", "{one:#}");
    assert!(list(&one["names"]).contains(&name.into()), "{one:#}");
    let fixed = of_rule(traced(fault, "fixed", count));
    assert_eq!(fixed, None, "{fault} fixed");
}

/// By paths, and by prices.
#[test]
fn ordinary_users_are_told_what_is_wrong_with_a_real_program() {
    let place = Place::new().opened();
    let program = faults().to_str().unwrap();
    let line = format!("why --report - --format json -- {program} open-again faulty 10000");
    let document = json(&place.command_without_rights(line).output().unwrap());
    let advice = list(&document["advice"]).iter();
    let rules: Vec<&Value> = advice.map(|advice| &advice["rule"]).collect();
    assert!(rules.contains(&&Value::from("open-again")), "{document:#}");
}

#[test]
fn real_programs_are_told_what_is_wrong_with_them() {
    if !has_bpf() {
        return;
    }
    let names = FAULTS.map(|(fault, ..)| fault);
    let walked = one_of_each_kind(&names, &KINDS);
    FAULTS
        .iter()
        .filter(|(fault, ..)| walked.contains(fault))
        .for_each(tells);
    assert_eq!(
        traced("lock-files", "faulty", "300"),
        [] as [Value; 0],
        "a lock file holds a process id"
    );
}
