//! `syscost compare` as its users meet it: golden output in each format, verdicts, exit status, errors, hostile files.
//!
//! `SNAPSHOTS=overwrite cargo test --test files compare` rewrites tests/golden/compare-*.txt;
//! read the difference before it is kept.

use crate::data_of_comparisons as data;

use crate::common::{Place, expect_file, expect_status, expect_valid, file, stderr, stdout};
use data::{failed, measured, run, write};
use serde_json::{Value, json as value};
use std::fs;
use std::process::Output;

fn expect_golden(name: &str, actual: &str) {
    expect_file(format!("tests/golden/{name}"), actual);
}

/// A machine before and after an update, with a row of each kind.
fn before_and_after() -> (Value, Value) {
    let one = |name: &str| value!({name: 1});
    let before = vec![
        measured("call.getpid", value!({}), 2.0),
        measured("id.umask", one("umask"), 90.0),
        measured("id.getppid", one("getppid"), 100.0),
        measured("file.lstat", one("newfstatat"), 450.0),
        measured("file.stat", one("newfstatat"), 430.0),
        measured("file.open_close", value!({"openat": 1, "close": 1}), 1400.0),
        failed("file.statx", "ENOSYS: statx: Function not implemented"),
        measured(
            "process.fork_wait",
            value!({"clone": 1, "wait4": 1, "exit_group": 1}),
            85_000.0,
        ),
        measured("time.clock_gettime", value!({}), 20.0),
    ];
    let after = vec![
        measured("call.getpid", one("getpid"), 104.0),
        measured("id.umask", one("umask"), 131.0),
        measured("id.getppid", one("getppid"), 140.0),
        measured("file.lstat", one("lstat"), 495.0),
        measured("file.stat", one("newfstatat"), 432.0),
        measured("file.open_close", value!({"openat": 1, "close": 1}), 1200.0),
        measured("file.statx", one("statx"), 470.0),
        measured(
            "process.fork_wait",
            value!({"clone": 1, "wait4": 1, "exit_group": 1}),
            99_000.0,
        ),
        measured("net.socketpair", one("socketpair"), 5000.0),
    ];
    let mut after = run("vm", 1_700_086_400, after);
    after["host"]["kernel"] = value!("6.18.4");
    after["host"]["mitigations"] = value!(["spectre_v2: IBRS", "vmscape: IBPB on VMEXIT"]);
    (run("vm", 1_700_000_000, before), after)
}

/// A place with before.json, after.json and third.json.
fn place() -> Place {
    let place = Place::new();
    let (before, after) = before_and_after();
    let mut third = before.clone();
    third["host"]["name"] = value!("db");
    third["started_unix_s"] = value!(1_700_172_800);
    third["tool"]["version"] = value!("0.2.0");
    for (name, run) in [
        ("before.json", before),
        ("after.json", after),
        ("third.json", third),
    ] {
        write(&place.path(), name, &run);
    }
    place
}

fn output(place: &Place, width: &str, arguments: &[&str]) -> Output {
    place
        .command(&[&["compare"], arguments].concat())
        .env("COLUMNS", width)
        .output()
        .unwrap()
}

/// Standard output of a comparison that must succeed.
fn printed(place: &Place, width: &str, arguments: &[&str]) -> String {
    let output = output(place, width, arguments);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

#[test]
fn two_files_in_each_format() {
    let place = place();
    for width in ["80", "120"] {
        let text = printed(&place, width, &["before.json", "after.json"]);
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= width.parse().unwrap()),
            "{width}:\n{text}"
        );
        expect_golden(&format!("compare-{width}.txt"), &text);
    }
    for format in ["markdown", "csv", "json"] {
        let text = printed(
            &place,
            "80",
            &["before.json", "after.json", "--format", format],
        );
        expect_golden(&format!("compare-{format}.txt"), &text);
    }
}

