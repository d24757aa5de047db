//! Bounds of made-up profiles and unit costs.

use super::*;
use crate::model::fixtures::{entering, run};
use crate::model::{ProcessGroup, Record, TracerFacts, Usage};

/// A null call of 100 ns, and rings of 120 ns for one request and of 320 ns for eight.
fn costs(with_ring: bool) -> Costs {
    let batch = |batch: u64, ns: u64| {
        let mut record: Record = entering(ring::OPERATION, ns, &[("io_uring_enter", 1.0)]);
        record.case.params.insert(ring::PARAMETER.into(), batch);
        record
    };
    let mut records = vec![entering("id.getppid", 100, &[("getppid", 1.0)])];
    records.extend(with_ring.then(|| [batch(8, 320), batch(1, 120)]).into_iter().flatten());
    Costs::from_run(&run(records), None).unwrap()
}

fn call(name: &str, calls: u64, on_cpu_ns: u64) -> CallCount {
    CallCount { call: name.into(), calls, on_cpu_ns: Some(on_cpu_ns), blocked_ns: Some(0), ..CallCount::default() }
}

/// One thread that takes a second, all of it on a CPU.
fn profile(calls: Vec<CallCount>) -> Profile {
    let usage = Usage {
        wall_ns: Some(1_000_000_000),
        user_ns: Some(400_000_000),
        system_ns: Some(600_000_000),
        processes: Some(1),
        threads: Some(0),
        ..Usage::default()
    };
    let groups = vec![ProcessGroup { calls, ..ProcessGroup::default() }];
    Profile { usage, groups, complete: true, ..Profile::default() }
}

fn free(profile: &Profile) -> FreeCrossings {
    match bounds(profile, &costs(false), &[WhatIf::FreeCrossings]).remove(0) {
        Bound::FreeCrossings(free) => free,
        other => panic!("{other:?}"),
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} {b}");
}

#[test]
fn free_crossings_save_calls_times_the_null_call() {
    let found = free(&profile(vec![call("getppid", 1_000_000, 150_000_000), call("read", 10, 5_000_000)]));
    near(found.saving.saved.value, 1_000_010.0 * 100e-9);
    let (cpu, wall) = (found.saving.cpu.unwrap(), found.saving.wall.unwrap());
    near(cpu.here_s, 1.0);
    near(cpu.there_s.value, 1.0 - 0.100001);
    near(wall.there_s.value, 1.0 - 0.100001);
    assert!((cpu.most_saved() - 0.100001).abs() < 1e-3, "{cpu:?}");
    assert_eq!(found.rows.iter().map(|row| &*row.name).collect::<Vec<_>>(), ["getppid", "read"]);
}

#[test]
fn no_crossing_takes_longer_than_its_call_and_none_saves_nothing() {
    let short = free(&profile(vec![call("getppid", 1_000_000, 60_000_000)]));
    near(short.saving.saved.value, 0.06);
    let none = free(&profile(vec![]));
    assert_eq!((none.saving.saved, none.rows.len()), (Seconds::default(), 0));
    assert_eq!(none.saving.cpu.map(|cpu| cpu.most_saved()), Some(0.0));
}

#[test]
fn the_tracer_is_no_part_of_what_is_saved_from() {
    let mut traced = profile(vec![call("getppid", 1_000_000, 150_000_000)]);
    let facts = TracerFacts { kind: "bpf".into(), adds_system_time: true, ..TracerFacts::default() };
    traced.tracer = TracerFacts { added_per_call_ns: Some(300.0), ..facts.clone() };
    let (cpu, wall) = (free(&traced).saving.cpu.unwrap(), free(&traced).saving.wall.unwrap());
    near(cpu.here_s, 0.7);
    near(wall.here_s, 0.7);
    traced.tracer = facts;
    let unknown = free(&traced).saving;
    assert_eq!((unknown.cpu, unknown.wall), (None, None));
    near(unknown.saved.value, 0.1);
}

#[test]
fn a_ring_saves_the_crossings_of_what_it_carries_less_its_requests() {
    let calls = vec![
        call("read", 1_000_000, 300_000_000),
        call("write(i386)", 500_000, 100_000_000),
        call("statx", 7, 70_000),
        call("getppid", 1_000_000, 150_000_000),
    ];
    let Bound::IoUring(found) = bounds(&profile(calls), &costs(true), &[WhatIf::IoUring]).remove(0) else { panic!() };
    let batches: Vec<(u64, f64)> = found.batches.iter().map(|batch| (batch.batch, batch.request_ns)).collect();
    assert_eq!(batches, [(1, 120.0), (8, 40.0)]);
    near(found.batches[0].saving.saved.value, 1_500_000.0 * (100e-9 - 120e-9));
    near(found.batches[1].saving.saved.value, 1_500_000.0 * (100e-9 - 40e-9));
    assert_eq!(found.batches[0].saving.cpu.unwrap().most_saved(), 0.0, "one request each costs more");
    assert_eq!(found.handed_over.iter().map(|row| (&*row.name, row.calls)).collect::<Vec<_>>(), [("statx", 7)]);
}

#[test]
fn without_a_measured_ring_there_is_no_bound_of_it() {
    assert_eq!(bounds(&profile(vec![call("read", 9, 9_000)]), &costs(false), &[WhatIf::IoUring]), []);
}

#[test]
fn threads_share_what_is_saved_or_one_of_them_has_it() {
    let mut parallel = profile(vec![call("getppid", 1_000_000, 150_000_000)]);
    parallel.usage = Usage { threads: Some(1), wall_ns: Some(500_000_000), cpus: Some(2), ..parallel.usage };
    let wall = free(&parallel).saving.wall.unwrap();
    near(wall.there_s.value, 0.45);
    assert!(wall.there_s.low < 0.401 && wall.there_s.high > 0.4499, "{wall:?}");
}
