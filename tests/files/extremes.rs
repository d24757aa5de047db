//! Files with the largest, smallest and emptiest numbers that they may hold, through every table: nothing panics, and no
//! figure is NaN or infinite. What may not be in a file is refused in one line.

use crate::common::{Place, stderr, stdout};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use syscost::model::*;
use syscost::store;

const LARGEST: f64 = 18_446_744_073_709_551_616.0;

fn whole() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(999),
        Just(1_000_000_000),
        Just(1 << 53),
        Just(1 << 62),
        Just(i64::MAX as u64),
        Just(1 << 63),
        Just(u64::MAX)
    ]
}

fn fraction() -> impl Strategy<Value = f64> {
    const REFUSED: &[f64] = &[f64::MAX, 1e300, f64::INFINITY, f64::NAN, -1.0, 2.0 * LARGEST];
    const REST: &[f64] = &[0.0, 5e-324, 1e-300, 1e-9, 0.5, 1.0, 250.0, 1e15, LARGEST];
    prop_oneof![1 => proptest::sample::select(REFUSED), 300 => proptest::sample::select(REST)]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let figure = (fraction(), proptest::option::of(whole()), proptest::option::of(fraction()));
    let figure = figure.prop_map(|(ns, count, user_share)| {
        let user_share = user_share.filter(|share| *share <= 1.0);
        Outcome::Published(Figure { time: Nanos(ns), count, user_share, ..Figure::default() })
    });
    let slots = proptest::collection::vec(proptest::collection::vec(whole(), 0..3), 1..14);
    let cpu = (whole(), whole(), whole());
    let measured = (slots, whole(), cpu, proptest::collection::vec(whole(), 0..3), any::<bool>());
    let measured = measured.prop_map(|(slots, iterations, (user_ns, system_ns, wall_ns), preempted_ns, switches)| {
        let blocks = slots.into_iter().map(|slot| Block { launch: 0, slots: vec![slot] }).collect();
        let cpu = CpuTime { user_ns, system_ns, wall_ns };
        let iterations = iterations.max(1);
        let (minor_faults, major_faults) = (user_ns, system_ns);
        let samples = Measurement {
            iterations,
            blocks,
            cpu,
            preempted_ns,
            minor_faults,
            major_faults,
            switches,
            history: switches,
            earlier: vec![iterations as f64, 0.0],
        };
        Outcome::Measured(samples)
    });
    let batches = proptest::collection::vec((whole(), whole()), 1..4);
    let counted = (whole(), whole(), batches).prop_map(|(fewer, more, batches)| {
        let fewer = fewer.clamp(1, u64::MAX - 1);
        Outcome::Counted(Counted { fewer, more: more.max(fewer + 1), batches })
    });
    prop_oneof![1 => figure, 3 => measured, 1 => counted]
}

/// What attribution, baselines, fits and comparisons look for.
fn cases() -> Vec<(&'static str, &'static str, Vec<u64>)> {
    vec![
        ("call.empty_loop", "", vec![]),
        ("call.direct", "", vec![]),
        ("call.spin", "", vec![]),
        ("id.getppid", "", vec![]),
        ("mem.fault_anonymous", "", vec![]),
        ("io.read_file", "size", vec![1, 4096, 1 << 20, u64::MAX]),
        ("file.stat", "depth", vec![0, 1, 8, 64]),
    ]
}

/// Times at both ends of what the probe counts, of half as many calls as 64 bits hold.
fn single_calls(timer_ns: f64) -> SingleCalls {
    let mut all = Histogram::with_resolution(Histogram::SINGLE);
    [(0, 1), (2047, 1 << 40), (LONGEST_NS, u64::MAX >> 1)]
        .iter()
        .for_each(|(ns, count)| all.add(all.bucket(*ns), *count));
    let preempted = Some(all.clone());
    SingleCalls { timer: Nanos(timer_ns), spent_ns: 0, all, preempted, unseen: u64::MAX, ..SingleCalls::default() }
}

