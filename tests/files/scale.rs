//! Large inputs: every command that reads handles some thousands of cases, in memory that follows the input, and says what
//! it leaves out. What time and memory they take at 20,000 cases is measured by bench/scale.

use crate::common::*;
/// KiB of address space that a command may use. What grew with the square of these inputs took gigabytes.
const MOST_KIB: u32 = 1 << 20;

fn record(operation: &str, environment: &str, params: Value, ns: usize) -> Value {
    json!({
        "operation": operation, "name": null, "language": null, "environment": environment, "params": params,
        "defaults": {}, "role": "asked", "entries": null, "entries_status": "unverified", "entries_reason": "not stated",
        "mode_samples": null, "warnings": [],
        "figure": {"ns_per_op": ns + 1, "as_printed": "", "count": null},
    })
}

fn write(place: &Place, name: &str, records: Vec<Value>) -> String {
    let run = json!({
        "schema": "syscost.result/1", "tool": {"name": "syscost", "version": "0", "compiler": "cc"},
        "source": {"title": "made up", "note": ""}, "host": {"system": "Linux", "mitigations": []},
        "plan": {"seed": 0, "budget_s": 0, "precision_percent": 0}, "started_unix_s": 0, "elapsed_s": 0,
        "complete": true, "warnings": [], "records": records,
    });
    place.write(name, run.to_string());
    name.to_string()
}

/// Seconds of CPU time that a command may use. What grew with the square of these inputs took hours.
const MOST_S: u32 = if cfg!(feature = "heavy") { 200 } else { 60 };

fn run(place: &Place, line: impl Line) -> Output {
    let script = format!("ulimit -v {MOST_KIB} -t {MOST_S}; exec \"$@\"");
    let output = in_shell(&script, &place.command(line)).output().unwrap();
    expect_status(&output, 0);
    output
}

fn all(place: &Place, file: &str) {
    let ours = ["text", "markdown", "csv", "json"];
    for format in ours.iter().chain(&["go-benchmark"]) {
        run(place, format!("show {file} --format {format}"));
    }
    for view in ["wide", "cmpthese"] {
        run(place, format!("show {file} --view {view}"));
    }
    for format in ours {
        run(place, format!("compare {file} {file} --format {format}"));
    }
    run(place, format!("report {file} {file} -o page.html"));
    run(place, format!("report {file} --format svg -o bars.svg"));
}

const CASES: usize = 2000;

#[test]
fn thousands_of_names_of_equal_names_and_of_values() {
    let place = Place::new();
    let names = (0..CASES)
        .map(|i| record(&format!("area.operation{i}"), "native", json!({}), i))
        .collect();
    let equal = (0..CASES)
        .map(|i| record("file.lstat", "native", json!({}), i))
        .collect();
    let values = (0..CASES)
        .map(|i| record("file.lstat", "native", json!({"depth": i}), i))
        .collect();
    for (name, records) in [
        ("names.json", names),
        ("equal.json", equal),
        ("values.json", values),
    ] {
        let file = write(&place, name, records);
        if name == "names.json" || !is_left_to_heavy(name) {
            all(&place, &file);
        } else {
            run(&place, format!("show {file}"));
            run(&place, format!("compare {file} {file}"));
        }
    }
}

#[test]
fn thousands_of_parameters_take_memory_in_proportion() {
    let place = Place::new();
    let params: serde_json::Map<String, Value> =
        (0..5000).map(|i| (format!("p{i}"), json!(i))).collect();
    all(
        &place,
        &write(
            &place,
            "parameters.json",
            vec![record("file.lstat", "native", params.into(), 1)],
        ),
    );
}

