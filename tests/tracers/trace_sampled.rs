//! Sampled CPUs: where the time went, without counts of calls.

use crate::bpf_support::{count, open_for, rows, run, workload};
use crate::common::*;
use model::{CallCount, Profile, USER_MODE};
use trace::Detail::Samples;
use trace::{Grouping, More, Root, Running, Target, Until};

fn all(profile: &Profile) -> impl Iterator<Item = &CallCount> {
    profile.calls()
}

fn samples(profile: &Profile, call: &str) -> u64 {
    rows(profile, call).map(|row| row.samples.unwrap()).sum()
}

/// 40 sleeps of 5 ms, then a loop in user mode.
#[test]
fn waits_are_timed_and_the_rest_is_samples() {
    let collected = needs!(run("blocked", Samples));
    assert!(
        all(&collected).all(|row| row.calls == 0 && row.samples.is_some() && row.errors.is_empty())
    );
    let slept = rows(&collected, "clock_nanosleep")
        .map(|row| row.blocked_ns.unwrap())
        .sum::<u64>();
    // Not 200: a thread that is preempted on its way to sleep waits less than it asked for.
    assert!(slept >= 100_000_000, "{slept}");
    let in_user_mode = samples(&collected, USER_MODE);
    assert!(
        in_user_mode > samples(&collected, "clock_nanosleep"),
        "{in_user_mode}"
    );
    let on_cpu: u64 = all(&collected).map(|row| row.on_cpu_ns.unwrap()).sum();
    let accounted = collected.usage.user_ns.unwrap() + collected.usage.system_ns.unwrap();
    assert!(
        on_cpu.abs_diff(accounted) < 1_000,
        "{on_cpu} of {accounted}"
    );
    assert!(
        collected.usage.voluntary_switches >= Some(40) && collected.tracer.sampled_hz.is_some()
    );
}

#[test]
fn calls_are_found_in_the_kernel() {
    let collected = needs!(run("leaf 3000000", Samples));
    let (calls, whole) = (samples(&collected, "getppid"), collected.samples().unwrap());
    assert!(
        calls > 5 && count(&collected, "getppid") == 0,
        "{calls} of {whole}"
    );
    let others = all(&collected).filter(|row| row.call != "getppid" && !row.call.starts_with('['));
    let others: u64 = others.map(|row| row.samples.unwrap()).sum();
    assert!(
        others * 4 < calls,
        "{others} samples in other calls, {calls} in getppid"
    );
}

#[test]
fn threads_and_children_are_followed() {
    let collected = needs!(run("tree", Samples));
    assert!(
        collected.usage.processes > Some(3) && collected.usage.threads > Some(0),
        "{:?}",
        collected.usage
    );
    // An orphan, after everybody else.
    assert!(rows(&collected, "clock_nanosleep").any(|row| row.blocked_ns >= Some(100_000_000)));
}

#[test]
fn what_a_running_process_waits_in_is_known() {
    if workload().is_none() {
        return;
    }
    let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
    sleep(Duration::from_millis(60));
    let what = Running::Processes(vec![sleeper.id()]);
    let target = Target::Running(what.clone());
    let mut tracer = open_for(
        target,
        Samples,
        More {
            grouping: Grouping::Process,
            ..More::default()
        },
    );
    tracer.attach(Root::Running(what)).unwrap();
    tracer
        .follow(&Until {
            after: Some(Duration::from_millis(300)),
            ..Until::default()
        })
        .unwrap();
    let (so_far, _) = tracer.snapshot().unwrap();
    let collected = tracer.collect().unwrap();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    for profile in [&so_far, &collected] {
        let slept: u64 = rows(profile, "clock_nanosleep")
            .map(|row| row.blocked_ns.unwrap())
            .sum();
        assert!(
            slept >= 300_000_000 && profile.groups[0].pid == Some(sleeper.id()),
            "{slept}"
        );
    }
}

#[test]
fn a_sampled_profile_is_shown_and_never_priced() {
    let program = needs!(workload().and_then(Path::to_str));
    let place = Place::new();
    let traced = place.run(format!("trace --sampled -o p.json {program} leaf 300000"));
    assert!(
        traced.status.success() && stderr(&traced).contains("% CPU"),
        "{}",
        stderr(&traced)
    );
    for command in ["show", "why"] {
        let document = json(&place.run(format!("{command} p.json --format json")));
        expect_valid("profile-summary-3", &document);
        assert_eq!(document["total"]["calls"], 0, "{command}");
    }
    for line in [
        "compare p.json p.json",
        "trace --sampled --by class true",
        "trace --sampled --counts true",
    ] {
        expect_status(&place.run(line), 2);
    }
}

#[test]
fn top_shows_shares_without_counts() {
    if workload().is_none() {
        return;
    }
    let mut busy = Command::new("yes").stdout(Stdio::null()).spawn().unwrap();
    let place = Place::new();
    let pid = busy.id().to_string();
    let once = |by: &str, format: &str| {
        place.run(format!(
            "top --sampled -p {pid} --count 1 --interval 0.5 --by {by} --format {format}"
        ))
    };
    let (text, document) = (once("process", "text"), json(&once("call", "json")));
    let refused = once("class", "text");
    busy.kill().unwrap();
    busy.wait().unwrap();
    let (text, said) = (stdout(&text), stderr(&refused));
    expect_in(&text, "by samples of 1 caller");
    expect_not_in(&text, "calls/s");
    expect_valid("top-2", &document);
    let rows = list(&document["rows"]);
    assert!(
        rows.iter()
            .all(|row| row["calls"] == 0 && row["samples"].is_u64()),
        "{rows:?}"
    );
    assert!(
        rows.iter().any(|row| row["call"] == "write")
            && document["total"]["on_cpu_share"].as_f64().unwrap() > 0.0,
        "{document}"
    );
    assert!(
        refused.status.code() == Some(2) && said.contains("process, call or cgroup"),
        "{said}"
    );
}
