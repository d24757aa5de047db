//! A probe that stands alone makes a result by itself, also where nothing of Linux is known.

use crate::common::*;

fn built(place: &Place) -> PathBuf {
    let program = place.path().join("probe");
    expect_status(
        &place.run(format!("probe build -o {}", program.display())),
        0,
    );
    program
}

/// `words` in the place of what is measured, and how long.
fn run(place: &Place, program: &Path, words: &[&str]) -> Command {
    let mut run = Command::new(program);
    run.arg("run").args(words).env("TMPDIR", place.tmp());
    run.stdout(Stdio::piped()).stderr(Stdio::piped());
    run
}

/// Its result, in a file that other commands read.
fn result(place: &Place, output: &Output) -> Value {
    place.write("alone.json", &output.stdout);
    expect_valid("result-1", &stdout(output));
    place.expect_clean();
    place.parsed("alone.json")
}

fn measured(place: &Place, program: &Path, operations: &[&str]) -> Value {
    let words = [&["--time", "1"], operations].concat();
    let output = run(place, program, &words).output().unwrap();
    expect_status(&output, 0);
    result(place, &output)
}

fn record<'a>(result: &'a Value, operation: &str) -> &'a Value {
    let mut records = list(&result["records"]).iter();
    let found = records.find(|record| record["operation"] == operation);
    found.unwrap_or_else(|| panic!("{operation} is missing"))
}

#[test]
fn it_makes_a_result_that_is_unverified_in_every_format() {
    let place = Place::new();
    let program = built(&place);
    let asked = [
        "file.lstat depth=4",
        "file.fstat",
        "id",
        "process.vfork_exec_static",
        "process.vfork_exec_bare",
    ];
    let result = measured(&place, &program, &asked);
    let first = &result["records"][0];
    assert_eq!(
        [&first["operation"], &first["params"], &first["defaults"]],
        [
            &json!("file.lstat"),
            &json!({"depth": 4}),
            &json!({"entries": 0})
        ]
    );
    let plain = list(&result["records"])
        .iter()
        .filter(|record| record["params"] == json!({}));
    let plain: Vec<&Value> = plain.map(|record| &record["operation"]).collect();
    for operation in model::PANEL {
        assert!(plain.contains(&&json!(operation)), "{operation}");
    }
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
    let compared = place.printed(format!(
        "compare --study os-calls {} alone.json",
        published.display()
    ));
    let fstat = compared.lines().find(|line| line.starts_with("fstat"));
    assert!(fstat.is_some_and(|row| row.contains('?')), "{compared}");
}

#[test]
fn it_refuses_what_it_cannot_measure_and_keeps_what_was_interrupted() {
    let place = Place::new();
    let program = built(&place);
    for (word, why) in [
        ("no.such", "no such operation"),
        ("--time", "not a number of seconds"),
        (&format!("id {}", "x".repeat(2000)), "too long"),
    ] {
        let output = run(&place, &program, &[word]).output().unwrap();
        expect_error(&output, 2, why);
    }
    let long = run(&place, &program, &["--time", "60", "id"]).spawn();
    let long = Job::of(long.unwrap());
    wait_until(|| !place.left_behind().is_empty());
    kill(long.pid(), Signal::SIGINT).unwrap();
    let output = long.output();
    expect_status(&output, 130);
    assert_eq!(result(&place, &output)["complete"], false);
}

/// As for a system of which it knows only POSIX: what is measured there is measured here.
#[test]
fn it_needs_nothing_of_linux() {
    let place = Place::new();
    let program = place.path().join("plain");
    let folders = ["probe", "probe/ops", "probe/extra/alone"].map(|folder| root().join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path().display().to_string());
    let mut sources: Vec<String> = paths.filter(|path| path.ends_with(".c")).collect();
    sources.push("probe/extra/cross.c".into());
    assert!(cc(format!(
        "-std=c11 -U__linux__ '-DSYSCOST_STANDS_FOR=\"tiny-dynamic\"' '-DSYSCOST_VERSION=\"0\"' -pthread -o {} {}",
        program.display(),
        sources.join(" ")
    )));
    let operations = ["call", "id", "fd", "process.fork_exec_dynamic", "event"];
    let result = measured(&place, &program, &operations);
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
}