#[test]
fn what_grows_with_the_square_is_bounded_and_says_so() {
    let place = Place::new();
    let text = |file: &str, more: &str| stdout(&run(&place, (format!("show {file}"), more)));
    let names = (0..300)
        .map(|i| record(&format!("area.operation{i}"), "native", json!({}), i))
        .collect();
    let matrix = text(&write(&place, "names.json", names), "--view cmpthese");
    expect_in(
        &matrix,
        "note: 50 of 300 cases are not in a matrix, which has 250 at most",
    );
    let apart = |i: usize| record(&format!("area.s{}", i / 3), "native", json!({"size": i}), i);
    let table = text(
        &write(&place, "apart.json", (0..180).map(apart).collect()),
        "",
    );
    expect_in(&table, "the last 10 have no column; JSON has all");
    expect_in(&table, "area.s49");
    expect_not_in(&table, "NaN");
    let environments = (0..40)
        .map(|i| record("file.lstat", &format!("e{i}"), json!({}), i))
        .collect();
    let long = text(&write(&place, "environments.json", environments), "");
    expect_in(
        &long,
        "40 environments are too many to show side by side (at most 32)",
    );
    assert!(
        long.lines()
            .any(|line| line.starts_with("file.lstat  e39 ")),
        "{long}"
    );
}

#[test]
fn rows_are_not_guessed_among_hundreds_and_that_is_said() {
    let place = Place::new();
    let with = |i: usize| record("file.lstat", "native", json!({"depth": i}), i);
    let common = || record("id.umask", "native", json!({}), 1);
    let values = write(
        &place,
        "values.json",
        (0..300).map(with).chain([common()]).collect(),
    );
    let bare = write(
        &place,
        "bare.json",
        vec![record("file.lstat", "native", json!({}), 1), common()],
    );
    let said = stdout(&run(&place, format!("compare {values} {bare}")));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    expect_in(
        &said,
        "more than 256 rows have one name, too many to search",
    );
}

/// Lines of a log, and names of processes.
const MANY: usize = if cfg!(feature = "heavy") {
    200_000
} else {
    10_000
};

fn log_of(line: impl Fn(usize) -> String) -> String {
    (2..MANY).map(line).collect()
}

#[test]
fn logs_of_many_names_take_time_in_proportion() {
    let place = Place::new();
    let resumed = |i: usize| format!("{i} <... read resumed>\"\", 8) = 0 <0.000002>\n");
    let logs = [
        log_of(|i| format!("1 recvfrom{i}(3) = 0 <0.04>\n")),
        log_of(|i| format!("{i} execve(\"/bin/p{i}\", [\"x\"], 0x1) = 0 <0.0001>\n")),
        log_of(|i| format!("{i} read(3, <unfinished ...>\n")) + &log_of(resumed),
        log_of(|i| format!("1 access(\"/x\", F_OK) = -1 E{i} (x) <0.00001>\n")),
        "read(3, \"\", 8) = 0\n".to_string()
            + &"<... read resumed> <unfinished ...>\n".repeat(MANY),
    ];
    for log in logs {
        place.write("log", log);
        run(&place, "why log");
    }
}

/// Each name starts another one in a loop, and has a path and a stack of its own.
#[test]
fn profiles_of_many_processes_take_time_in_proportion() {
    let place = Place::new();
    let names = || (0..MANY / 10).map(|i| format!("p{i}"));
    let each = |of: fn(String) -> Vec<Value>| names().flat_map(of).collect::<Value>();
    let calls = each(|name| {
        let row = |call, calls| json!({"process": name, "call": call, "calls": calls, "on_cpu_ns": 900_000, "blocked_ns": 90});
        vec![
            row("execve", 40),
            row("flock", 200),
            row(&format!("read_{name}"), 60),
        ]
    });
    let tree = each(|name| {
        let path =
            |names: Value, processes| json!({"names": names, "processes": processes, "calls": 9});
        vec![
            path(json!(["sh", name]), 1),
            path(json!(["sh", name, format!("{name}0")]), 40),
        ]
    });
    let objects = each(|name| {
        vec![json!({"kind": "path", "name": "/x", "process": name, "call": "stat", "calls": 50})]
    });
    let stacks = each(|name| {
        vec![json!({"process": name, "call": "execve", "frames": ["main"], "calls": 40})]
    });
    let durations: serde_json::Map<String, Value> = names()
        .map(|name| (format!("read_{name}"), json!([[104, 60]])))
        .collect();
    let profile = json!({
        "schema": "syscost.profile/2", "calls": calls, "tree": tree, "objects": objects, "stacks": stacks, "durations": durations,
        "usage": {"wall_ns": 1_000_000_000_000_u64},
    });
    place.write("p.json", profile.to_string());
    for line in ["show p.json", "why p.json", "report p.json -o page.html"] {
        run(&place, line);
    }
}
