//! Several runs in one file, and two sides in the same rounds, as their users meet them.

use crate::common::*;
use nix::time::{ClockId, clock_getres};
fn run_to_file(place: &Place, arguments: impl Line) -> Value {
    let output = place.run(("run --time 0.3 --out out.json", arguments));
    expect_status(&output, 0);
    place.parsed("out.json")
}

#[test]
fn a_file_has_the_time_of_the_rounds_and_that_of_the_whole_run() {
    let place = Place::new();
    let plan = run_to_file(&place, "id.getppid")["plan"].clone();
    let given = plan["budget_s"].as_f64().unwrap();
    assert!(
        (0.0..0.3).contains(&given),
        "the passes take some of it: {plan}"
    );
    assert_eq!(plan["whole_s"], 0.3);
    let output = place.run("run id.getppid --cpu-seconds 0.1 --no-verify --out each.json");
    expect_status(&output, 0);
    assert!(place.parsed("each.json")["plan"]["whole_s"].is_null());
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
    for arguments in ["id.getppid --runs 3 --no-verify", "id.getppid --no-verify"] {
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
    let file: Value = place.parsed("out.json");
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).unwrap();
    assert_eq!(
        file["host"]["tick_hz"],
        1_000_000_000 / tick.tv_nsec(),
        "{}",
        file["host"]
    );
    let source = match file["host"]["run_scatter_runs"].as_u64() {
        Some(runs) => format!("(learned from {runs} runs)"),
        None => "(assumed)".to_string(),
    };
    let text = stdout(&place.run("show out.json --view wide"));
    assert!(text.replace("\n  ", " ").contains(&source), "{text}");
}

#[test]
fn runs_are_repeated_into_one_file() {
    let place = Place::new();
    let file = run_to_file(&place, "id.umask --runs 3");
    let repeats = list(&file["repeats"]);
    let seeds: Vec<u64> = repeats
        .iter()
        .map(|repeat| repeat["seed"].as_u64().unwrap())
        .collect();
    let seed = file["plan"]["seed"].as_u64().unwrap();
    let next = [1, 2].map(|n| seed.wrapping_add(n)).to_vec();
    assert_eq!((seeds, file["complete"].as_bool()), (next, Some(true)));
    let records = list(&file["records"]).len();
    let whole = |repeat: &Value| {
        list(&repeat["results"])
            .iter()
            .filter(|r| r["samples"].is_object())
            .count()
    };
    assert_eq!(
        repeats.iter().map(whole).collect::<Vec<_>>(),
        [records, records]
    );
    let shown = stdout(&place.run("show out.json --view wide"));
    expect_in(&shown, ["next run", "3 runs: "]);
    let document: Value = place.document("show out.json");
    expect_valid("summary-2", &document);
    assert_eq!(list(&document["records"][0]["runs"]["medians_ns"]).len(), 3);
    let lines = stdout(&place.run("show out.json --format go-benchmark"));
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
    let arguments = "run id.umask --runs 1000 --time 0.2 --no-verify --out out.json";
    let mut child = place
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = place.path().join("out.json");
    let read = || serde_json::from_str::<Value>(&fs::read_to_string(&file).ok()?).ok();
    let repeats = || read().map_or(0, |file| file["repeats"].as_array().map_or(0, Vec::len));
    wait_until(|| repeats() >= 2);
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
    copy_program(Path::new(assets::DIRECTORY).join("probe"), &probe);
    let file = run_to_file(&place, "id.umask perl:1 --versus-probe other --runs 2");
    let environments: Vec<&str> = list(&file["records"])
        .iter()
        .filter(|r| r["operation"] == "id.umask")
        .map(|r| r["environment"].as_str().unwrap())
        .collect();
    assert_eq!(
        environments,
        ["native", "other", "native (again)"],
        "and the control"
    );
    let shown = stdout(&place.run("show out.json --view wide"));
    expect_in(&shown, ["other ns/op", "/ native"]);
    let document: Value = place.document("show out.json");
    expect_valid("summary-2", &document);
    let versus = &document["records"][1]["versus"];
    assert!(
        versus["environment"] == "native"
            && versus["value"].as_f64().is_some_and(|ratio| ratio > 0.0),
        "{versus}"
    );
    place.refuses(
        "run id.umask --versus-probe",
        &[
            ("/bin/true", 2, "does not speak the probe's protocol"),
            ("/bin/cat", 2, "does not speak"),
            ("/etc/passwd", 2, "not an executable file"),
            ("none", 2, "no such file"),
        ],
    );
}

#[test]
fn directories_are_measured_side_by_side() {
    let place = Place::new();
    let file = run_to_file(&place, "file.stat --tmpdir tmp,tmp");
    let asked = list(&file["records"])
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
    let one = run_to_file(&place, "file.stat --tmpdir tmp");
    assert_eq!(one["records"][0]["environment"], "native");
    place.refuses(
        "run",
        &[("id.umask --tmpdir /tmp,/none", 2, "cannot measure in /none")],
    );
}

/// When each record's entries were counted by an earlier run, if they were, by operation.
fn counted_earlier(place: &Place, arguments: impl Line) -> Vec<(String, bool)> {
    let file = run_to_file(
        place,
        ("id.umask time.time dir.mkdir_rmdir c:getppid()", arguments),
    );
    let asked = list(&file["records"])
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
    let none = counted_earlier(&place, "");
    if !kept.exists() {
        return skip("nothing could be counted");
    }
    assert!(none.iter().all(|(_, is_earlier)| !is_earlier), "{none:?}");
    let expected = [
        ("id.umask", true),
        // None are known, but each run counts as many iterations as it has timed.
        ("time.time", false),
        ("dir.mkdir_rmdir", false),
        ("getppid()", false),
    ];
    let expected = expected.map(|(operation, is_earlier)| (operation.to_string(), is_earlier));
    assert_eq!(counted_earlier(&place, ""), expected);
    fs::write(&kept, "nonsense\n{\"key\":1}\n").unwrap();
    assert_eq!(counted_earlier(&place, ""), none);
    assert_eq!(counted_earlier(&place, ""), expected);
}

/// Two calls for one, which is also what fails.
#[test]
fn named_snippets_are_rows_with_their_ratio() {
    let run = "run BASE=perl:getppid() HEAD=perl:getppid(),getppid() --time 1 --fail-on-entries";
    let place = Place::new();
    let output = place.run((run, "--out run.json"));
    if stderr(&output).contains("language perl") {
        return skip("no perl");
    }
    let document = place.document("show run.json");
    let names: Vec<&Value> = list(&document["records"])
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(names, ["BASE", "HEAD"]);
    assert_eq!(document["derived"][0]["name"], "HEAD / BASE");
    expect_status(&output, 1);
    expect_in(stderr(&output), "HEAD / BASE makes more kernel entries");
}
