//! A probe that stands alone makes a result by itself, also where nothing of Linux is known.

use crate::common::*;

/// Its result, in a file that other commands read.
fn result(place: &Place, program: &Path, arguments: &[&str]) -> Value {
    let mut run = Command::new(program);
    let run = run.args(["run", "--time", "1"]).args(arguments);
    let output = run.env("TMPDIR", place.tmp()).output().unwrap();
    expect_status(&output, 0);
    place.write("alone.json", &output.stdout);
    expect_valid("result-1", &stdout(&output));
    place.parsed("alone.json")
}

fn record<'a>(result: &'a Value, operation: &str) -> &'a Value {
    let mut records = list(&result["records"]).iter();
    let found = records.find(|record| record["operation"] == operation);
    found.unwrap_or_else(|| panic!("{operation} is missing"))
}

#[test]
fn it_makes_a_result_that_is_unverified_in_every_format() {
    let place = Place::new();
    let program = place.path().join("probe");
    expect_status(
        &place.run(format!("probe build -o {}", program.display())),
        0,
    );
    let asked = [
        "file.lstat depth=4",
        "file.fstat",
        "id",
        "process.vfork_exec_static",
        "process.vfork_exec_bare",
    ];
    let result = result(&place, &program, &asked);
    let lstat = record(&result, "file.lstat");
    assert_eq!(
        (&lstat["params"]["depth"], &lstat["defaults"]["entries"]),
        (&4.into(), &0.into())
    );
    assert_eq!(record(&result, "call.empty_loop")["role"], "baseline");
    assert!(record(&result, "process.vfork_exec_static")["samples"].is_object());
    assert_eq!(
        record(&result, "process.vfork_exec_bare")["error"]["kind"],
        "unsupported"
    );
    for format in ["text", "csv", "markdown", "json"] {
        expect_in(
            place.printed(format!("show alone.json --format {format}")),
            "unverified",
        );
    }
    place.printed("report alone.json -o page.html");
    expect_in(place.read("page.html"), "unverified");
    let published = root().join("published/linux-2.6.32.json");
    let compared = format!(
        "compare --study os-calls {} alone.json",
        published.display()
    );
    expect_in(place.printed(compared), "8.36");
    place.expect_clean();
}

#[test]
fn it_says_which_operation_does_not_exist() {
    let place = Place::new();
    let program = place.path().join("probe");
    expect_status(
        &place.run(format!("probe build -o {}", program.display())),
        0,
    );
    for (word, why) in [
        ("no.such", "no such operation"),
        ("--time", "not a number of seconds"),
    ] {
        let output = Command::new(&program).args(["run", word]).output().unwrap();
        expect_error(&output, 2, why);
    }
}

/// As for a system of which it knows only POSIX: what is measured there is measured here.
#[test]
fn it_needs_nothing_of_linux() {
    let place = Place::new();
    let program = place.path().join("plain");
    let sources: Vec<String> = [
        "probe/*.c",
        "probe/ops/*.c",
        "probe/extra/cross.c",
        "probe/extra/alone/*.c",
    ]
    .map(|pattern| root().join(pattern).display().to_string())
    .to_vec();
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"cc -std=c11 -O2 -U__linux__ -DSYSCOST_STANDS_FOR='"tiny-dynamic"' -DSYSCOST_VERSION='"0"' -pthread -o "$0" $1"#]);
    let built = shell.arg(&program).arg(sources.join(" ")).output().unwrap();
    expect_status(&built, 0);
    let result = result(
        &place,
        &program,
        &["call", "id", "fd", "process.fork_exec_dynamic", "event"],
    );
    for record in list(&result["records"]) {
        let error = &record["error"];
        assert!(
            error.is_null() || error["kind"] == "unsupported",
            "{record}"
        );
    }
    assert!(record(&result, "process.fork_exec_dynamic")["samples"].is_object());
    assert_eq!(
        record(&result, "event.epoll_mod")["error"]["message"],
        "linux"
    );
    place.expect_clean();
}