#[test]
fn three_files_are_paged() {
    let arguments = [
        "before.json",
        "after.json",
        "third.json",
        "--baseline",
        "after.json",
        "--label",
        "old",
    ];
    let text = printed(&place(), "80", &arguments);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    expect_golden("compare-three-80.txt", &text);
}

/// Five runs a side, 0.1% apart, which show 3%; two of the files have two runs.
fn sides(place: &Place) -> (Vec<String>, Vec<String>) {
    let side = |directory: &str, by: f64| -> Vec<String> {
        fs::create_dir(place.path().join(directory)).unwrap();
        let file = |i: i32| {
            let of = |i: i32| {
                let ns = |ns: f64| ns * by * (1.0 + 0.006 * f64::from(i - 2));
                let records = [("file.stat", 430.0), ("id.getppid", 100.0 / by)];
                records
                    .map(|(id, cost)| measured(id, value!({id: 1}), ns(cost)))
                    .to_vec()
            };
            let mut run = run("vm", 1_700_000_000 + i as u64 + (by * 1000.0) as u64, of(i));
            // Earlier runs of this machine scattered as these do.
            run["host"]["run_scatter_percent"] = value!(0.1);
            run["host"]["run_scatter_runs"] = value!(5);
            for record in run["records"].as_array_mut().unwrap() {
                record["samples"]["earlier"] = value!([1.0, 1.012, 0.988, 1.005, 0.995]);
            }
            if i == 3 {
                let results: Vec<Value> = of(4)
                    .into_iter()
                    .map(|r| value!({"samples": r["samples"]}))
                    .collect();
                run["repeats"] = value!([{"started_unix_s": 9, "seed": (by * 1000.0) as u64, "elapsed_s": 4.0, "host": {}, "results": results}]);
            }
            write(&place.path().join(directory), &format!("{i}.json"), &run);
            format!("{directory}/{i}.json")
        };
        (0..4).map(file).collect()
    };
    (side("before", 1.0), side("after", 1.03))
}

#[test]
fn several_runs_a_side_show_what_single_runs_cannot() {
    let place = Place::new();
    let (before, after) = sides(&place);
    let arguments = [before.clone(), vec!["--versus".to_string()], after.clone()].concat();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = printed(&place, "120", &arguments);
    expect_golden("compare-versus-120.txt", &text);
    let row = cells(&text, "file.stat");
    assert!(row.contains(&"slower".to_string()), "{row:?}");
    let single = printed(&place, "120", &[before[0].as_str(), after[0].as_str()]);
    assert!(
        cells(&single, "file.stat").contains(&"inconclusive".to_string()),
        "{single}"
    );
    let json = printed(
        &place,
        "80",
        &[&arguments[..], &["--format", "json"]].concat(),
    );
    let document: Value = serde_json::from_str(&json).unwrap();
    expect_valid("comparison-2", &document);
    assert_eq!(
        (
            &document["columns"][0]["runs"],
            &document["columns"][1]["label"]
        ),
        (&value!(5), &value!("after"))
    );
    let other = printed(
        &place,
        "120",
        &[
            &arguments[..],
            &["--baseline", "after/1.json", "--label", "a"],
        ]
        .concat(),
    );
    assert!(
        !other.contains("before 5 runs") && other.contains("a 5 runs"),
        "{other}"
    );
    let twice = [&["before/1.json", "--versus"], &arguments[..1]].concat();
    assert!(!printed(&place, "80", &twice).is_empty());
    let same = printed(
        &place,
        "80",
        &[
            "before/1.json",
            "before/2.json",
            "--versus",
            "before/1.json",
            "after/1.json",
        ],
    );
    assert!(
        same.contains("the same run under several names: old, new"),
        "{same}"
    );
}

#[test]
fn profiles_become_sides_too_and_a_file_names_the_baseline() {
    let [one, other] =
        ["traced", "detailed"].map(|name| file(&format!("tests/profile/{name}.json")));
    let arguments = [
        &one,
        "--versus",
        &other,
        "--baseline",
        &other,
        "--format",
        "json",
    ];
    let document: Value = serde_json::from_str(&printed(&Place::new(), "80", &arguments)).unwrap();
    assert_eq!(
        (
            &document["baseline"],
            document["columns"].as_array().map(Vec::len)
        ),
        (&value!(1), Some(2))
    );
}

