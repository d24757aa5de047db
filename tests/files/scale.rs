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

fn run(place: &Place, line: impl Line) -> Output {
    let script = format!("ulimit -v {MOST_KIB}; exec \"$@\"");
    let output = in_shell(&script, &place.command(line)).output().unwrap();
    expect_status(&output, 0);
    output
}

fn all(place: &Place, file: &str) {
    let ours = ["text", "markdown", "csv", "json"];
    for format in ours.iter().chain(&["go-benchmark"]) {
        run(place, format!("show {file} --format {format}"));
    }
    for view in ["bars", "distribution", "cmpthese", "timethese"] {
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
        "among more than 256 rows of one name no match is searched for",
    );
}
