//! What the tests of result files work on: the examples of FORMAT.md, and strategies for runs and for damaged files.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use syscost::model::*;
use syscost::store;

pub fn json(run: &Run) -> String {
    let mut bytes = Vec::new();
    store::write_to(run, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn record(operation: &str, outcome: Outcome) -> Record {
    let entries_status = EntriesStatus::Unverified("ptrace: EPERM".into());
    Record { entries_status, ..Record::new(Case::native(operation), outcome) }
}

fn measured() -> Record {
    let slots = |times: [u64; 3]| times.map(|ns| vec![ns]).to_vec();
    let measurement = Measurement {
        iterations: 4096,
        blocks: vec![
            Block { launch: 0, slots: slots([1_902_114, 1_899_870, 1_904_502]) },
            Block { launch: 1, slots: slots([1_911_026, 1_908_333, 1_907_641]) },
        ],
        cpu: CpuTime { user_ns: 2_150_000, system_ns: 11_240_000, wall_ns: 13_462_018 },
        preempted_ns: vec![2_028_532],
        minor_faults: 2,
        major_faults: 0,
        switches: false,
        history: false,
        earlier: vec![10.25, 10.375],
    };
    let mut record = record("file.lstat", Outcome::Measured(measurement));
    record.case.params.insert("depth".into(), 4);
    record.case.defaults.insert("entries".into(), 0);
    record.entries = Some([("newfstatat".to_string(), 1.0)].into_iter().collect());
    record.entries_status = EntriesStatus::Verified;
    record.mode_samples = Some(ModeSamples { user: 98, system: 512 });
    let counted = [("instructions:k", vec![2841.3, 2841.45, 2841.35]), ("cycles:k", vec![])];
    record.counters = Some(counted.map(|(event, launches)| (event.to_string(), launches)).into());
    record
}

/// The first example of FORMAT.md: a run of this tool.
pub fn example() -> Run {
    let host = Host {
        system: Some("Linux".into()),
        kernel: Some("6.12.48".into()),
        architecture: Some("x86_64".into()),
        cpus: Some(8),
        clock_source: Some("tsc".into()),
        ..Host::default()
    };
    let failed = Outcome::Failed(Failure::new(FailureKind::Unsupported, "io_uring_setup: EPERM"));
    Run {
        tool: Tool { name: "syscost".into(), version: "0.1.0".into(), compiler: "gcc 14.2.0".into() },
        host,
        started_unix_s: 1_767_225_600,
        seed: 42,
        budget_s: 60.0,
        precision_percent: 1.0,
        elapsed_s: 58.25,
        complete: true,
        records: vec![measured(), record("io.uring_nop", failed)],
        ..Run::default()
    }
}

/// The second example of FORMAT.md: a figure that somebody else measured.
pub fn published() -> Run {
    let figure = Figure {
        time: Nanos(464.0),
        as_printed: "31.12 s for 67108864 calls".into(),
        count: Some(67_108_864),
        user_share: None,
    };
    let mut record = record("id.getppid", Outcome::Published(figure));
    record.entries_status = EntriesStatus::Unverified("taken from an article".into());
    let source = Source { title: "An article, 2019".into(), note: "CPU and kernel are not told".into() };
    Run { records: vec![record], source: Some(source), host: Host::default(), ..example() }
}

/// The third example of FORMAT.md: a kernel in an emulated machine.
pub fn emulated() -> Run {
    let counted = Counted { fewer: 16, more: 116, batches: vec![(9_112, 42_212), (9_112, 42_212)] };
    let mut record = record("id.getppid", Outcome::Counted(counted));
    record.case.environment = "linux-6.1".into();
    record.entries_status = EntriesStatus::Unverified("no ptrace pass in an emulated machine".into());
    let environment = EnvironmentFacts {
        name: "linux-6.1".into(),
        unit: Unit::Instructions,
        started_with: vec![],
        kernel: Some("6.1.0-28-amd64".into()),
        emulator: Some("qemu-system-x86_64 7.2.13".into()),
        notes: vec![],
        host: None,
    };
    Run { records: vec![record], environments: vec![environment], ..example() }
}

/// Names as a hostile file may have them.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z.]{1,12}", "\\PC{1,20}", vec(any::<char>(), 1..20).prop_map(String::from_iter)]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e6, Just(1.0 / 3.0), Just(u64::MAX as f64), Just(5e-324)]
}

prop_compose! {
    fn any_case()(operation in text(), name in option::of(text()), language in option::of(text()),
        environment in text(), params in btree_map(text(), any::<u64>(), 0..3),
        defaults in btree_map(text(), any::<u64>(), 0..3)) -> Case {
        Case { operation, name, language, prelude: String::new(), setup: String::new(), environment, params, defaults }
    }
}

prop_compose! {
    fn any_measurement()(iterations in 1..u64::MAX, user_ns in any::<u64>(), minor_faults in any::<u64>(),
        blocks in vec((any::<u32>(), vec(vec(any::<u64>(), 0..3), 0..4)), 0..3),
        preempted_ns in vec(any::<u64>(), 0..3), switches in any::<bool>(), earlier in vec(number(), 0..3)) -> Outcome {
        let blocks = blocks.into_iter().map(|(launch, slots)| Block { launch, slots }).collect();
        let cpu = CpuTime { user_ns, system_ns: 1, wall_ns: u64::MAX };
        let (major_faults, history) = (3, !switches);
        Outcome::Measured(Measurement {
            iterations, blocks, cpu, preempted_ns, minor_faults, major_faults, switches, history, earlier,
        })
    }
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    use FailureKind::*;
    let kind = proptest::sample::select(vec![Unsupported, Failed, Timeout, Crashed, Start, Interrupted]);
    let figure = (number(), text(), option::of(1..u64::MAX), option::of(0.0..=1.0f64)).prop_map(
        |(time, as_printed, count, user_share)| {
            Outcome::Published(Figure { time: Nanos(time), as_printed, count, user_share })
        },
    );
    let failed = (kind, any::<String>()).prop_map(|(kind, text)| Outcome::Failed(Failure::new(kind, text)));
    prop_oneof![any_measurement(), failed, figure, any_counted()]
}

prop_compose! {
    fn any_counted()(fewer in 1..u64::MAX - 1, more in 1..100u64,
        batches in vec((any::<u64>(), any::<u64>()), 1..4)) -> Outcome {
        Outcome::Counted(Counted { fewer, more: fewer.saturating_add(more), batches })
    }
}

prop_compose! {
    fn any_environment()(name in text(), counted in any::<bool>(), started_with in vec(any::<String>(), 0..3),
        kernel in option::of(any::<String>()), emulator in option::of(any::<String>()),
        notes in vec(any::<String>(), 0..2)) -> EnvironmentFacts {
        let unit = if counted { Unit::Instructions } else { Unit::Nanoseconds };
        EnvironmentFacts { name, unit, started_with, kernel, emulator, notes, host: None }
    }
}

prop_compose! {
    fn any_counters()(counted in btree_map(text(), vec(number(), 0..3), 0..3)) -> Counters {
        counted.into_iter().collect()
    }
}

prop_compose! {
    fn any_times()(buckets in btree_map(0..64 * 512u16, 1..1_000_000_000u64, 1..20)) -> Histogram {
        let mut histogram = Histogram::with_resolution(Histogram::SINGLE);
        histogram.counts = buckets;
        histogram
    }
}

fn half(all: &Histogram) -> Histogram {
    let mut half = all.clone();
    half.counts.retain(|bucket, _| bucket % 2 == 0);
    half
}

prop_compose! {
    fn any_calls()(all in any_times(), timer in number(), tick in number(), spent_ns in any::<u64>(),
        apart in any::<bool>(), waits in any::<u64>()) -> SingleCalls {
        let preempted = apart.then(|| half(&all));
        let interrupted = apart.then(|| Histogram::with_resolution(Histogram::SINGLE));
        SingleCalls { timer: Nanos(timer), tick: Nanos(tick), spent_ns, all, preempted, interrupted, waits, unseen: 3 }
    }
}

fn any_latency() -> impl Strategy<Value = Result<SingleCalls, String>> {
    prop_oneof![any_calls().prop_map(Ok), any::<String>().prop_map(Err)]
}

prop_compose! {
    fn any_record()(case in any_case(), outcome in any_outcome(), baseline in any::<bool>(),
        entries in option::of(btree_map(text(), number(), 0..3)), reason in option::of(any::<String>()),
        modes in option::of((any::<u64>(), any::<u64>())), counters in option::of(any_counters()),
        latency in option::of(any_latency()), warnings in vec(any::<String>(), 0..2)) -> Record {
        let role = if baseline { Role::Baseline } else { Role::Asked };
        let entries_status = reason.map_or(EntriesStatus::Verified, EntriesStatus::Unverified);
        let entries = entries.map(|e| e.into_iter().collect());
        let mode_samples = modes.map(|(user, system)| ModeSamples { user, system });
        let entries_counted_unix_s = mode_samples.map(|modes| modes.user);
        Record { role, entries, entries_status, entries_counted_unix_s, mode_samples, counters, latency, warnings,
            ..Record::new(case, outcome) }
    }
}

prop_compose! {
    pub fn any_run()(records in vec(any_record(), 0..4), warnings in vec(any::<String>(), 0..2), seed in any::<u64>(),
        elapsed_s in number(), name in option::of(text()), load_1min in option::of(number()),
        source in option::of((text(), any::<String>())), complete in any::<bool>(), study in option::of(any_study()),
        again in vec((any::<u64>(), vec(prop_oneof![any_measurement(), any_counted()], 4),
            vec(any::<String>(), 0..2)), 0..3), environments in vec(any_environment(), 0..3)) -> Run {
        let source = source.map(|(title, note)| Source { title, note });
        let host = Host { name, load_1min, taxes: vec![Tax::default()], ..Host::default() };
        let repeats = again.into_iter().map(|(seed, outcomes, warnings)| {
            repeat(&Run { records: records.clone(), environments: environments.clone(), ..example() }, seed, outcomes, warnings)
        });
        let repeats = repeats.collect();
        Run { records, warnings, seed, elapsed_s, host, source, study, complete, repeats, environments, ..example() }
    }
}

/// A further run of the cases of `first`, in which the last one fails.
pub fn repeat(first: &Run, seed: u64, outcomes: Vec<Outcome>, warnings: Vec<String>) -> Run {
    let failed = Outcome::Failed(Failure::new(FailureKind::Timeout, "no answer"));
    let outcomes = outcomes.into_iter().take(first.records.len().saturating_sub(1)).chain([failed]);
    let record =
        |(record, outcome): (&Record, Outcome)| Record { outcome, warnings: warnings.clone(), ..record.clone() };
    let records = first.records.iter().zip(outcomes).map(record).collect();
    Run { seed, records, warnings: warnings.clone(), complete: true, ..first.clone() }
}

prop_compose! {
    fn any_study()(name in text(), title in any::<String>(), answer in any::<String>(), label in text(),
        ratio in any::<bool>(), calls in 1..u64::MAX, views in vec(text(), 0..2)) -> StudyView {
        let combination = if ratio { Combination::Ratio } else { Combination::Difference };
        let derived = vec![Derived { name: label.clone(), combination, of: [label.clone(), label.clone()] }];
        let scales = vec![Scale { calls, unit: "s".into(), cases: vec![label] }];
        StudyView { name, title, question: String::new(), answer, views, derived, scales }
    }
}
