//! `syscost compare` as its users meet it: golden output in each format, verdicts, exit status, errors.

use crate::common::*;
use crate::data_of_comparisons::{failed, measured, run, write};

fn before_and_after() -> (Value, Value) {
    let one = |name: &str| json!({name: 1});
    let before = vec![
        measured("call.getpid", json!({}), 2.0),
        measured("id.umask", one("umask"), 90.0),
        measured("id.getppid", one("getppid"), 100.0),
        measured("file.lstat", one("newfstatat"), 450.0),
        measured("file.stat", one("newfstatat"), 430.0),
        measured("file.open_close", json!({"openat": 1, "close": 1}), 1400.0),
        failed("file.statx", "ENOSYS: statx: Function not implemented"),
        measured(
            "process.fork_wait",
            json!({"clone": 1, "wait4": 1, "exit_group": 1}),
            85_000.0,
        ),
        measured("time.clock_gettime", json!({}), 20.0),
    ];
    let after = vec![
        measured("call.getpid", one("getpid"), 104.0),
        measured("id.umask", one("umask"), 131.0),
        measured("id.getppid", one("getppid"), 140.0),
        measured("file.lstat", one("lstat"), 495.0),
        measured("file.stat", one("newfstatat"), 432.0),
        measured("file.open_close", json!({"openat": 1, "close": 1}), 1200.0),
        measured("file.statx", one("statx"), 470.0),
        measured(
            "process.fork_wait",
            json!({"clone": 1, "wait4": 1, "exit_group": 1}),
            99_000.0,
        ),
        measured("net.socketpair", one("socketpair"), 5000.0),
    ];
    let mut after = run("vm", 1_700_086_400, after);
    after["host"]["kernel"] = json!("6.18.4");
    after["host"]["mitigations"] = json!(["spectre_v2: IBRS", "vmscape: IBPB on VMEXIT"]);
    (run("vm", 1_700_000_000, before), after)
}

/// A place with before.json, after.json, third.json, history.json, in which a row depends on history, and traced.json and
/// disturbed.json, which are before.json under a tracer and beside a neighbour.
fn place() -> Place {
    let place = Place::new();
    let (before, after) = before_and_after();
    let mut third = before.clone();
    third["host"]["name"] = json!("db");
    third["started_unix_s"] = json!(1_700_172_800);
    third["tool"]["version"] = json!("0.2.0");
    let mut traced = before.clone();
    traced["host"]["taxes"] = json!([{"kind": "BPF programs", "detail": "bpftrace (process 7) is attached to sys_enter"}]);
    traced["started_unix_s"] = 1_700_000_007.into();
    let mut disturbed = before.clone();
    disturbed["host"]["disturbed_percent"] = 88.7.into();
    disturbed["started_unix_s"] = 1_700_000_008.into();
    let mut history = after.clone();
    let lstat = |record: &&mut Value| record["operation"] == "file.lstat";
    let records = history["records"].as_array_mut().unwrap();
    records.iter_mut().find(lstat).unwrap()["samples"]["history"] = true.into();
    for (name, run) in [
        ("before.json", before),
        ("after.json", after),
        ("third.json", third),
        ("history.json", history),
        ("traced.json", traced),
        ("disturbed.json", disturbed),
    ] {
        write(&place.path(), name, &run);
    }
    place
}

const GOLDENS: &str = "tests/golden/compare-*.txt";

#[test]
fn a_series_says_since_when_a_row_changed() {
    let place = Place::new();
    let nights = [450.0, 451.0, 449.0, 520.0, 521.0, 519.0];
    let names: Vec<String> = (1..=nights.len())
        .map(|n| format!("night{n}.json"))
        .collect();
    for (name, ns) in names.iter().zip(nights) {
        let records = vec![
            measured("file.lstat", json!({"newfstatat": 1}), ns),
            measured("id.getppid", json!({"getppid": 1}), 100.0),
        ];
        write(&place.path(), name, &run("vm", 1_700_000_000, records));
    }
    let line = format!("compare {}", names.join(" "));
    let since = "since night4 (2023-11-14 22:13, file 4 of 6): file.lstat +15.6%\n";
    expect_in(place.printed(&line), since);
    let rows = &place.document(&line)["rows"];
    assert_eq!(
        (&rows[0]["since"], &rows[1]["since"]),
        (&json!(3), &Value::Null)
    );
}