#[test]
fn tables_fit_narrow_screens() {
    let place = place();
    for width in [40, 60, 80] {
        for files in [
            &["before.json", "after.json"][..],
            &["before.json", "after.json", "third.json"],
        ] {
            let text = printed(&place, &width.to_string(), files);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{text}"
            );
        }
    }
    let narrow = printed(&place, "40", &["before.json", "after.json"]);
    assert!(
        narrow.contains("\noperation           ratio  verdict\n"),
        "{narrow}"
    );
}

#[test]
fn rows_that_depend_on_history_are_marked() {
    let place = Place::new();
    let (before, mut after) = before_and_after();
    let lstat = |record: &&mut Value| record["operation"] == "file.lstat";
    after["records"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .find(lstat)
        .unwrap()["samples"]["history"] = true.into();
    write(&place.path(), "before.json", &before);
    write(&place.path(), "after.json", &after);
    let text = printed(&place, "120", &["before.json", "after.json"]);
    let row = text
        .lines()
        .find(|line| line.starts_with("file.lstat "))
        .unwrap();
    assert!(
        row.contains(" 450.0  ~495.0  1.100 ") && row.contains("no verdict"),
        "{row}"
    );
    let (_, note) = text.split_once("\n~: depends on ").unwrap();
    let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        note.contains("; no verdict, and not in means: file.lstat"),
        "{note}"
    );
    let limited = output(
        &place,
        "120",
        &[
            "before.json",
            "after.json",
            "--only",
            "file.lstat",
            "--fail-over",
            "1%",
        ],
    );
    assert_eq!(
        limited.status.code(),
        Some(2),
        "a gate that judges nothing does not pass"
    );
    assert!(
        stderr(&limited).contains("not judged: file.lstat: the cost depends on earlier"),
        "{}",
        stderr(&limited)
    );
}

#[test]
fn rows_are_chosen_and_sorted() {
    let text = printed(
        &place(),
        "80",
        &[
            "before.json",
            "after.json",
            "--only",
            "file",
            "--sort",
            "ratio",
        ],
    );
    let names = |text: &str| -> Vec<String> {
        let rows = text
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        rows.filter(|word| word.starts_with("file.") && !word.ends_with([',', ':']))
            .map(str::to_string)
            .collect()
    };
    assert_eq!(
        names(&text),
        ["file.lstat", "file.stat", "file.open_close", "file.statx"],
        "{text}"
    );
    let text = printed(
        &place(),
        "80",
        &[
            "before.json",
            "after.json",
            "--only",
            "*stat",
            "--sort",
            "cost",
        ],
    );
    assert_eq!(names(&text), ["file.stat", "file.lstat"], "{text}");
    let text = printed(
        &place(),
        "80",
        &[
            "before.json",
            "after.json",
            "--only",
            "file",
            "--sort",
            "name",
        ],
    );
    assert_eq!(
        names(&text),
        ["file.lstat", "file.open_close", "file.stat", "file.statx"],
        "{text}"
    );
}

#[test]
fn a_threshold_leaves_out_what_does_not_certainly_differ() {
    let shown = |threshold: &str| {
        printed(
            &place(),
            "80",
            &[
                "before.json",
                "after.json",
                "--threshold",
                threshold,
                "--only",
                "file.*",
            ],
        )
    };
    let (five, ten) = (shown("5%"), shown("10"));
    for name in ["file.open_close ", "file.statx "] {
        assert!(
            five.contains(name) && ten.contains(name),
            "{name}: {five}{ten}"
        );
    }
    assert!(
        five.contains("file.lstat ")
            && !five.contains("file.stat ")
            && !ten.contains("file.lstat "),
        "{five}{ten}"
    );
    assert!(
        five.contains(
            "Not shown, as no difference over 5% is certain: 0 unchanged, 1 inconclusive"
        ),
        "{five}"
    );
    assert!(
        ten.contains(
            "Not shown, as no difference over 10% is certain: 1 unchanged, 1 inconclusive"
        ),
        "{ten}"
    );
}