fn record(operation: &str, params: BTreeMap<String, u64>, outcome: Outcome, entered: f64) -> Record {
    let case = Case { params, ..Case::native(operation) };
    Record {
        entries: Some([("read".to_string(), entered)].into_iter().collect()),
        entries_status: EntriesStatus::Verified,
        mode_samples: Some(ModeSamples { user: 0, system: 1 << 40 }),
        latency: Some(Ok(single_calls(entered))),
        ..Record::new(case, outcome)
    }
}

fn run() -> impl Strategy<Value = Run> {
    let count: usize = cases().iter().map(|(_, _, values)| values.len().max(1)).sum();
    let outcomes = proptest::collection::vec((outcome(), fraction()), count);
    (outcomes, fraction(), fraction(), whole()).prop_map(|(outcomes, budget_s, precision_percent, started_unix_s)| {
        let mut outcomes = outcomes.into_iter();
        let mut records = Vec::new();
        for (operation, name, values) in cases() {
            let params = |value: u64| BTreeMap::from([(name.to_string(), value)]);
            let all = if values.is_empty() { vec![BTreeMap::new()] } else { values.into_iter().map(params).collect() };
            for params in all {
                let (outcome, entered) = outcomes.next().unwrap();
                records.push(record(operation, params, outcome, entered));
            }
        }
        Run {
            host: Host { clock_cost_ns: Some(precision_percent), cpus: Some(u32::MAX), ..Host::default() },
            started_unix_s,
            seed: started_unix_s,
            budget_s,
            precision_percent,
            elapsed_s: budget_s,
            complete: true,
            records,
            ..Run::default()
        }
    })
}

/// Numbers of which some can be added.
fn addend() -> impl Strategy<Value = u64> {
    prop_oneof![1 => whole(), 12 => proptest::sample::select(&[0, 1, 999, 1 << 40, 1 << 53, 1 << 60][..])]
}

fn count() -> impl Strategy<Value = CallCount> {
    let name = proptest::sample::select(&["read", "stat", "getppid", "fork", "nosuch"][..]);
    let size = proptest::option::of(whole());
    let times = proptest::array::uniform5(proptest::option::of(addend()));
    (name, size, times, addend()).prop_map(
        |(name, size, [on_cpu_ns, blocked_ns, preempted_ns, elapsed_ns, bytes], calls)| {
            let class = Class { size: size.filter(|_| name == "read"), ..Class::default() };
            let errors = [("EIO".to_string(), calls)].into();
            let call = name.to_string();
            CallCount {
                call,
                class,
                calls,
                samples: None,
                unfinished: calls,
                errors,
                on_cpu_ns,
                blocked_ns,
                stalled_ns: blocked_ns,
                runnable_ns: preempted_ns,
                woken_ns: None,
                elapsed_ns,
                bytes,
            }
        },
    )
}

/// The shortest and the longest duration.
fn extreme_histogram() -> Histogram {
    let mut histogram = Histogram::default();
    [0, u64::MAX].into_iter().for_each(|ns| histogram.record(ns));
    histogram
}

fn profile() -> impl Strategy<Value = Profile> {
    let counts = proptest::collection::vec(count(), 1..3);
    let usage = proptest::array::uniform8(proptest::option::of(whole()));
    let added = proptest::array::uniform2(proptest::option::of(fraction()));
    let kind = proptest::sample::select(&["bpf", "ptrace"][..]);
    (counts, usage, added, kind).prop_map(|(calls, usage, added, kind)| {
        let [wall_ns, user_ns, system_ns, minor_faults, major_faults, processes, threads, cpus] = usage;
        let [added_per_call_ns, offset_per_call_ns] = added;
        let latencies = [("read".to_string(), extreme_histogram())].into();
        Profile {
            tracer: TracerFacts {
                kind: kind.into(),
                adds_system_time: Some(kind == "bpf"),
                added_per_call_ns,
                offset_per_call_ns,
                ..TracerFacts::default()
            },
            usage: Usage {
                wall_ns,
                user_ns,
                system_ns,
                minor_faults,
                major_faults,
                processes,
                threads,
                cpus,
                ..Usage::default()
            },
            groups: vec![ProcessGroup { name: "a".into(), user_ns, system_ns, calls, ..ProcessGroup::default() }],
            latencies,
            complete: true,
            ..Profile::default()
        }
    })
}

