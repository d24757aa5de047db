//! Advice on made profiles of several processes and threads: forks, programs for each item, wake-ups.

use crate::advice::*;
use model::DescriptorKind::File;

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
    assert_eq!(all_advice(&family(&["find"], "true", 15)), []);
    // What a build starts, directly or by a compiler driver.
    assert_eq!(all_advice(&family(&["make"], "cc1", 300)), []);
    assert_eq!(all_advice(&family(&["find", "gcc"], "cc1", 300)), []);
    let mut computing = family(&["find"], "gzip", 300);
    computing.groups[1].user_ns = Some(30_000_000_000);
    assert_eq!(
        all_advice(&computing),
        [],
        "it works, and does not only start"
    );
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
        all_advice(&ran)
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
    assert_eq!(all_advice(&herd(64, 3_000)), [], "each wakes about one");
    assert_eq!(
        all_advice(&herd(1, 51_000)),
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
    let alone = all_advice(&profile);
    profile.usage.waiting_ns = Some(7_000_000_000);
    assert_eq!(all_advice(&profile), alone);
    assert_eq!(alone, [], "1 ms of a second");
}