#[test]
fn comparisons_are_printed() {
    let two = |more: &str| format!("compare before.json after.json {more}");
    let three = "compare before.json after.json third.json --baseline after.json --label old";
    let cases = [
        ("40", 40, two("")),
        ("80", 80, two("")),
        ("120", 120, two("")),
        ("markdown", 80, two("--format markdown")),
        ("csv", 80, two("--format csv")),
        ("json", 80, two("--format json")),
        ("three-80", 80, three.into()),
        ("three-40", 40, three.into()),
        ("history", 120, "compare before.json history.json".into()),
        ("traced", 120, "compare before.json traced.json".into()),
        (
            "disturbed",
            120,
            "compare before.json disturbed.json".into(),
        ),
        ("shows-traced", 120, "show traced.json".into()),
        ("by-ratio", 80, two("--only file --sort ratio")),
        ("by-cost", 80, two("--only *stat --sort cost")),
        ("by-name", 80, two("--only file --sort name")),
        ("over-5", 80, two("--threshold 5% --only file.*")),
        ("over-10", 80, two("--threshold 10 --only file.*")),
    ];
    let place = place();
    for (name, width, line) in cases {
        place.prints(GOLDENS, &[(name, width, &line)]);
    }
}

/// The members of the panel; calls take twice as long in the second run, which was disturbed.
fn behind_filter(taxes: Value, spin: f64) -> BTreeSet<String> {
    let side = |spin: f64, calls: f64| {
        let operations = [
            "id.getppid",
            "id.umask",
            "id.uname",
            "file.lstat",
            "io.read_zero",
            "fd.dup_close",
        ];
        let calls =
            operations.map(|operation| measured(operation, json!({"getppid": 1}), 100.0 * calls));
        let spin = measured("call.spin", json!({}), 100.0 * spin);
        calls.into_iter().chain([spin]).collect()
    };
    let place = Place::new();
    let mut after = run("vm", 1_700_000_009, side(spin, 2.0));
    after["host"]["disturbed_percent"] = 100.0.into();
    after["host"]["taxes"] = taxes;
    write(
        &place.path(),
        "before.json",
        &run("vm", 1_700_000_000, side(1.0, 1.0)),
    );
    write(&place.path(), "after.json", &after);
    let document = place.document("compare before.json after.json --only id");
    let rows = list(&document["rows"]).iter();
    rows.map(|row| row["verdicts"][1]["verdict"].as_str().unwrap().to_string())
        .collect()
}

/// A filter on every call stays, so what it adds is a change. User mode that was slower too shows another reason.
#[test]
fn a_filter_on_one_side_is_judged_if_user_mode_was_as_fast() {
    let filter = || json!([{"kind": "seccomp", "detail": "a filter of 200 instructions"}]);
    assert_eq!(behind_filter(filter(), 1.0), ["slower".to_string()].into());
    let disturbed = BTreeSet::from(["disturbed".to_string()]);
    assert_eq!(behind_filter(filter(), 1.2), disturbed);
    assert_eq!(behind_filter(json!([]), 1.0), disturbed);
}

/// What a tracer or a neighbour added is no change; if both sides had the tracer, ratios are judged.
#[test]
fn a_tracer_or_a_disturbance_on_one_side_gets_no_verdict() {
    let place = place();
    let verdicts = |files: &str| -> BTreeSet<String> {
        let document = place.document(("compare --only file", files));
        let rows = list(&document["rows"]).iter();
        rows.map(|row| row["verdicts"][1]["verdict"].as_str().unwrap().to_string())
            .collect()
    };
    assert!(!verdicts("traced.json traced.json").contains("traced"));
    for (verdict, reason) in [
        (
            "traced",
            "a tracer of system calls was on in one of the files",
        ),
        ("disturbed", "one of the runs was disturbed all the time"),
    ] {
        let refused = BTreeSet::from(["missing".to_string(), verdict.to_string()]);
        let files = [
            format!("before.json {verdict}.json"),
            format!("{verdict}.json before.json"),
        ];
        files
            .iter()
            .for_each(|files| assert_eq!(verdicts(files), refused));
        let gate = place.run((
            format!("compare {}", files[0]),
            "--only file --fail-over 1%",
        ));
        expect_status(&gate, 2);
        expect_in(stderr(&gate), reason);
    }
    let records = &place.document("show traced.json")["records"];
    for record in list(records) {
        let is_marked = record["warnings"].to_string().contains("\"traced\"");
        let enters = record["entries"]
            .as_object()
            .is_some_and(|own| !own.is_empty());
        assert_eq!(is_marked, enters, "{record}");
    }
}

