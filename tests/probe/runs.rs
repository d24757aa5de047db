//! Several runs in one file, and two sides in the same rounds, as their users meet them.

use crate::common::{Place, expect_status, expect_valid, stderr, stdout, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// Exit status 2, one line, and nothing left behind.
fn expect_usage_error(arguments: &[&str], start: &str, named: &str) {
    let place = Place::new();
    let output = place.run(arguments);
    let message = stderr(&output);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(2), ""),
        "{arguments:?}: {message}"
    );
    assert!(
        message.starts_with(start) && message.contains(named),
        "{arguments:?}: {message}"
    );
    assert!(
        message.trim_end().lines().count() == 1 && place.left_behind().is_empty(),
        "{arguments:?}: {message}"
    );
}

/// The result file `out.json` of a run with these arguments.
fn run_to_file(place: &Place, arguments: &[&str]) -> Value {
    let output = place.run(&[&["run", "--time", "0.3", "--out", "out.json"], arguments].concat());
    expect_status(&output, 0);
    serde_json::from_str(&place.read("out.json")).unwrap()
}

/// A session whose CPU was its own leaves its level for later ones. How many of them it learns from depends on the load that others
/// make here.
#[test]
fn runs_teach_later_ones_how_much_runs_scatter() {
    let place = Place::new();
    let levels = || {
        fs::read_to_string(place.path().join("state/syscost/levels.jsonl")).map_or(0, |text| {
            text.lines().filter(|line| !line.is_empty()).count()
        })
    };
    let mut most = 0;
    for arguments in [
        &["id.getppid", "--runs", "3", "--no-verify"][..],
        &["id.getppid", "--no-verify"],
    ] {
        let before = levels();
        let file = run_to_file(&place, arguments);
        let warnings = file["warnings"].to_string();
        let disturbed = ["quota", "another syscost run", "workers ran on other CPUs"]
            .iter()
            .any(|w| warnings.contains(w));
        let fewest = usize::from(!disturbed);
        most += 1;
        assert!(
            (before + fewest..=most).contains(&levels()),
            "{} lines: {warnings}",
            levels()
        );
    }
    let file: Value = serde_json::from_str(&place.read("out.json")).unwrap();
    let source = match file["host"]["run_scatter_runs"].as_u64() {
        Some(runs) => format!("(learned from {runs} runs)"),
        None => "(assumed)".to_string(),
    };
    let text = stdout(&place.run(&["show", "out.json", "--view", "wide"]));
    assert!(text.replace("\n  ", " ").contains(&source), "{text}");
}

