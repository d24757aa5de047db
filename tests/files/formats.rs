//! Other programs' formats: what we write is read by the programs themselves where they are installed.

use crate::common::*;
fn folder() -> PathBuf {
    root().join("tests/formats")
}

fn expect_golden(name: &str, actual: &str) {
    expect_file(folder().join(name), actual);
}

fn export(file: &str) -> String {
    let path = root().join(file);
    Place::new().printed(format!("show {} --format go-benchmark", path.display()))
}

const MEASURED: &str = "tests/golden/run.json";
const PUBLISHED: &str = "published/macosx-10.7.json";

#[test]
fn runs_are_exported() {
    expect_golden("export-go-benchmark-measured.txt", &export(MEASURED));
    expect_golden("export-go-benchmark-published.txt", &export(PUBLISHED));
}

#[test]
fn only_runs_are_exported() {
    for (command, formats) in [
        ("list", "text, markdown, csv, json"),
        ("doctor", "text, markdown, csv"),
        ("cache", "text, markdown, csv"),
    ] {
        let output = Place::new().run(format!("{command} --format go-benchmark"));
        expect_error(&output, 2, &format!("[possible values: {formats}]"));
    }
}

#[test]
fn a_run_is_exported_as_it_ends() {
    let output = Place::new().run("run id.umask --time 0.3 --format go-benchmark");
    let lines = stdout(&output);
    let of_umask = |line: &str| {
        line.starts_with("BenchmarkId.umask ") && line.ends_with(" 1 kernel-entries/op")
    };
    assert!(lines.lines().any(of_umask), "{lines}");
}

fn tool(what: &str, command: &mut Command) -> Option<Output> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(&format!("{what}: {error}"));
            None
        }
    }
}

#[test]
fn benchstat_reads_go_benchmark_lines() {
    let place = Place::new();
    for (name, file) in [("measured", MEASURED), ("published", PUBLISHED)] {
        place.write(name, export(file));
    }
    let mut command = Command::new("benchstat");
    command
        .args(["-format", "csv", "measured", "published"])
        .current_dir(place.path());
    let output = needs!(tool("benchstat", &mut command));
    expect_status(&output, 0);
    let table = stdout(&output);
    let row = |start: &str| {
        table
            .lines()
            .find(|line| line.starts_with(start))
            .map(str::to_string)
    };
    let getpid = row("Call.getpid,").unwrap_or_else(|| panic!("{table}"));
    let seconds: f64 = getpid.split(',').nth(1).unwrap().parse().unwrap();
    assert!((50e-9..200e-9).contains(&seconds), "{getpid}");
    assert!(
        row("Fork+execve+wait,").is_some() && row("Lstat,").is_some(),
        "{table}"
    );
    let complaints = stderr(&output);
    let known = |line: &str| {
        line.contains("need >= ") || line.contains("geomean") || line.contains("all samples are")
    };
    assert!(
        complaints
            .lines()
            .all(|line| known(line) || line.starts_with(' ')),
        "{complaints}"
    );
}
