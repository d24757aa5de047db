//! Other programs' formats: what we write is read by the programs themselves where they are installed.
//!
//! `SNAPSHOTS=overwrite cargo test --test formats` rewrites tests/formats/export-*; read the difference before it is
//! kept.

use crate::common::{Place, expect_file, json, root, skip, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn folder() -> PathBuf {
    root().join("tests/formats")
}

fn expect_golden(name: &str, actual: &str) {
    expect_file(folder().join(name), actual);
}

fn export(file: &str) -> String {
    let path = root().join(file);
    Place::new().printed(&["show", path.to_str().unwrap(), "--format", "go-benchmark"])
}

/// A run that was measured, and figures of an article of which one is missing.
const MEASURED: &str = "tests/golden/run.json";
const PUBLISHED: &str = "published/macosx-10.7.json";

#[test]
fn runs_are_exported() {
    expect_golden("export-go-benchmark-measured.txt", &export(MEASURED));
    expect_golden("export-go-benchmark-published.txt", &export(PUBLISHED));
}

#[test]
fn only_runs_are_exported() {
    for command in ["list", "doctor"] {
        let output = Place::new().run(&[command, "--format", "go-benchmark"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("[possible values: text, markdown, csv, json]"), "{}", stderr(&output));
    }
}

#[test]
fn a_run_is_exported_as_it_ends() {
    let output = Place::new().run(&["run", "id.umask", "--time", "0.3", "--format", "go-benchmark"]);
    let lines = stdout(&output);
    let of_umask = |line: &str| line.starts_with("BenchmarkId.umask ") && line.ends_with(" 1 kernel-entries/op");
    assert!(lines.lines().any(of_umask), "{lines}");
}

/// What `command` did; `None`, said loudly, where it is not installed.
fn tool(test: &str, what: &str, command: &mut Command) -> Option<Output> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(test, &format!("{what}: {error}"));
            None
        }
    }
}

#[test]
fn benchstat_reads_go_benchmark_lines() {
    let place = Place::new();
    for (name, file) in [("measured", MEASURED), ("published", PUBLISHED)] {
        fs::write(place.path().join(name), export(file)).unwrap();
    }
    let mut command = Command::new("benchstat");
    command.args(["-format", "csv", "measured", "published"]).current_dir(place.path());
    let Some(output) = tool("benchstat_reads_go_benchmark_lines", "benchstat", &mut command) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    let row = |start: &str| table.lines().find(|line| line.starts_with(start)).map(str::to_string);
    let getpid = row("Call.getpid,").unwrap_or_else(|| panic!("{table}"));
    let seconds: f64 = getpid.split(',').nth(1).unwrap().parse().unwrap();
    assert!((50e-9..200e-9).contains(&seconds), "{getpid}");
    assert!(row("Fork+execve+wait,").is_some() && row("Lstat,").is_some(), "{table}");
    let complaints = stderr(&output);
    let known = |line: &str| line.contains("need >= ") || line.contains("geomean") || line.contains("all samples are");
    assert!(complaints.lines().all(|line| known(line) || line.starts_with(' ')), "{complaints}");
}

/// Runs a day apart on one machine, in which file.stat grows by a tenth on the 15th day.
fn history(place: &Place) {
    for day in 0..30 {
        let wobble = |step: u64| 1.0 + 0.004 * ((day * step % 7) as f64 - 3.0) / 3.0;
        let grown = if day >= 15 { 1.1 } else { 1.0 };
        let records = vec![measured("file.stat", 450.0 * grown * wobble(3)), measured("id.umask", 90.0 * wobble(5))];
        fs::write(place.path().join(format!("{day:02}.json")), run(1_700_000_000 + 86_400 * day, records).to_string())
            .unwrap();
    }
}

fn run(started_unix_s: u64, records: Vec<Value>) -> Value {
    serde_json::json!({
        "schema": "syscost.result/1", "tool": {"name": "syscost", "version": "0.1.0", "compiler": "cc"}, "source": null,
        "host": {"name": "vm", "system": "Linux", "kernel": "6.1.0", "cpu": "EPYC"},
        "plan": {"seed": 1, "budget_s": 4.0, "precision_percent": 1.0}, "started_unix_s": started_unix_s,
        "elapsed_s": 4.0, "complete": true, "warnings": [], "records": records,
    })
}

fn measured(operation: &str, ns: f64) -> Value {
    let block = |i: u64| serde_json::json!({"launch": i / 4, "slots": [[(1000.0 * ns) as u64 + i % 3]]});
    serde_json::json!({
        "operation": operation, "name": null, "language": null, "environment": "native", "params": {}, "defaults": {},
        "role": "asked", "entries": {"x": 1}, "entries_status": "verified", "entries_reason": null,
        "mode_samples": null, "warnings": [],
        "samples": {"iterations": 1000, "blocks": (0..12).map(block).collect::<Vec<_>>(),
            "cpu": {"user_ns": 1, "system_ns": 1, "wall_ns": 2}, "preempted_ns": [], "minor_faults": 0,
            "major_faults": 0, "switches": false},
    })
}

/// Apache Otava finds the change that our history finds, and no other.
#[test]
fn otava_finds_the_same_change() {
    const NAME: &str = "otava_finds_the_same_change";
    let place = Place::new();
    history(&place);
    let ours = json(&place.run(&["compare", "--history", ".", "--format", "json"]));
    let series = ours["machines"][0]["series"].as_array().unwrap();
    assert_eq!(series[0]["changes"][0]["run"], 15);
    assert_eq!(series[1]["changes"], serde_json::json!([]));
    for (format, file) in [("otava", "history.csv"), ("otava-config", "otava.yaml")] {
        let text = place.printed(&["compare", "--history", ".", "--format", format]);
        fs::write(place.path().join(file), text).unwrap();
    }
    let mut command = Command::new("python3");
    let main = "from otava.main import main; main()";
    command.args(["-c", main, "analyze", "syscost", "--since", "2020-01-01", "--output", "json"]);
    command.env("OTAVA_CONFIG", "otava.yaml");
    let Some(output) = tool(NAME, "python3", command.current_dir(place.path())) else { return };
    if stderr(&output).contains("ModuleNotFoundError") {
        return skip(NAME, "apache-otava is not installed");
    }
    let found: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}{}", stdout(&output), stderr(&output)));
    let changes = found["syscost"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{found}");
    assert_eq!(changes[0]["time"], 1_700_000_000 + 86_400 * 15, "{found}");
    let metrics: Vec<&str> =
        changes[0]["changes"].as_array().unwrap().iter().filter_map(|c| c["metric"].as_str()).collect();
    assert_eq!(metrics, ["file.stat"], "{found}");
}
