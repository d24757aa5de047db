//! Other programs' formats: what we write is read by the programs themselves where they are installed, and what they print
//! is imported.
//!
//! `SNAPSHOTS=overwrite cargo test --test formats` rewrites tests/formats/*.import.json and tests/formats/export-*; read the
//! difference before it is kept.

use crate::common::{Place, expect_file, json, root, skip, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use syscost::import::IMPORTERS;
use syscost::model::{Outcome, Run};
use syscost::store;

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

const FIXTURES: [(&str, &str); 4] = [
    ("lmbench", "lmbench-3.0-a9.txt"),
    ("perf-bench", "perf-bench-6.1.txt"),
    ("perf-bench", "perf-bench-all-6.1.txt"),
    ("google-benchmark", "google-benchmark-1.7.1.json"),
];

fn import(kind: &str, file: &str) -> Output {
    Place::new().command(&["import", kind, file]).current_dir(folder()).output().unwrap()
}

fn imported(kind: &str, file: &str) -> Run {
    let output = import(kind, file);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    let place = Place::new();
    fs::write(place.path().join("run.json"), &output.stdout).unwrap();
    store::read(&place.path().join("run.json")).unwrap()
}

#[test]
fn outputs_are_imported() {
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    for (kind, file) in FIXTURES {
        let text = stdout(&import(kind, file));
        assert!(text.contains(&version), "{text}");
        let name = file.rsplit_once('.').unwrap().0;
        expect_golden(&format!("{name}.import.json"), &text.replace(&version, "\"version\": \"0\""));
    }
    let mut benchmarks = IMPORTERS.iter().filter(|importer| !importer.is_trace());
    assert!(benchmarks.all(|kind| FIXTURES.iter().any(|(name, _)| *name == kind.name)));
}

/// Names and nanoseconds of what has a figure, names and reasons of what has none.
fn rows(run: &Run) -> Vec<(String, Result<f64, String>)> {
    let row = |outcome: &Outcome| match outcome {
        Outcome::Published(figure) => Ok(figure.time.0),
        Outcome::Failed(failure) => Err(failure.message.clone()),
        Outcome::Measured(_) | Outcome::Counted(_) => panic!("nothing was measured"),
    };
    run.records.iter().map(|record| (record.case.to_string(), row(&record.outcome))).collect()
}

#[test]
fn what_is_the_same_gets_our_id_and_failures_are_no_times() {
    let lmbench = rows(&imported("lmbench", "lmbench-3.0-a9.txt"));
    let find = |rows: &[(String, Result<f64, String>)], name: &str| {
        rows.iter().find(|(case, _)| case == name).unwrap_or_else(|| panic!("{name} in {rows:?}")).1.clone()
    };
    assert_eq!(find(&lmbench, "id.getppid").map(f64::round), Ok(227.0));
    assert_eq!(find(&lmbench, "io.read_zero size=1").map(f64::round), Ok(272.0));
    assert_eq!(find(&lmbench, "lat_ctx processes=2 size=0"), Ok(1500.0));
    assert_eq!(
        find(&lmbench, "Pagefaults on /etc/passwd"),
        Err("no time: the source prints 'Pagefaults on /etc/passwd: -nan microseconds'".into())
    );
    let google = rows(&imported("google-benchmark", "google-benchmark-1.7.1.json"));
    assert_eq!(find(&google, "stat_missing"), Err("stat: ENOENT".into()));
    assert_eq!(find(&google, "read_zero/1/repeats:3"), Ok(223.9628926259999));
    let exec = imported("lmbench", "lmbench-3.0-a9.txt").records;
    let exec = exec.iter().find(|r| r.case.operation == "Process fork+execve").unwrap();
    assert!(exec.warnings[0].contains("a failed execve"), "{:?}", exec.warnings);
}

#[test]
fn imported_figures_are_no_baselines() {
    let place = Place::new();
    fs::write(place.path().join("run.json"), import("perf-bench", "perf-bench-6.1.txt").stdout).unwrap();
    let shown = stdout(&place.run(&["show", "run.json"]));
    assert!(shown.contains("\nid.getppid  692.4 ") && !shown.contains("In the same rounds"), "{shown}");
}

#[test]
fn what_perf_prints_here_is_imported() {
    const NAME: &str = "what_perf_prints_here_is_imported";
    let mut perf = Command::new("perf");
    let Some(output) = tool(NAME, "perf", perf.args(["bench", "syscall", "basic", "-l", "20000"])) else { return };
    if !output.status.success() {
        return skip(NAME, &format!("perf bench: {}", stderr(&output).lines().next().unwrap_or_default()));
    }
    let place = Place::new();
    fs::write(place.path().join("perf.txt"), &output.stdout).unwrap();
    let done = place.run(&["import", "perf-bench", "perf.txt", "-o", "perf.json"]);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(0), ""), "{}", stderr(&done));
    let run = store::read(&place.path().join("perf.json")).unwrap();
    let Outcome::Published(figure) = &run.records[0].outcome else { panic!("{:?}", run.records) };
    assert_eq!((run.records[0].case.to_string().as_str(), figure.count), ("id.getppid", Some(20_000)));
    assert!(figure.time.0 > 10.0, "{figure:?}");
}

#[test]
fn standard_input_is_a_file_too() {
    let place = Place::new();
    let mut command = place.command(&["import", "lmbench", "-"]);
    let text = fs::File::open(folder().join("lmbench-3.0-a9.txt")).unwrap();
    let run: Value = json(&command.stdin(text).output().unwrap());
    assert_eq!(run["source"]["title"], "lmbench, from standard input");
}

#[test]
fn what_is_no_such_output_is_told_in_a_line() {
    let line = |kind: &str, file: &str| {
        let output = import(kind, file);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{kind} {file}");
        let message = stderr(&output);
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
        assert!(message.starts_with(&format!("syscost: {file}: ")), "{message}");
        message
    };
    assert!(line("perf-bench", "perf-bench-simple-6.1.txt").contains("line 1: expected perf's default format"));
    assert!(line("lmbench", "perf-bench-6.1.txt").contains("expected lines such as 'Simple syscall: "));
    assert!(line("google-benchmark", "README.md").contains("line 1: expected Google Benchmark's JSON ("));
    assert!(line("lmbench", "missing.txt").contains("check its name, and that you may read it: No such file"));
    assert_eq!(import("nonsense", "README.md").status.code(), Some(2));
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