#[test]
fn growth_over_the_limit_is_exit_status_1_and_named() {
    let place = place();
    let failing = output(
        &place,
        "80",
        &["before.json", "after.json", "--fail-over", "8%"],
    );
    expect_status(&failing, 1);
    let named: Vec<String> = stderr(&failing).lines().map(str::to_string).collect();
    assert_eq!(
        named[0],
        "syscost: call.getpid makes more kernel entries: getpid x1 in after, none in before"
    );
    assert!(
        named[1].starts_with("syscost: id.umask costs x1.456 ("),
        "{named:?}"
    );
    assert!(
        named[3].starts_with("syscost: process.fork_wait costs x1.165 (")
            && named[3].ends_with("over --fail-over 8%")
    );
    assert!(
        named[4..]
            .iter()
            .all(|line| line.starts_with("syscost: not judged: ")),
        "{named:?}"
    );
    assert!(stdout(&failing).contains("file.lstat"));
    let passing = output(
        &place,
        "80",
        &[
            "before.json",
            "after.json",
            "--fail-over",
            "50",
            "--only",
            "id",
        ],
    );
    assert_eq!(
        (passing.status.code(), stderr(&passing)),
        (Some(0), String::new())
    );
    assert_eq!(
        output(
            &place,
            "80",
            &["before.json", "after.json", "--fail-over", "50"]
        )
        .status
        .code(),
        Some(1),
        "entries"
    );
    let reversed = [
        "before.json",
        "after.json",
        "--baseline",
        "after",
        "--fail-over",
        "30",
    ];
    assert_eq!(
        output(&place, "80", &reversed).status.code(),
        Some(0),
        "what became cheaper did not grow"
    );
    // The rows are judged even where they are not shown.
    let hidden = [
        "before.json",
        "after.json",
        "--threshold",
        "90%",
        "--fail-over",
        "8%",
        "--only",
        "id",
    ];
    assert_eq!(output(&place, "80", &hidden).status.code(), Some(1));
}

#[test]
fn a_markdown_page_says_whether_costs_grew() {
    let place = place();
    let page = |limit: &str| {
        stdout(&output(
            &place,
            "80",
            &[
                "before.json",
                "after.json",
                "--fail-over",
                limit,
                "--format",
                "markdown",
            ],
        ))
    };
    let failed = page("8%");
    let headlines = "- failed: 3 rows certainly grew by more than 8% (--fail-over)\n- failed: 1 row with more kernel entries";
    assert!(failed.starts_with(headlines), "{failed}");
    assert!(
        failed.contains("- id.umask costs x1.456 (1.374 .. 1.542) in after, over --fail-over 8%\n"),
        "{failed}"
    );
    assert!(page("50%").starts_with(
        "- passed: no row certainly grew by more than 50% (--fail-over)\n- failed: 1 row "
    ));
}

const SYSTEMS: [&str; 3] = ["macosx-10.7", "linux-2.6.32", "solaris-oi151"];

/// The cells of the line that starts with `name`, in the first table that has it.
fn cells(text: &str, name: &str) -> Vec<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("{name}:\n{text}"));
    line.split_whitespace().map(str::to_string).collect()
}

