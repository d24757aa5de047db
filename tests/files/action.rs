//! The steps of the GitHub Action, run as the runner would: measure, compare with the base's file, comment by the gate.

use crate::common::*;
fn step(place: &Place, name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("bash");
    command
        .arg(root().join(".ci/action"))
        .arg(name)
        .current_dir(place.path());
    command
        .env("SYSCOST", env!("CARGO_BIN_EXE_syscost"))
        .env("TMPDIR", place.tmp());
    command
        .env("SYSCOST_ACTION_OUT", "head.json")
        .env("GITHUB_OUTPUT", "output")
        .env("GITHUB_STEP_SUMMARY", "summary");
    command.envs(variables.iter().copied()).output().unwrap()
}

/// `None` if the machine was too busy for any verdict: another tracer slowed every call down.
fn compared(place: &Place, base: &str, gate: &str) -> Option<(String, String)> {
    let _ = fs::remove_file(place.path().join("output"));
    let done = step(
        place,
        "compare",
        &[("SYSCOST_ACTION_BASE", base), ("SYSCOST_ACTION_GATE", gate)],
    );
    if stderr(&done).contains("was disturbed all the time") {
        skip("the run was disturbed all the time, so it has no verdict");
        return None;
    }
    expect_status(&done, 0);
    let read = |name: &str| place.read(name);
    Some((read("output"), read("head.json.md")))
}

/// A copy of a result file in which opening a file took a tenth of the time.
fn made_faster(from: &Path, to: &Path) {
    let mut run: Value = serde_json::from_slice(&fs::read(from).unwrap()).unwrap();
    for record in run["records"].as_array_mut().unwrap() {
        if record["operation"] != "file.open_close" {
            continue;
        }
        let Some(blocks) = record["samples"]["blocks"].as_array_mut() else {
            continue;
        };
        for slot in blocks
            .iter_mut()
            .flat_map(|block| block["slots"].as_array_mut().unwrap())
        {
            let times = slot.as_array_mut().unwrap();
            times
                .iter_mut()
                .for_each(|time| *time = (time.as_u64().unwrap() / 10).into());
        }
    }
    fs::write(to, run.to_string()).unwrap();
}

#[test]
fn it_measures_and_compares_and_only_the_gate_fails_it() {
    let place = Place::new();
    let run = "file.open_close 'id.getppid' --time 1 --quiet";
    let measured = step(&place, "measure", &[("SYSCOST_ACTION_RUN", run)]);
    expect_status(&measured, 0);
    let head = place.path().join("head.json");

    let (output, text) = needs!(compared(&place, "", "--fail-over 10%"));
    assert_eq!(output, "verdict=none\n");
    assert!(text.contains("id.getppid") && text.contains('|'), "{text}");

    fs::copy(&head, place.path().join("same.json")).unwrap();
    assert_eq!(
        needs!(compared(&place, "same.json", "--fail-over 10%")).0,
        "verdict=passed\n"
    );

    made_faster(&head, &place.path().join("base.json"));
    assert_eq!(
        needs!(compared(&place, "base.json", "")).0,
        "verdict=passed\n"
    );
    let (output, text) = needs!(compared(&place, "base.json", "--fail-over 10%"));
    assert_eq!(output, "verdict=failed\n", "{text}");
    expect_in(&text, "file.open_close");

    for gate in [
        "--no-such-flag",
        "--fail-over 10%'",
        "--fail-over \"10%",
        "--fail-over ten",
    ] {
        let _ = fs::remove_file(place.path().join("output"));
        let refused = step(
            &place,
            "compare",
            &[
                ("SYSCOST_ACTION_BASE", "base.json"),
                ("SYSCOST_ACTION_GATE", gate),
            ],
        );
        expect_status(&refused, 2);
        assert!(!place.path().join("output").exists(), "{gate}: a verdict");
    }
}

/// Twenty benchmarks, of which one may ask for a file more.
const BENCHMARKS: &str = r#"#!/bin/bash
for at in {0..19}; do
    [ -e "/.syscost/begin/b$at" ]
    for iteration in 1 2 3; do
        [ -e /etc/passwd ] && [ "$at" = "$MORE" ] && [ -e / ]
        ((at % 10)) || (exit 0)
    done
    [ -e "/.syscost/end/b$at/3" ]
