//! Parts of synthetic profiles, whose sums are known.

use super::*;
use PartKind::*;
use model::fixtures::{called, profile};
use model::{Concurrency, Usage};

fn call(name: &str, on_cpu_ns: u64, blocked_ns: u64, stalled_ns: Option<u64>) -> CallCount {
    CallCount {
        on_cpu_ns: Some(on_cpu_ns),
        blocked_ns: Some(blocked_ns),
        stalled_ns,
        ..called(name, 1)
    }
}

fn with_usage(usage: Usage, calls: Vec<CallCount>) -> Profile {
    Profile {
        usage,
        ..profile(calls)
    }
}

fn one_thread(wall_ns: u64, user_ns: u64, system_ns: u64) -> Usage {
    Usage {
        wall_ns: Some(wall_ns),
        user_ns: Some(user_ns),
        system_ns: Some(system_ns),
        processes: Some(1),
        threads: Some(0),
        ..Usage::default()
    }
}

fn parts(profile: &Profile) -> Vec<(PartKind, f64)> {
    let time_spent = spent(profile);
    let sum: f64 = time_spent.parts.iter().map(Part::seconds).sum();
    let whole_s = time_spent.whole_s().unwrap_or(sum);
    assert!((sum / whole_s - 1.0).abs() < 0.01, "{time_spent:?}");
    time_spent
        .parts
        .iter()
        .map(|part| (part.kind, (part.seconds() * 1e9).round()))
        .collect()
}

const DISK: PartKind = Blocked {
    reason: Reason::Disk,
};

#[test]
fn few_samples_give_a_range_and_many_a_value() {
    fn part(kind: PartKind, seconds: f64) -> Part {
        Part {
            kind,
            wall_s: Some(seconds),
            cpu_s: None,
            what: Vec::new(),
        }
    }

    fn range(samples: u64, kind: PartKind) -> Option<[f64; 2]> {
        let time = Spent {
            samples: Some(samples),
            parts: vec![part(kind, 0.5), part(PartKind::PageFaults, 0.5)],
            ..Spent::default()
        };
        time.sampled_s(&time.parts[0])
    }

    let [low_s, high_s] = range(10, PartKind::UserMode).unwrap();
    assert!(0.2 < low_s && low_s < 0.5 && 0.5 < high_s && high_s < 0.8);
    assert_eq!(range(10_000, PartKind::UserMode), None);
    assert_eq!(range(10, PartKind::WaitingForCpu), None, "it is measured");
}

#[test]
fn one_thread_is_known_by_the_accounting_and_its_calls() {
    fn calls() -> Vec<CallCount> {
        vec![call("read", 100, 600, None), call("fsync", 40, 50, None)]
    }

    let short = with_usage(one_thread(1000, 200, 100), calls());
    let expected = [
        (
            Blocked {
                reason: Reason::Other,
            },
            600.0,
        ),
        (UserOrSystem, 160.0),
        (Calls, 140.0),
        (DISK, 50.0),
        (Rest, 50.0),
    ];
    assert_eq!(parts(&short), expected);
    // No more is on a CPU than is left of the wall time.
    let full = parts(&with_usage(one_thread(700, 200, 100), calls()));
    assert_eq!(full.iter().map(|(_, ns)| ns).sum::<f64>(), 700.0);
    let time_spent = spent(&short);
    assert!(time_spent.parts[2].what == ["read", "fsync"] && time_spent.parallel_s().is_none());
    assert_eq!(
        parts(&with_usage(Usage::default(), calls())),
        [(Calls, 140.0)]
    );
}

#[test]
fn ticks_divide_what_is_long_enough() {
    fn several(processes: u64) -> Usage {
        Usage {
            processes: Some(processes),
            ..one_thread(0, 1_200_000_000, 800_000_000)
        }
    }

    fn busy(processes: u64, read_ns: u64) -> Profile {
        with_usage(several(processes), vec![call("read", read_ns, 0, None)])
    }

    let expected = [(UserMode, 1.2e9), (Calls, 5e8), (OtherSystem, 3e8)];
    assert_eq!(parts(&busy(2, 500_000_000)), expected);
    let expected = [(UserOrSystem, 1.5e9), (Calls, 5e8)];
    assert_eq!(parts(&busy(400, 500_000_000)), expected);
    // Calls are system time whatever ticks found, and the tracer had no more than there was.
    let mut beyond = busy(2, 1_900_000_000);
    beyond.tracer.adds_system_time = Some(true);
    beyond.tracer.added_total_ns = Some(600_000_000);
    assert_eq!(parts(&beyond), [(Calls, 1.9e9), (Tracer, 1e8)]);
}