/// Five runs a side, 0.1% apart, which show 3%; two of the files have two runs.
fn write_sides(place: &Place) {
    for (directory, by) in [("before", 1.0), ("after", 1.03)] {
        fs::create_dir(place.path().join(directory)).unwrap();
        for i in 0..4 {
            let of = |i: i32| {
                let ns = |ns: f64| ns * by * (1.0 + 0.006 * f64::from(i - 2));
                let records = [("file.stat", 430.0), ("id.getppid", 100.0 / by)];
                records
                    .map(|(id, cost)| measured(id, json!({id: 1}), ns(cost)))
                    .to_vec()
            };
            let mut run = run("vm", 1_700_000_000 + i as u64 + (by * 1000.0) as u64, of(i));
            // Earlier runs of this machine scattered as these do.
            run["host"]["run_scatter_percent"] = json!(0.1);
            run["host"]["run_scatter_runs"] = json!(5);
            for record in run["records"].as_array_mut().unwrap() {
                record["samples"]["earlier"] = json!([1.0, 1.012, 0.988, 1.005, 0.995]);
            }
            if i == 3 {
                let results: Vec<Value> = of(4)
                    .into_iter()
                    .map(|r| json!({"samples": r["samples"]}))
                    .collect();
                run["repeats"] = json!([{"started_unix_s": 9, "seed": (by * 1000.0) as u64, "elapsed_s": 4.0, "host": {}, "results": results}]);
            }
            write(&place.path().join(directory), &format!("{i}.json"), &run);
        }
    }
}

#[test]
fn several_runs_a_side_show_what_single_runs_cannot() {
    let place = Place::new();
    write_sides(&place);
    let files = |side: &str| [0, 1, 2, 3].map(|i| format!("{side}/{i}.json")).join(" ");
    let sides = format!("compare {} --versus {}", files("before"), files("after"));
    let cases = [
        ("versus-120", 120, sides.as_str()),
        ("single-120", 120, "compare before/0.json after/0.json"),
    ];
    place.prints(GOLDENS, &cases);
    let document = place.document(&sides);
    expect_valid("comparison-2", &document);
    let columns = &document["columns"];
    assert_eq!(
        (&columns[0]["runs"], &columns[1]["label"]),
        (&json!(5), &json!("after"))
    );
    let other = place.printed((&sides, "--baseline after/1.json --label a"));
    expect_in(&other, "a 5 runs");
    expect_not_in(&other, "before 5 runs");
    place.printed("compare before/1.json --versus before/0.json");
    let one = "before/1.json";
    let same = place.printed(format!(
        "compare {one} before/2.json --versus {one} after/1.json"
    ));
    expect_in(&same, "the same run under several names: old, new");
}

#[test]
fn profiles_become_sides_too_and_a_file_names_the_baseline() {
    let [one, other] =
        ["traced", "detailed"].map(|name| file(&format!("tests/profile/{name}.json")));
    let line = format!("compare {one} --versus {other} --baseline {other}");
    let document = Place::new().document(line);
    let columns = document["columns"].as_array().map(Vec::len);
    assert_eq!((&document["baseline"], columns), (&json!(1), Some(2)));
}