done
exit 0
"#;

/// The job of docs/ci.md, as it is copied.
#[test]
fn a_benchmark_that_makes_more_calls_fails_the_job_of_the_page() {
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let blocks = page.split("```yaml").skip(1);
    let job = blocks
        .map(|rest| rest.split("```").next().unwrap())
        .find(|job| job.contains("trace:"))
        .unwrap();
    let input = |name: &str| {
        let name = format!("          {name}: ");
        let line = job.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("{name}")).to_string()
    };
    assert!(
        job.contains(&format!("-- {})", input("trace"))) && job.contains(&input("base")),
        "{job}"
    );
    let place = Place::new();
    write_program(&place.path().join(input("trace")), BENCHMARKS);
    let measure = |out: &str, more: &str| {
        let variables = [
            ("SYSCOST_ACTION_TRACE", input("trace")),
            ("SYSCOST_ACTION_OUT", out.into()),
            ("MORE", more.into()),
        ];
        let done = step(
            &place,
            "measure",
            &variables
                .each_ref()
                .map(|(name, value)| (*name, value.as_str())),
        );
        expect_status(&done, 0);
    };
    measure(&input("base"), "");
    for (more, verdict) in [("", "passed"), ("7", "failed")] {
        measure("head.json", more);
        let (output, text) = needs!(compared(&place, &input("base"), &input("gate")));
        assert_eq!(output, format!("verdict={verdict}\n"), "{text}");
        let failed = text
            .lines()
            .filter(|line| line.starts_with("- ") && line.contains(" in head, "));
        let named: Vec<&str> = failed.collect();
        assert_eq!(named.len(), usize::from(verdict == "failed"), "{text}");
        assert!(
            named
                .iter()
                .all(|line| line.starts_with("- b7: newfstatat: ")),
            "{text}"
        );
    }
}

#[test]
fn what_is_asked_for_is_never_executed() {
    let place = Place::new();
    for run in [
        "'$(touch made)' `touch made` ;touch made",
        "id.getppid 'time.time",
    ] {
        assert!(
            !step(&place, "measure", &[("SYSCOST_ACTION_RUN", run)])
                .status
                .success(),
            "{run}"
        );
    }
    assert!(!place.path().join("made").exists());
}

/// Copies what a release has to the directory that `--dir` names.
const GH: &str = r#"#!/bin/bash
[ "$GH_REPO $1 $2 $3 $4" = "me/syscost release download v1 --dir" ] && cp "$RELEASE"/* "$5"
"#;

#[test]
fn it_installs_a_release_whose_sums_are_right() {
    let place = Place::new();
    let [release, programs] = ["release", "bin"].map(|name| place.path().join(name));
    let make = r#"
        name=syscost-1-$(uname -m)-unknown-linux-gnu
        mkdir -p release/$name bin
        printf '#!/bin/sh\necho installed\n' >release/$name/syscost
        chmod +x release/$name/syscost
        cd release && tar -czf $name.tar.gz $name && rm -r $name && sha256sum *.tar.gz >SHA256SUMS
    "#;
    let mut shell = Command::new("bash");
    expect_status(
        &shell
            .args(["-ec", make])
            .current_dir(place.path())
            .output()
            .unwrap(),
        0,
    );
    write_program(&programs.join("gh"), GH);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let install = || {
        let release = release.to_string_lossy();
        let variables = [
            ("SYSCOST_ACTION_INSTALL", "v1"),
            ("GH_REPO", "me/syscost"),
            ("GITHUB_PATH", "path"),
            ("RELEASE", &*release),
            ("PATH", &*path),
        ];
        step(&place, "install", &variables)
    };
    expect_status(&install(), 0);
    let program = Path::new(place.read("path").trim()).join("syscost");
    assert_eq!(
        stdout(&Command::new(program).output().unwrap()),
        "installed\n"
    );
    place.write(
        "release/SHA256SUMS",
        place.read("release/SHA256SUMS").replace(['0', '1'], "2"),
    );
    expect_status(&install(), 1);
}
