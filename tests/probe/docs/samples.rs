//! Output that the documents show, against what the program prints today: `bench/samples --check` runs the same commands for a moment.

use super::pages;
use crate::common::*;

/// `bench/samples --check` with the program under test, on `page` if one is given; `None` if there is no Python, with a skip.
fn check(page: Option<&Path>, names: &[&str]) -> Option<Output> {
    let mut command = Command::new(root().join("bench/samples"));
    command
        .arg("--check")
        .args(names)
        .env("SYSCOST", env!("CARGO_BIN_EXE_syscost"));
    if let Some(page) = page {
        command.arg("--pages").arg(page);
    }
    if Command::new("python3").arg("--version").output().is_err() {
        skip("no python3 on PATH");
        return None;
    }
    Some(command.output().unwrap())
}

/// A run, a comparison, an explanation, a traced command and a published study.
const KINDS: [&str; 5] = ["cost", "compare", "explain", "why", "os-calls"];

#[test]
fn samples_have_the_shape_of_todays_output() {
    let pages = pages();
    let comments = pages
        .iter()
        .flat_map(|(_, page)| page.split("<!-- sample ").skip(1));
    let names: Vec<&str> = comments
        .filter_map(|comment| comment.split_whitespace().next())
        .collect();
    assert!(names.len() >= 20, "{names:?}");
    let output = needs!(check(None, &one_of_each_kind(&names, &KINDS)));
    for line in stderr(&output)
        .lines()
        .filter_map(|line| line.strip_prefix("SKIPPED: "))
    {
        skip(line);
    }
    expect_status(&output, 0);
}

/// One page with a true sample and, one by one, with what goes stale: a column, an operation, a note, a machine without a name.
#[test]
fn stale_samples_are_found() {
    let place = Place::new();
    let page = place.path().join("page.md");
    let text = "<!-- sample one -->\n```text\n$ syscost show run.json\nTABLE```\n";
    let golden = root().join("tests/golden/run.json");
    let setup = text.replace(
        "sample one -->",
        &format!("sample one\ncp {} run.json\n-->", golden.display()),
    );
    let shown = stdout(
        &place
            .command(format!("show {}", golden.display()))
            .env("COLUMNS", "80")
            .output()
            .unwrap(),
    );
    let good = setup.replace("TABLE", &shown);
    let stale = |text: &str| {
        fs::write(&page, text).unwrap();
        check(Some(&page), &["one"]).map(|output| (output.status.code(), stdout(&output)))
    };
    let (status, said) = needs!(stale(&good));
    assert_eq!(status, Some(0), "{said}");
    let wrong = [
        ("ns/op", "ns", "titles of tables"),
        ("\nid.umask ", "\nid.umsk ", "operations are"),
        ("\nfailed: ", "\nshattered beyond all repair: ", "note"),
    ];
    for (old, new, reason) in wrong {
        expect_in(&good, old);
        let (status, said) = stale(&good.replacen(old, new, 1)).unwrap();
        assert!(status == Some(1) && said.contains(reason), "{old}: {said}");
    }
}