#[test]
fn growth_over_the_limit_is_exit_status_1_and_named() {
    let place = place();
    let compared = |more: &str| place.run(("compare before.json after.json", more));
    let failing = compared("--fail-over 8%");
    expect_status(&failing, 1);
    let named = stderr(&failing);
    let named: Vec<&str> = named.lines().collect();
    assert_eq!(
        named[0],
        "syscost: call.getpid makes more kernel entries: getpid x1 in after, none in before"
    );
    assert!(
        named[1].starts_with("syscost: id.umask costs x1.456 ("),
        "{named:?}"
    );
    assert!(
        named[3].starts_with("syscost: process.fork_wait costs x1.165 ("),
        "{named:?}"
    );
    assert!(named[3].ends_with("over --fail-over 8%"), "{named:?}");
    assert!(
        named[4].contains(" of 10 rows: too uncertain to tell whether costs grew by 8%"),
        "{named:?}"
    );
    assert!(
        named[5..]
            .iter()
            .all(|line| line.starts_with("syscost: not judged: ")),
        "{named:?}"
    );
    expect_in(stdout(&failing), "file.lstat");
    let passing = compared("--fail-over 50 --only id");
    expect_status(&passing, 0);
    let unclear = "syscost: 1 of 2 rows: too uncertain to tell whether costs grew by 50%, which lies within the 95% interval\n";
    assert_eq!(stderr(&passing), unclear);
    // There are more kernel entries.
    expect_status(&compared("--fail-over 50"), 1);
    // What became cheaper did not grow.
    expect_status(&compared("--baseline after --fail-over 30"), 0);
    // The rows are judged even where they are not shown.
    expect_status(&compared("--threshold 90% --fail-over 8% --only id"), 1);
    for (limit, verdict) in [
        (
            "8%",
            "- failed: 3 rows certainly grew by more than 8% (--fail-over)\n- failed: 1 row with more kernel entries",
        ),
        (
            "50%",
            "- passed: no row certainly grew by more than 50% (--fail-over)\n- failed: 1 row ",
        ),
    ] {
        let page = stdout(&compared(&format!("--fail-over {limit} --format markdown")));
        assert!(page.starts_with(verdict), "{page}");
    }
}

#[test]
fn a_gate_that_judges_nothing_does_not_pass() {
    let place = place();
    let limited = place.run("compare before.json history.json --only file.lstat --fail-over 1%");
    expect_error(
        &limited,
        2,
        "not judged: file.lstat: the cost depends on earlier",
    );
}

#[test]
fn the_tables_of_an_article_come_out_with_one_more_column() {
    let place = Place::new();
    let entry = |name: &str| json!({name: 1});
    let mine = vec![
        measured("file.fstat", entry("newfstatat"), 200.0),
        measured("file.lstat", entry("newfstatat"), 500.0),
        measured("id.umask", entry("umask"), 90.0),
        measured(
            "process.fork_wait",
            json!({"clone": 1, "wait4": 1, "exit_group": 1}),
            90_000.0,
        ),
        measured(
            "process.vfork_wait",
            json!({"vfork": 1, "wait4": 1, "exit_group": 1}),
            30_000.0,
        ),
        measured("unrelated", json!({}), 1.0),
    ];
    write(
        &place.path(),
        "mine.json",
        &run("mine", 1_700_000_000, mine),
    );
    let published = ["macosx-10.7", "linux-2.6.32", "solaris-oi151"];
    let published = published
        .map(|name| file(&format!("published/{name}.json")))
        .join(" ");
    let line = format!("compare --study os-calls {published} mine.json");
    expect_valid("comparison-2", &place.document(&line));
    place.prints(GOLDENS, &[("study-120", 120, &line)]);
}

#[test]
fn what_the_user_can_mend_has_exit_status_2() {
    let place = place();
    place.write("bad.json", "{}");
    write(
        &place.path(),
        "a.json",
        &run("a", 1, vec![measured("file.statfs", json!({}), 1.0)]),
    );
    place.refusals(
        "compare",
        "compare",
        &[
            "before.json a.json",
            "before.json bad.json after.json",
            "before.json missing.json after.json",
            "before.json",
            "",
            "- -",
            "--versus before.json",
            "- --versus -",
        ],
    );
    let study = "before.json after.json --study nonsense";
    place.refuses("compare", &[(study, 2, "there is no study 'nonsense'")]);
    place.refusals(
        "compare-sides",
        "compare before.json --versus after.json",
        &["--baseline x"],
    );
    place.refusals(
        "compare-two",
        "compare before.json after.json",
        &[
            "--label a --label a",
            "--label a --label b --label c",
            "--label ' '",
            "--baseline nowhere",
            "--only nothing.*",
            "--only [",
            "--study perl-ops",
            "--threshold many",
            "--threshold=-5",
            "--threshold nan",
            "--threshold %",
        ],
    );
}
