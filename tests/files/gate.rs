//! Gates: what fails a comparison of runs and of profiles, and a traced command; their exit statuses and what they print for CI.

use crate::common::*;
// It makes articles too, for the tests of `compare`.
#[allow(dead_code)]
use crate::data_of_comparisons as data;

use clap::Parser;
use data::{measured, run, write};

fn runs(place: &Place) {
    let file = |entries: u32, ns: f64| {
        run(
            "vm",
            100 + u64::from(entries),
            vec![
                measured("file.stat", json!({"stat": entries}), ns),
                measured("id.umask", json!({"umask": 1}), 90.0),
            ],
        )
    };
    write(&place.path(), "base.json", &file(1, 450.0));
    write(&place.path(), "same.json", &file(1, 450.4));
    write(&place.path(), "doubled.json", &file(2, 451.0));
    let mut failed = file(1, 450.0);
    failed["records"][0] = data::failed("file.stat", "EPERM");
    failed["records"][1] = data::failed("id.umask", "EPERM");
    write(&place.path(), "failed.json", &failed);
}

fn compared(place: &Place, head: &str, flags: impl Line) -> Output {
    place.run((format!("compare base.json {head}"), flags))
}

#[test]
fn doubled_entries_fail_and_the_row_is_named() {
    let place = Place::new();
    runs(&place);
    for flag in [
        "--fail-over=10%",
        "--fail-on-entries",
        "--fail-on-entries=any",
    ] {
        let failed = compared(&place, "doubled.json", [flag]);
        expect_status(&failed, 1);
        let line =
            "syscost: file.stat makes more kernel entries: stat x2 in doubled, stat x1 in base\n";
        assert_eq!(stderr(&failed), line, "{flag}");
        let passed = compared(&place, "same.json", [flag]);
        assert_eq!(
            (passed.status.code(), stderr(&passed)),
            (Some(0), String::new()),
            "{flag}"
        );
    }
    assert_eq!(
        compared(&place, "doubled.json", "").status.code(),
        Some(0),
        "without a gate nothing fails"
    );
    let fewer = place.run("compare doubled.json base.json --fail-over 10%");
    expect_status(&fewer, 0);
    assert!(
        stderr(&fewer)
            .starts_with("syscost: not judged: file.stat: different kernel entries, but not more"),
        "{fewer:?}"
    );
    let unclear = compared(&place, "same.json", "--fail-over 0.1%");
    expect_status(&unclear, 0);
    let line = "syscost: 2 of 2 rows: too uncertain to tell whether costs grew by 0.1%, which lies within the 95% interval\n";
    assert_eq!(stderr(&unclear), line);
    let any = place.run("compare doubled.json base.json --fail-on-entries=any");
    expect_status(&any, 1);
    let nothing = compared(&place, "failed.json", "--fail-on-entries");
    expect_status(&nothing, 2);
}

/// A profile of `program`, traced under ptrace, which needs no rights; `None`, said loudly, where that is refused.
fn traced(place: &Place, name: &str, flags: impl Line, program: impl Line) -> Option<Output> {
    let start = format!("--quiet trace --tracer ptrace -o {name} --report /dev/null");
    let output = place.run((start, flags, ("--", program)));
    if output.status.code() == Some(1) && stderr(&output).contains("ptrace") {
        skip(&stderr(&output));
        return None;
    }
    Some(output)
}

#[test]
fn identical_pairs_of_profiles_pass_and_one_more_call_fails() {
    let place = Place::new();
    let program = ["sh", "-c", "cat /dev/null; test -e /etc/passwd"];
    for _ in 0..if cfg!(feature = "heavy") { 20 } else { 5 } {
        for side in ["a", "b"] {
            let output = needs!(traced(&place, &format!("{side}.json"), "", program));
            expect_status(&output, 0);
        }
        let passed = place.run("compare a.json b.json --fail-over 0%");
        expect_status(&passed, 0);
    }
    traced(
        &place,
        "more.json",
        "",
        "sh -c 'cat /dev/null; test -e /etc/passwd; : < /dev/null'",
    );
    let failed = place.run("compare a.json more.json --fail-over 0% --only openat");
    expect_status(&failed, 1);
    let said = stderr(&failed);
    expect_in(&said, ["syscost: openat: ", " calls in more, ", ": +1 "]);
    let document = place.run("compare a.json more.json --format json --fail-over 0");
    expect_valid("profile-comparison-1", &json(&document));
}

