//! Output that the documents show, against what the program prints today: `bench/samples --check` runs the same commands for a moment.

use super::pages;
use crate::common::*;

/// `bench/samples` with the program under test; `None` if there is no Python, with a skip.
fn samples(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(root().join("bench/samples"));
    command
        .args(arguments)
        .env("SYSCOST", env!("CARGO_BIN_EXE_syscost"));
    if Command::new("python3").arg("--version").output().is_err() {
        skip("no python3 on PATH");
        return None;
    }
    let output = command.output().unwrap();
    for line in stderr(&output)
        .lines()
        .filter_map(|line| line.strip_prefix("SKIPPED: "))
    {
        skip(line);
    }
    Some(output)
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
    let names = one_of_each_kind(&names, &KINDS);
    let output = needs!(samples(&[&["--check"], &names[..]].concat()));
    expect_status(&output, 0);
}

/// Those whose blocks make files for each other.
const PAGES: [&str; 4] = [
    "docs/ci.md",
    "docs/compare.md",
    "docs/pages.md",
    "docs/system.md",
];

#[test]
fn every_block_of_the_documents_runs_in_an_empty_directory() {
    let pages = pages();
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let chosen = one_of_each_kind(&names, &PAGES);
    let files: Vec<String> = chosen.into_iter().map(file).collect();
    let files = files.iter().map(String::as_str);
    let arguments: Vec<&str> = ["--blocks", "--pages"].into_iter().chain(files).collect();
    let output = needs!(samples(&arguments));
    expect_status(&output, 0);
}

/// A file that no block made, a status, and what a machine lacks.
#[test]
fn blocks_that_do_not_run_are_found() {
    let place = Place::new();
    let page = place.path().join("page.md");
    let blocks = |text: &str| {
        fs::write(&page, text).unwrap();
        let output = samples(&["--blocks", "--pages", page.to_str().unwrap()])?;
        Some((output.status.code(), stdout(&output), stderr(&output)))
    };
    let made = "```sh\necho > before.json\n```\n\n```sh\ncat before.json\n```\n";
    let (status, said, _) = needs!(blocks(made));
    assert_eq!(status, Some(0), "{said}");
    for (text, reason) in [
        ("```sh\ncat before.json\n```\n", "before.json"),
        ("```console\n$ syscost run no.such\n```\n", "ended with 2"),
        ("```console\n$ true  # exit status 3\n```\n", "ended with 0"),
        (
            "<!-- sample a\necho > x\n-->\n```text\n$ cat x\n```\n",
            "not there for readers",
        ),
    ] {
        let (status, said, _) = blocks(text).unwrap();
        assert!(status == Some(1) && said.contains(reason), "{text}: {said}");
    }
    let lacking = "<!-- block needs=another-machine -->\n```sh\nfalse\n```\n";
    let (status, _, said) = blocks(lacking).unwrap();
    assert!(
        status == Some(0) && said.contains("SKIPPED: block 'false' of page.md"),
        "{said}"
    );
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
        let output = samples(&["--check", "one", "--pages", page.to_str().unwrap()])?;
        Some((output.status.code(), stdout(&output)))
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
