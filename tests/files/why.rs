//! `syscost why` of a kept profile: parts that add up, the arithmetic of a published article, and errors of one line. Nothing is
//! measured here.
//!
//! `SNAPSHOTS=overwrite cargo test --test files why` rewrites tests/why/*.golden.

use crate::common::{Place, expect_file, expect_valid, file, stderr, stdout};
use analysis::attribute::units;
use model::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

fn expect_golden(name: &str, actual: &str) {
    expect_file(format!("tests/why/{name}.golden"), actual);
}

fn record(operation: &str, params: &[(&str, u64)], ns: f64, entries: &[&str]) -> Record {
    let mut case = Case::native(operation);
    case.params = params
        .iter()
        .map(|(name, value)| (name.to_string(), *value))
        .collect::<BTreeMap<_, _>>();
    let figure = Figure {
        time: Nanos(ns),
        as_printed: format!("{ns} ns"),
        ..Figure::default()
    };
    Record {
        entries: Some(entries.iter().map(|name| (name.to_string(), 1.0)).collect()),
        entries_status: EntriesStatus::Verified,
        ..Record::new(case, Outcome::Published(figure))
    }
}

/// Made-up unit costs, each multiplied by `factor`.
fn costs(factor: f64, title: &str) -> Run {
    let r = |op, params: &[(&str, u64)], ns: f64, call| record(op, params, ns * factor, &[call]);
    let records = vec![
        r("id.getppid", &[], 50.0, "getppid"),
        r("socket.send_recv", &[], 700.0, "sendto"),
        r("io.read_file", &[("size", 1)], 100.0, "read"),
        r("io.read_file", &[("size", 4096)], 500.0, "read"),
        r(
            "file.stat",
            &[("depth", 1), ("entries", 0)],
            400.0,
            "newfstatat",
        ),
        r(
            "file.stat",
            &[("depth", 4), ("entries", 0)],
            800.0,
            "newfstatat",
        ),
        r("file.stat_absent", &[], 300.0, "newfstatat"),
        r(
            "file.open_close",
            &[("depth", 1), ("entries", 0)],
            900.0,
            "openat",
        ),
        r(
            "file.open_close",
            &[("depth", 8), ("entries", 0)],
            1600.0,
            "openat",
        ),
        r("fd.close", &[], 100.0, "close"),
        r("mem.mmap_munmap", &[("size", 4096)], 1000.0, "mmap"),
        r("mem.mmap_munmap", &[("size", 1 << 20)], 1200.0, "mmap"),
        r("process.fork_wait", &[("rss", 0)], 100_000.0, "clone"),
        r("process.vfork_wait", &[("rss", 0)], 40_000.0, "vfork"),
        r("process.fork_exec_dynamic", &[], 600_000.0, "execve"),
        record("mem.fault_anonymous", &[], 500.0 * factor, &[]),
    ];
    let source = Some(Source {
        title: title.into(),
        note: String::new(),
    });
    Run {
        tool: assets::tool(),
        complete: true,
        records,
        source,
        ..Run::default()
    }
}