#[test]
fn a_budget_fails_a_command_that_succeeds() {
    let place = Place::new();
    let shell = |text: &str, budget: &str| {
        traced(
            &place,
            "x.json",
            format!("--budget {budget}"),
            format!("sh -c '{text}'"),
        )
    };
    let over = needs!(shell("cat /dev/null", "openat=1,total=100000"));
    expect_status(&over, 1);
    let said = stderr(&over);
    expect_in(
        &said,
        ["syscost: --budget openat=1 exceeded: ", ", among them "],
    );
    // More often than the loader looks for any library.
    let nulls = "/dev/null ".repeat(50);
    let named = needs!(shell(&format!("cat {nulls}"), "openat=1 --paths"));
    expect_in(stderr(&named), "; /dev/null 50, ");
    let status =
        |text: &str, budget: &str| shell(text, budget).and_then(|output| output.status.code());
    assert_eq!(
        status("cat /dev/null", "openat=1000,total=100000,errors=1000"),
        Some(0)
    );
    assert_eq!(
        status("exit 7", "total=1"),
        Some(7),
        "the command's own failure goes first"
    );
    assert_eq!(status("true", "opnat=1"), Some(2));
    assert_eq!(status("true", "openat"), Some(2));
    assert_eq!(status("true", "'x: total=1' --group process"), Some(2));

    fs::remove_file(place.path().join("x.json")).unwrap();
    let unmarked = needs!(shell("true", "'x: total=1'"));
    expect_status(&unmarked, 1);
    expect_in(stderr(&unmarked), ["the program marked no section 'x'"]);
    assert_eq!(place.parsed("x.json")["complete"], true, "it is kept");
}

/// A program that makes as many calls as it likes: between 3 and 11 more, by the number of its process.
const VARIES: &str = "i=$(( $$ % 8 )); while [ $i -ge 0 ]; do : < /dev/null; i=$((i - 1)); done";

#[test]
fn runs_give_ranges() {
    let place = Place::new();
    for file in ["a.json", "b.json"] {
        let output = needs!(traced(
            &place,
            file,
            "--runs 6",
            format!("sh -c '{VARIES}'")
        ));
        expect_status(&output, 0);
    }
    let file: Value = place.parsed("a.json");
    assert_eq!(file["repeats"].as_array().map(Vec::len), Some(5));
    let shown = place.document("show a.json");
    let open = list(&shown["calls"])
        .iter()
        .find(|call| call["name"] == "openat")
        .unwrap();
    assert!(
        open["calls_range"][0].as_u64() < open["calls_range"][1].as_u64() && shown["runs"] == 6,
        "{open}"
    );
    let passed = place.run("compare a.json b.json --fail-over 0%");
    expect_status(&passed, 0);
    let twice = format!("{VARIES}; {}", ": < /dev/null; ".repeat(40));
    traced(&place, "more.json", "--runs 6", format!("sh -c '{twice}'"));
    let failed = place.run("compare a.json more.json --fail-over 10% --only openat");
    expect_status(&failed, 1);
    let stopped = traced(&place, "no.json", "--runs 6", "sh -c 'exit 3'").unwrap();
    expect_status(&stopped, 3);
}

/// The example of docs/ci.md: two programs in the same rounds, judged within their one file.
#[test]
fn a_study_of_base_and_head_is_judged_in_one_file() {
    let place = Place::new();
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let study = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    place.write("programs.toml", study);
    for (name, text) in [
        ("base", "#!/bin/sh\ntrue\n"),
        ("head", "#!/bin/sh\n: < /dev/null\n: < /dev/null\n"),
    ] {
        write_program(&place.path().join(name), text);
    }
    let run = |head: &str, out: &str| {
        let mut command = place.command(format!(
            "--quiet run --study programs.toml --time 0.5 --out {out}"
        ));
        let variables = [
            ("BASE", place.path().join("base")),
            ("HEAD", place.path().join(head)),
        ];
        succeeded(command.envs(variables));
    };
    run("head", "pr.json");
    run("base", "same.json");
    let gate = |file: &str| {
        place.run(format!(
            "compare {file} --fail-on-entries --format markdown"
        ))
    };
    let [failed, passed] = ["pr.json", "same.json"].map(gate);
    let slower = place.run("compare same.json --fail-over 10000%");
    if let Some(busy) = [&failed, &passed, &slower]
        .into_iter()
        .map(stderr)
        .find(|said| said.contains("not judged"))
    {
        return skip(&busy);
    }
    expect_error(&failed, 1, "head over base makes more kernel entries: ");
    expect_in(stdout(&failed), "failed: 1 row with more kernel entries");
    expect_status(&passed, 0);
    expect_in(stdout(&passed), "passed");
    expect_status(&slower, 0);
    let csv = place.printed("compare same.json --format csv");
    assert!(
        csv.lines()
            .any(|line| line.starts_with("cost,head over base,") && line.contains(",head,")),
        "{csv}"
    );
}

/// Each command in docs/ci.md is one that the program takes.
#[test]
fn commands_of_the_page_are_understood() {
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let lines = page
        .split("```")
        .skip(1)
        .step_by(2)
        .flat_map(str::lines)
        .map(str::trim);
    let commands: Vec<&str> = lines.filter(|line| line.starts_with("syscost ")).collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let alone = command
            .split(['>', '#', '|'])
            .next()
            .unwrap_or_default()
            .trim_end();
        let words = alone
            .trim_end_matches('\'')
            .replace("$(cat ci/budget)", "total=1");
        let words = shell_words::split(&words).unwrap_or_else(|error| panic!("{command}: {error}"));
        if let Err(error) = cli::Arguments::try_parse_from(&words) {
            panic!("{command}: {error}");
        }
    }
}