/// 1,000 calls in 20 ms of wall time, 5 of them in user mode and 8 in the kernel.
#[test]
fn stops_are_taken_from_what_is_not_known_and_from_the_kernel() {
    fn stopped(added_ns: f64) -> Profile {
        let calls = vec![called("read", 1000)];
        let mut profile = with_usage(one_thread(20_000_000, 5_000_000, 8_000_000), calls);
        profile.usage.processes = Some(1);
        profile.tracer.adds_system_time = Some(false);
        profile.tracer.added_per_call_ns = Some(added_ns);
        profile
    }

    fn long(mut profile: Profile) -> Profile {
        let usage = &mut profile.usage;
        for ns in [&mut usage.wall_ns, &mut usage.user_ns, &mut usage.system_ns] {
            *ns = ns.map(|ns| 100 * ns);
        }
        profile
    }

    let expected = [(All, 13e6), (Rest, 5e6), (Tracer, 2e6)];
    assert_eq!(parts(&stopped(2000.0)), expected);
    let mut actual = parts(&long(stopped(200_000.0)));
    actual.sort_by_key(|(kind, _)| format!("{kind:?}"));
    let expected = [
        (AllSystem, 8e8),
        (Rest, 5e8),
        (Tracer, 2e8),
        (UserMode, 5e8),
    ];
    assert_eq!(actual, expected);
    // Nothing is left beside the stops.
    let hidden = long(stopped(500_000.0));
    assert_eq!(parts(&hidden), [(Stops, 1.5e9), (UserMode, 5e8)]);
    let actual = spent(&hidden);
    assert_eq!(
        (actual.parts[0].cpu_s, actual.untraced_s(0.0)),
        (Some(0.8), Some(0.5))
    );
}

#[test]
fn threads_that_run_at_once_share_the_wall_time() {
    // 400 ns with one thread on a CPU, 200 with two: 800 of CPU time in 600 of wall time.
    let states = Concurrency {
        on_cpu_ns: vec![400, 200],
        waiting_ns: 100,
        blocked_ns: 300,
    };
    let usage = Usage {
        wall_ns: Some(1010),
        concurrency: Some(states),
        ..Usage::default()
    };
    let profile = with_usage(usage, vec![call("fsync", 200, 9000, Some(250))]);
    let expected = [
        (UserOrSystem, 450.0),
        (DISK, 250.0),
        (Calls, 150.0),
        (WaitingForCpu, 100.0),
        (BlockedOutside, 50.0),
        (Rest, 10.0),
    ];
    assert_eq!(parts(&profile), expected);
    let time_spent = spent(&profile);
    let [cpu_s, parallel_s] = [time_spent.cpu_s, time_spent.parallel_s()].map(Option::unwrap);
    assert!((cpu_s - 8e-7).abs() < 1e-12 && (parallel_s - 2e-7).abs() < 1e-12);
}

#[test]
fn threads_that_are_all_blocked_at_the_end_wait_in_the_call_of_the_last() {
    let thread = model::Thread::default();
    let wait = |call: &str, blocked_ns| WaitCount {
        call: call.into(),
        open: true,
        blocked_ns,
        stalled_ns: Some(0),
        ..WaitCount::default()
    };
    let usage = Usage {
        wall_ns: Some(100),
        user_ns: Some(10),
        system_ns: Some(0),
        threads: Some(1),
        concurrency: Some(Concurrency {
            on_cpu_ns: vec![10],
            waiting_ns: 0,
            blocked_ns: 90,
        }),
        ..Usage::default()
    };
    let mut hung = Profile {
        waits: vec![wait("futex", 80), wait("wait4", 95)],
        threads: vec![thread.clone(), thread.clone()],
        ..with_usage(usage, Vec::new())
    };
    let lock = Blocked {
        reason: Reason::Lock,
    };
    let parts_of = |profile: &Profile| parts(profile)[..2].to_vec();
    assert_eq!(parts_of(&hung), [(lock, 80.0), (All, 10.0)]);
    // One of them runs.
    hung.threads.push(thread);
    assert_eq!(parts_of(&hung), [(BlockedOutside, 90.0), (All, 10.0)]);
}