/// Everything that shows a run, two runs or a profile.
const COMMANDS: [&[&str]; 20] = [
    &["show", "a.json"],
    &["show", "a.json", "--format", "csv"],
    &["show", "a.json", "--format", "json"],
    &["show", "a.json", "--format", "markdown", "--sort", "cost"],
    &["show", "a.json", "--view", "cmpthese"],
    &["show", "a.json", "--view", "distribution"],
    &["show", "a.json", "--view", "latency"],
    &["show", "p.json"],
    &["show", "p.json", "--by", "class", "--format", "csv"],
    &["show", "p.json", "--format", "json"],
    &["compare", "a.json", "b.json"],
    &["compare", "a.json", "b.json", "--format", "csv"],
    &["compare", "a.json", "b.json", "--format", "json"],
    &["show", "a.json", "--format", "go-benchmark"],
    &["report", "a.json", "-o", "-"],
    &["report", "a.json", "b.json", "-o", "-"],
    &["attribute", "p.json"],
    &["attribute", "p.json", "--costs", "a.json", "--versus", "b.json"],
    &["attribute", "p.json", "--costs", "a.json", "--versus", "b.json", "--by", "class", "--format", "csv"],
    &["attribute", "p.json", "--costs", "a.json", "--versus", "b.json", "--format", "json"],
];

/// A page without its scripts, whose language has such words.
fn without_scripts(text: &str) -> String {
    let kept = |part: &str| part.split_once("</script>").map_or(part, |(_, rest)| rest).to_string();
    text.split("<script").map(kept).collect()
}

/// The first line with a word that is no figure.
fn no_figure(text: &str) -> Option<&str> {
    let is_none = |word: &str| ["nan", "inf", "infinity"].contains(&word.to_ascii_lowercase().as_str());
    text.lines().find(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).any(is_none))
}

fn check(place: &Place, arguments: &[&str]) {
    let output = place.run(arguments);
    let (text, errors) = (without_scripts(&stdout(&output)), stderr(&output));
    let status = output.status.code();
    assert!(matches!(status, Some(0..=2)), "{arguments:?}: {status:?}: {errors}");
    assert!(errors.lines().count() <= 1, "{arguments:?}: {errors}");
    assert_eq!(no_figure(&text), None, "{arguments:?}");
    let lost = |line: &&str| line.contains("on CPU for") && (line.contains("for 0%") || line.contains("(0%)"));
    assert_eq!(text.lines().find(lost), None, "{arguments:?}");
}

#[test]
fn what_a_file_may_hold_can_be_shown() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 100, failure_persistence: None, max_shrink_iters: 40, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let shown = std::cell::Cell::new(0);
    runner
        .run(&(run(), run(), profile()), |(a, b, p)| {
            let runs = store::write(&a, &at("a.json")).and_then(|()| store::write(&b, &at("b.json")));
            let profile = store::write(&p, &at("p.json"));
            for refusal in [&runs, &profile].into_iter().filter_map(|result| result.as_ref().err()) {
                assert_eq!(refusal.to_string().lines().count(), 1, "{refusal}");
            }
            if runs.is_ok() && profile.is_ok() {
                shown.set(shown.get() + 1);
                COMMANDS.iter().for_each(|arguments| check(&place, arguments));
            }
            Ok(())
        })
        .unwrap();
    assert!(shown.get() > 5, "only {} were not refused", shown.get());
}