#[test]
fn the_tables_of_an_article_come_out_with_one_more_column() {
    let place = Place::new();
    let entry = |name: &str| value!({name: 1});
    let mine = vec![
        measured("file.fstat", entry("newfstatat"), 200.0),
        measured("file.lstat", entry("newfstatat"), 500.0),
        measured("id.umask", entry("umask"), 90.0),
        measured(
            "process.fork_wait",
            value!({"clone": 1, "wait4": 1, "exit_group": 1}),
            90_000.0,
        ),
        measured(
            "process.vfork_wait",
            value!({"vfork": 1, "wait4": 1, "exit_group": 1}),
            30_000.0,
        ),
        measured("unrelated", value!({}), 1.0),
    ];
    write(
        &place.path(),
        "mine.json",
        &run("mine", 1_700_000_000, mine),
    );
    let published = SYSTEMS.map(|name| file(&format!("published/{name}.json")));
    let arguments = [
        &["--study", "os-calls"][..],
        &published.each_ref().map(String::as_str),
        &["mine.json"],
    ]
    .concat();
    let json = printed(
        &place,
        "80",
        &[&arguments[..], &["--format", "json"]].concat(),
    );
    expect_valid("comparison-2", &json);
    let text = printed(&place, "120", &arguments);
    expect_golden("compare-study-120.txt", &text);
    assert_eq!(cells(&text, "fstat "), ["31.12", "8.36", "62.13", "13.42"]);
    assert_eq!(
        cells(&text, "lstat - fstat "),
        ["20.06", "19.05", "103.13", "20.13"]
    );
    assert_eq!(cells(&text, "getpid "), ["-", "-", "21.78"]);
    assert_eq!(
        cells(&text, "fork+wait "),
        ["27.36?", "9.35?", "24.32?", "5.90"]
    );
    // 160962.56, 22548.48 and 40355.84 s for 1,024 times as many calls.
    assert_eq!(cells(&text, "execve "), ["157.19", "22.02", "39.41"]);
    assert_eq!(
        cells(&text, "vfork / fork "),
        ["1.9%", "64.5%", "23.4%", "33.3%"]
    );
    assert!(!text.contains("unrelated"), "{text}");
}

#[test]
fn what_the_user_can_mend_has_exit_status_2() {
    let place = place();
    let all: [(&str, i32, &str); 5] = [
        ("before.json", 2, "two files or more"),
        ("", 2, "required"),
        ("- -", 2, "standard input"),
        ("--versus before.json", 2, "required"),
        ("- --versus -", 2, "standard input"),
    ];
    place.refuses("compare", &all);
    place.refuses(
        "compare before.json --versus after.json",
        &[("--baseline x", 2, "which are called before, after")],
    );
    let pair: [(&str, i32, &str); 12] = [
        ("--label a --label a", 2, "'a' is given twice"),
        ("--label a --label b --label c", 2, "3 labels for 2 files"),
        ("--label ' '", 2, "label 1 is empty"),
        ("--baseline nowhere", 2, "which are called before, after"),
        ("--only nothing.*", 2, "no row matches nothing.*"),
        ("--only [", 2, "pattern '['"),
        ("--study nonsense", 2, "there is no study 'nonsense'"),
        ("--study perl-ops", 2, "no file has a case of the study"),
        ("--threshold many", 2, "'many'"),
        ("--threshold=-5", 2, "'-5'"),
        ("--threshold nan", 2, "'nan'"),
        ("--threshold %", 2, "'%'"),
    ];
    place.refuses("compare before.json after.json", &pair);
}

#[test]
fn files_without_a_common_row_are_a_mistake() {
    let place = Place::new();
    write(
        &place.path(),
        "a.json",
        &run("a", 1, vec![measured("file.stat", value!({}), 1.0)]),
    );
    write(
        &place.path(),
        "b.json",
        &run("b", 2, vec![measured("file.lstat", value!({}), 1.0)]),
    );
    let output = output(&place, "80", &["a.json", "b.json"]);
    expect_status(&output, 2);
    assert!(
        stderr(&output).starts_with("syscost: the files have no row in common: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let place = place();
    place.write("bad.json", "{}");
    let cases: [(&str, i32, &str); 2] = [
        ("bad.json after.json", 1, "syscost: bad.json: "),
        ("missing.json", 1, "syscost: missing.json: "),
    ];
    place.refuses("compare before.json", &cases);
}