#[test]
fn runs_are_repeated_into_one_file() {
    let place = Place::new();
    let file = run_to_file(&place, &["id.umask", "--runs", "3"]);
    let repeats = file["repeats"].as_array().unwrap();
    let seeds: Vec<u64> = repeats
        .iter()
        .map(|repeat| repeat["seed"].as_u64().unwrap())
        .collect();
    let seed = file["plan"]["seed"].as_u64().unwrap();
    let next = [1, 2].map(|n| seed.wrapping_add(n)).to_vec();
    assert_eq!((seeds, file["complete"].as_bool()), (next, Some(true)));
    let records = file["records"].as_array().unwrap().len();
    let whole = |repeat: &Value| {
        repeat["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|r| r["samples"].is_object())
            .count()
    };
    assert_eq!(
        repeats.iter().map(whole).collect::<Vec<_>>(),
        [records, records]
    );
    let shown = stdout(&place.run(&["show", "out.json", "--view", "wide"]));
    assert!(
        shown.contains("next run") && shown.contains("3 runs: "),
        "{shown}"
    );
    let document: Value = serde_json::from_str(&stdout(
        &place.run(&["show", "out.json", "--format", "json"]),
    ))
    .unwrap();
    expect_valid("summary-2", &document);
    assert_eq!(
        document["records"][0]["runs"]["medians_ns"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let lines = stdout(&place.run(&["show", "out.json", "--format", "go-benchmark"]));
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.starts_with("BenchmarkId.umask "))
            .count(),
        3,
        "{lines}"
    );
}

#[test]
fn an_interrupt_keeps_the_runs_that_came_to_their_end() {
    let place = Place::new();
    let arguments = [
        "run",
        "id.umask",
        "--runs",
        "1000",
        "--time",
        "0.2",
        "--no-verify",
        "--out",
        "out.json",
    ];
    let mut child = place
        .command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = place.path().join("out.json");
    let read = || serde_json::from_str::<Value>(&fs::read_to_string(&file).ok()?).ok();
    let repeats = || read().map_or(0, |file| file["repeats"].as_array().map_or(0, Vec::len));
    wait_for(|| (repeats() >= 2).then_some(()));
    assert!(
        read().is_some_and(|file| file["complete"] == false),
        "more runs were asked for"
    );
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(repeats() >= 2 && read().is_some_and(|file| file["complete"] == false));
}

#[test]
fn two_probes_are_measured_side_by_side() {
    let place = Place::new();
    let probe = place.path().join("other");
    fs::copy(Path::new(assets::DIRECTORY).join("probe"), &probe).unwrap();
    let file = run_to_file(
        &place,
        &[
            "id.umask",
            "perl:1",
            "--versus-probe",
            "other",
            "--runs",
            "2",
        ],
    );
    let environments: Vec<&str> = file["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["operation"] == "id.umask")
        .map(|r| r["environment"].as_str().unwrap())
        .collect();
    assert_eq!(environments, ["native", "other"]);
    let shown = stdout(&place.run(&["show", "out.json", "--view", "wide"]));
    assert!(
        shown.contains("other ns/op") && shown.contains("/ native"),
        "{shown}"
    );
    let document: Value = serde_json::from_str(&stdout(
        &place.run(&["show", "out.json", "--format", "json"]),
    ))
    .unwrap();
    expect_valid("summary-2", &document);
    let versus = &document["records"][1]["versus"];
    assert!(
        versus["environment"] == "native"
            && versus["value"].as_f64().is_some_and(|ratio| ratio > 0.0),
        "{versus}"
    );
    for (file, named) in [
        ("/bin/true", "does not speak the probe's protocol"),
        ("/bin/cat", "does not speak"),
        ("/etc/passwd", "not an executable file"),
        ("none", "no such file"),
    ] {
        expect_usage_error(
            &["run", "id.umask", "--versus-probe", file],
            &format!("syscost: --versus-probe {file}: "),
            named,
        );
    }
}

#[test]
fn directories_are_measured_side_by_side() {
    let place = Place::new();
    let file = run_to_file(&place, &["file.stat", "--tmpdir", "tmp,tmp"]);
    let asked = file["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["role"] == "asked");
    let environments: Vec<&str> = asked.map(|r| r["environment"].as_str().unwrap()).collect();
    assert_eq!(environments, ["./tmp", "./tmp #2"]);
    assert!(fs::read_dir(place.tmp()).unwrap().all(|entry| {
        !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("run-")
    }));
    let one = run_to_file(&place, &["file.stat", "--tmpdir", "tmp"]);
    assert_eq!(one["records"][0]["environment"], "native");
    expect_usage_error(
        &["run", "id.umask", "--tmpdir", "/tmp,/none"],
        "syscost: cannot measure in /none",
        "",
    );
}

/// When each record's entries were counted by an earlier run, if they were, by operation.
fn counted_earlier(place: &Place, arguments: &[&str]) -> Vec<(String, bool)> {
    let file = run_to_file(
        place,
        &[&["id.umask", "dir.mkdir_rmdir", "c:getppid()"], arguments].concat(),
    );
    let asked = file["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|record| record["role"] == "asked");
    let counted = |record: &Value| {
        let is_earlier = record["entries_counted_unix_s"]
            .as_u64()
            .is_some_and(|seconds| seconds > 1_000_000_000);
        (
            record["operation"].as_str().unwrap().to_string(),
            is_earlier,
        )
    };
    asked.map(counted).collect()
}

/// What a snippet or an operation with a past calls may be different today.
#[test]
fn entries_that_an_earlier_run_counted_are_taken_over_and_marked() {
    let place = Place::new();
    let kept = place.path().join("state/syscost/proofs.jsonl");
    let none = counted_earlier(&place, &[]);
    if !kept.exists() {
        return crate::common::skip("nothing could be counted");
    }
    assert!(none.iter().all(|(_, is_earlier)| !is_earlier), "{none:?}");
    let expected = [
        ("id.umask", true),
        ("dir.mkdir_rmdir", false),
        ("getppid()", false),
    ];
    let expected = expected.map(|(operation, is_earlier)| (operation.to_string(), is_earlier));
    assert_eq!(counted_earlier(&place, &[]), expected);
    // What looked for a moment only does not speak for a run that would look longer.
    let short = regex_lite::Regex::new("\"request_us\":[0-9]+").unwrap();
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, short.replace_all(&text, "\"request_us\":1").as_ref()).unwrap();
    assert_eq!(counted_earlier(&place, &[]), none);
    fs::write(&kept, "nonsense\n{\"key\":1}\n").unwrap();
    assert_eq!(counted_earlier(&place, &[]), none);
    assert_eq!(counted_earlier(&place, &[]), expected);
}