/// Writes q.json, a profile with this usage and these calls (JSON).
fn write_profile(place: &Place, usage: &str, calls: &str) {
    let profile =
        format!(r#"{{"schema": "syscost.profile/1", "usage": {{{usage}}}, "calls": [{calls}]}}"#);
    place.write("q.json", profile);
}

/// A place with unit costs of here and there, the traced profile, and profiles to be written.
fn place() -> Place {
    let place = Place::new();
    store::write(
        &costs(1.0, "a made-up machine"),
        &place.path().join("here.json"),
    )
    .unwrap();
    store::write(
        &costs(2.0, "a machine half as fast"),
        &place.path().join("there.json"),
    )
    .unwrap();
    fs::copy(
        file("tests/profile/traced.json"),
        place.path().join("p.json"),
    )
    .unwrap();
    place
}

const FULL: [&str; 6] = [
    "why",
    "p.json",
    "--costs",
    "here.json",
    "--versus",
    "there.json",
];

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_articles_question_is_answered_with_its_figures() {
    let (linux, mac) = (
        file("published/linux-2.6.32.json"),
        file("published/macosx-10.7.json"),
    );
    let profile = file("studies/mercurial.profile.json");
    let arguments = ["why", &profile, "--costs", &linux, "--versus", &mac];
    let place = Place::new();
    let text = place.printed(&arguments);
    expect_golden("mercurial", &text);
    assert!(
        text.contains("The stat family: 4.55 s more there, so at most 5 s."),
        "{text}"
    );
    assert!(
        text.contains("The bare calls: 7.20 s more there, so at most 8 s."),
        "{text}"
    );
    assert!(
        text.contains("these calls do not explain a difference of minutes."),
        "{text}"
    );
    let document = place.document(&arguments);
    let parts = &document["elsewhere"][0]["parts"];
    // The article: (31.12 - 8.36) x 0.2 and (11.61 - 3.61) x 0.9.
    assert!(
        (number(&parts[0]["change_s"]) - (31.12 - 8.36) * 0.2).abs() < 0.001,
        "{document:#}"
    );
    assert!(
        (number(&parts[1]["change_s"]) - (11.61 - 3.61) * 0.9).abs() < 0.001,
        "{document:#}"
    );
}

#[test]
fn a_profile_is_answered_in_each_format() {
    let place = place();
    let text = place.printed(&FULL);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    expect_golden("full", &text);
    for format in ["markdown", "csv", "json"] {
        expect_golden(
            format,
            &place.printed(&[&FULL[..], &["--format", format]].concat()),
        );
    }
    for arguments in [&FULL[..], &["why", "p.json"]] {
        expect_valid("why-1", &place.document(arguments));
    }
    let report = place.run(&["why", "--report", "answer.txt", "p.json"]);
    assert_eq!(
        (report.status.code(), stdout(&report).as_str()),
        (Some(0), ""),
        "{}",
        stderr(&report)
    );
    assert!(place.read("answer.txt").contains("What could be saved"));
}

#[test]
fn parts_add_up_whatever_is_known() {
    let place = place();
    let outside = r#""outside": {"user_ns": 300000000, "page_faults_ns": 600000000, "interrupts_ns": 50000000, "kernel_ns": 50000000, "samples": 900}"#;
    let one = r#""wall_ns": 4000000000, "user_ns": 1000000000, "system_ns": 2000000000, "processes": 1, "threads": 0"#;
    let states = r#""wall_ns": 4000000000, "user_ns": 1000000000, "system_ns": 2000000000, "concurrency": {"on_cpu_ns": [1000000000, 1000000000], "waiting_ns": 200000000, "blocked_ns": 1500000000}"#;
    let read = r#"{"name": "read", "class": {"size": 1}, "calls": 1000, "on_cpu_ns": 2000000000, "blocked_ns": 450000000}"#;
    let cases = [
        (
            format!("{one}, {outside}"),
            "calls page_faults rest blocked user_mode interrupts kernel",
            Some(4.0),
            Some(3.0),
        ),
        (
            one.to_string(),
            "calls user_mode rest blocked",
            Some(4.0),
            Some(3.0),
        ),
        (
            states.to_string(),
            "blocked_outside calls user_mode rest waiting_for_cpu",
            Some(4.0),
            Some(3.0),
        ),
        (
            r#""user_ns": 1810000, "system_ns": 0"#.to_string(),
            "calls",
            None,
            Some(2.0),
        ),
        (r#""wall_ns": 9"#.to_string(), "calls", None, None),
    ];
    for (usage, kinds, wall_s, cpu_s) in cases {
        write_profile(&place, &usage, read);
        let time = &place.document(&["why", "q.json"])["time"];
        let parts = time["parts"].as_array().unwrap();
        let found: Vec<&str> = parts
            .iter()
            .map(|part| part["kind"].as_str().unwrap())
            .collect();
        assert_eq!(found.join(" "), kinds, "{usage}");
        for (field, whole) in [("wall_s", wall_s), ("cpu_s", cpu_s)] {
            let sum: f64 = parts.iter().filter_map(|part| part[field].as_f64()).sum();
            let near = |found: Option<f64>| {
                whole
                    .zip(found)
                    .is_none_or(|(whole, found)| (found - whole).abs() < 1e-9)
            };
            assert!(
                near(Some(sum)) && near(time[field].as_f64()),
                "{usage}: {time:#}"
            );
            assert_eq!(time[field].is_null(), whole.is_none(), "{usage}: {time:#}");
        }
    }
}

#[test]
fn entering_the_kernel_is_priced_by_a_null_call() {
    let place = place();
    let usage = r#""wall_ns": 1000000000, "user_ns": 500000000, "system_ns": 500000000, "processes": 1, "threads": 0"#;
    write_profile(
        &place,
        usage,
        r#"{"name": "read", "calls": 1000000, "on_cpu_ns": 400000000}"#,
    );
    assert!(place.document(&["why", "q.json"])["entering"].is_null());
    // 1,000,000 x 50 ns of 1 s.
    let document = place.document(&[
        "why",
        "q.json",
        "--costs",
        "here.json",
        "--versus",
        "there.json",
    ]);
    assert!(
        (number(&document["entering"]["share"]) - 0.05).abs() < 1e-9,
        "{document:#}"
    );
}

#[test]
fn calls_are_multiplied_by_the_difference_of_their_costs() {
    let place = place();
    let calls = r#"{"name": "read", "class": {"size": 1}, "calls": 1000, "on_cpu_ns": 300000}, {"name": "keyctl", "calls": 10}, {"name": "vfork", "calls": 3}, {"name": "fsync", "calls": 7, "blocked_ns": 9000}"#;
    write_profile(&place, "", calls);
    let document = place.document(&[
        "why",
        "q.json",
        "--costs",
        "here.json",
        "--versus",
        "there.json",
    ]);
    let found = &document["elsewhere"][0];
    // 1,000 x (200 - 100) ns, and 20 bare crossings x (100 - 50) ns.
    assert!(
        (number(&found["calls"][0]["change_s"]) - 1e-4).abs() < 1e-12,
        "{found:#}"
    );
    assert!(
        (number(&found["total_s"]) - 1.01e-4).abs() < 1e-12,
        "{found:#}"
    );
    let left_out = found["left_out"].as_array().unwrap().iter();
    let left_out: BTreeSet<(&str, &str)> = left_out
        .map(|own| (own["name"].as_str().unwrap(), own["why"].as_str().unwrap()))
        .collect();
    let expected = [
        ("fsync", "waits"),
        ("fsync", "unpriced"),
        ("keyctl", "unpriced"),
        ("vfork", "creates"),
    ];
    assert!(
        expected.iter().all(|one| left_out.contains(one)) || !left_out.contains(&expected[0]),
        "{left_out:?}"
    );
    let several = place.document(&[
        "why",
        "p.json",
        "--costs",
        "here.json",
        "--versus",
        "there.json",
        "--versus",
        "here.json",
    ]);
    let names: Vec<&Value> = several["elsewhere"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| &own["there"])
        .collect();
    assert_eq!(names, ["a machine half as fast", "a made-up machine"]);
}

#[test]
fn what_the_user_can_mend_is_named() {
    let place = place();
    place.refuses(
        "why",
        &[
            ("nosuch.json", 127, "cannot run 'nosuch.json'"),
            (
                "here.json",
                1,
                "is \"syscost.result/1\", not a profile: use the profile",
            ),
            (
                "p.json --costs p.json --versus p.json",
                2,
                "--costs p.json: is a profile, which has no unit costs",
            ),
            (
                "p.json --costs nosuch.json --versus here.json",
                1,
                "nosuch.json: there is no such file",
            ),
            ("p.json --versus there.json", 2, "--costs"),
            (
                "p.json --costs here.json@gvisor --versus here.json",
                2,
                "no environment 'gvisor', only native",
            ),
            ("p.json --nosuch", 2, "--nosuch"),
            ("-o x.json p.json", 2, "-o: p.json is a profile already"),
            (
                "--costs here.json --versus there.json true",
                2,
                "write one with -o first",
            ),
        ],
    );
}

#[test]
fn empty_and_hostile_profiles_are_borne() {
    let place = place();
    let huge = "9000000000000000000";
    let usage = [
        "wall_ns",
        "user_ns",
        "system_ns",
        "processes",
        "threads",
        "minor_faults",
        "major_faults",
    ];
    let usage =
        usage.map(|name| format!("\"{name}\": {}", if name == "wall_ns" { "0" } else { huge }));
    let read = format!(
        r#"{{"name": "read", "calls": 0, "on_cpu_ns": {huge}, "errors": {{"EIO": {huge}}}, "class": {{"size": {huge}, "set": {huge}, "depth": {huge}}}}}"#
    );
    for (usage, calls) in [
        ("", ""),
        (&format!("\"cpus\": 0, {}", usage.join(", ")), &read),
    ] {
        write_profile(&place, usage, calls);
        for format in ["text", "csv", "json"] {
            place.printed(&[
                "why",
                "q.json",
                "--costs",
                "here.json",
                "--versus",
                "there.json",
                "--format",
                format,
            ]);
        }
    }
}

/// The table of unit costs names operations that the probe has.
#[test]
fn every_operation_of_the_table_is_in_the_catalogue() {
    let list = Place::new().printed(&["list", "--format", "csv"]);
    let known: BTreeSet<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    let of_units = units::UNITS
        .iter()
        .flat_map(|unit| unit.operations().chain(unit.less_operations()));
    let all = of_units.chain(units::NULL_CALLS.split(' '));
    // What a system lacks is missing in its list.
    let missing: Vec<&str> = all.filter(|operation| !known.contains(operation)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
