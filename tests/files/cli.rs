//! The command line as its users meet it: what is printed, in which format, and with which exit status.
//!
//! `SNAPSHOTS=overwrite cargo test --test cli` rewrites tests/golden/*.txt; read the difference before it is kept.
//! tests/golden/run.json is a real run, made by tests/golden/make-run.sh.

use crate::common::{
    Place, expect_file, expect_status, expect_valid, file, json, skip, stderr, stdout, succeeded,
};
use clap::ValueEnum;
use measure::runner::Environment;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use trace::TracerKind;

/// A run that was kept.
fn kept() -> String {
    file("tests/golden/run.json")
}

/// Standard output of a command that must succeed, on a screen of `width` columns.
fn printed(width: &str, arguments: &[&str]) -> String {
    succeeded(Place::new().command(arguments).env("COLUMNS", width))
}

fn expect_golden(name: &str, actual: &str) {
    expect_file(format!("tests/golden/{name}"), actual);
}

/// The names of the commands, from the indented lines of the overview, where options begin with a dash.
fn commands() -> Vec<String> {
    let help = printed("100", &["--help-all"]);
    let listed = help
        .lines()
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  "));
    let listed = listed.filter(|line| !line.starts_with(' '));
    listed
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_string)
        .collect()
}

#[test]
fn help_of_each_command() {
    expect_golden("help.txt", &printed("100", &["--help"]));
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let help = printed("100", &[&command, "--help-all"]);
        let kept = help
            .lines()
            .filter(|line| !tabled().iter().any(|(_, name, _)| is_value(line, name)));
        expect_golden(
            &format!("help-{command}.txt"),
            &kept.map(|line| format!("{line}\n")).collect::<String>(),
        );
    }
    expect_golden("help-short-run.txt", &printed("100", &["run", "--help"]));
}

/// What a person reads before the first run.
#[test]
fn short_help_is_at_most_70_lines() {
    for command in commands() {
        let help = printed("100", &[&command, "--help"]);
        assert!(
            help.lines().count() <= 70 && help.contains("-q, --quiet"),
            "{command}: {help}"
        );
    }
}

/// What is in environments/ or in a table, as command, name and description: adding one changes no golden file.
fn tabled() -> Vec<(&'static str, &'static str, String)> {
    let environments = Environment::names()
        .into_iter()
        .map(|name| ("run", name, Environment::find(name).unwrap().title));
    let tracers = TracerKind::value_variants()
        .iter()
        .map(|kind| ("trace", kind.name, kind.what.to_string()));
    environments.chain(tracers).collect()
}

fn is_value(line: &str, name: &str) -> bool {
    line.trim_start()
        .strip_prefix("- ")
        .is_some_and(|rest| rest.starts_with(&format!("{name}:")))
}

#[test]
fn help_lists_what_the_tables_have() {
    let help = |command| printed("200", &[command, "--help-all"]);
    let all = BTreeMap::from(["run", "trace"].map(|command| (command, help(command))));
    for (command, name, what) in tabled() {
        let help = &all[command];
        assert!(
            help.lines()
                .any(|line| is_value(line, name) && line.ends_with(&what)),
            "{name} in {command}: {help}"
        );
    }
}

#[test]
fn too_many_cases_are_refused_in_a_line() {
    let refused = |arguments: &[&str]| {
        let output = Place::new().run(&[&["run", "perl:f({a}, {b}, {c})"], arguments].concat());
        expect_status(&output, 2);
        stderr(&output)
    };
    let all = [
        "--param",
        "a=1..200+1",
        "--param",
        "b=1..200+1",
        "--param",
        "c=1..200+1",
    ];
    assert_eq!(
        refused(&all),
        "syscost: these are 8000000 cases, more than 10000: give fewer values\n"
    );
    assert!(
        refused(&["--param", "a=1..1000000000000"])
            .contains("has 1000000000000 values, more than 64")
    );
    assert!(refused(&["--param", "a=1..1e12"]).contains("'1e12' is not a whole number"));
}

#[test]
fn list_in_each_format() {
    for format in ["text", "markdown", "csv", "json"] {
        let list = printed(
            "100",
            &["list", "file.lstat", "call.getpid", "--format", format],
        );
        expect_golden(&format!("list-{format}.txt"), &list);
    }
}

#[test]
fn the_list_is_one_line_an_operation() {
    for width in [40, 80, 120] {
        let list = printed(&width.to_string(), &["list"]);
        let lines: Vec<&str> = list
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .collect();
        assert!(
            lines.len() > 100 && lines.iter().all(|line| line.contains('.')),
            "{width}:\n{list}"
        );
        let ids = json(&Place::new().run(&["list", "--format", "json"]));
        let ids = ids["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o["id"].as_str().unwrap());
        assert!(
            lines
                .iter()
                .map(|line| line.split(' ').next().unwrap())
                .eq(ids),
            "{width}:\n{list}"
        );
        assert!(
            list.lines().all(|line| line.chars().count() <= width),
            "{width}:\n{list}"
        );
    }
}

#[test]
fn the_long_list_says_everything_and_breaks_no_word() {
    expect_golden(
        "list-long.txt",
        &printed("60", &["list", "-l", "file.lstat", "call.getpid"]),
    );
}

#[test]
fn the_last_part_of_an_id_is_enough() {
    let listed = |part: &str| printed("80", &["list", part, "--format", "csv"]);
    assert!(
        listed("getppid").contains("\nid.getppid,"),
        "{}",
        listed("getppid")
    );
    assert!(
        listed("stat")
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("file.stat,"),
        "{}",
        listed("stat")
    );
    let run = Place::new().run(&[
        "run",
        "getpid",
        "--time",
        "0.3",
        "--no-verify",
        "--format",
        "json",
    ]);
    assert_eq!(
        json(&run)["records"][0]["operation"],
        "call.getpid",
        "{}",
        stderr(&run)
    );
    let explained = Place::new().run(&[
        "explain",
        "gettimeofday",
        "--time",
        "0.05",
        "--format",
        "json",
    ]);
    assert!(
        stdout(&explained).contains("time.gettimeofday"),
        "{}",
        stderr(&explained)
    );
}

#[test]
fn show_in_each_format() {
    for width in ["80", "120"] {
        expect_golden(
            &format!("show-{width}.txt"),
            &printed(width, &["show", &kept()]),
        );
    }
    for format in ["markdown", "csv", "json"] {
        expect_golden(
            &format!("show-{format}.txt"),
            &printed("80", &["show", &kept(), "--format", format]),
        );
    }
    expect_golden(
        "show-sorted.txt",
        &printed("80", &["show", &kept(), "--sort", "cost"]),
    );
}

#[test]
fn show_takes_the_rows_that_are_asked_for() {
    let rows = |patterns: &[&str]| {
        let only: Vec<&str> = patterns
            .iter()
            .flat_map(|pattern| ["--only", pattern])
            .collect();
        let document =
            json(&Place::new().run(&[&["show", &kept(), "--format", "json"], &only[..]].concat()));
        let records = document["records"].as_array().unwrap().clone();
        records
            .iter()
            .map(|r| r["operation"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    let all = rows(&[]);
    assert!(
        all.iter().any(|id| id == "id.umask") && all.iter().any(|id| id.starts_with("io.")),
        "{all:?}"
    );
    assert_eq!(rows(&["*.umask"]), ["id.umask"]);
    let of_area: Vec<String> = all
        .into_iter()
        .filter(|id| id == "id.umask" || id.starts_with("io."))
        .collect();
    assert_eq!(rows(&["io", "id.umask"]), of_area);
    Place::new().refuses(
        "",
        &[
            (
                &format!("show {} --only nonsense", kept()),
                2,
                "--only: no row matches nonsense",
            ),
            (&format!("show {} --only [a", kept()), 2, "pattern '[a'"),
            (
                &format!("show {} --only io", file("studies/mercurial.profile.json")),
                2,
                "--only",
            ),
        ],
    );
}

#[test]
fn quiet_is_silent_except_for_errors() {
    let said = |arguments: &[&str]| stderr(&Place::new().run(arguments));
    let trace = [
        "trace",
        "--tracer",
        "ptrace",
        "--format",
        "csv",
        "--report",
        "/dev/null",
        "true",
    ];
    if said(&trace).contains("ptrace: ") {
        skip("ptrace is refused");
    } else {
        assert!(!said(&trace).is_empty());
        assert_eq!(said(&[&["-q"], &trace[..]].concat()), "");
        assert_eq!(said(&[&["trace", "--quiet"], &trace[1..]].concat()), "");
    }
    assert_eq!(said(&["run", "id.umask", "--time", "0.3", "-q"]), "");
    assert!(said(&["-q", "run", "nonsense"]).contains("no operation matches"));
    let report = Place::new().run(&["report", &kept(), "-q"]);
    assert_eq!(
        (stdout(&report), stderr(&report)),
        (String::new(), String::new())
    );
}

#[test]
fn a_table_fits_its_screen() {
    for width in [40, 60, 80, 120] {
        let table = printed(&width.to_string(), &["show", &kept()]);
        assert!(
            table.lines().all(|line| line.chars().count() <= width),
            "{width}:\n{table}"
        );
    }
}

/// The titles of a table's columns.
fn titles(width: &str) -> String {
    let table = printed(width, &["show", &kept()]);
    table
        .lines()
        .find(|line| line.starts_with("operation"))
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// `x call` and `±` never stand side by side: one would be read as the other.
#[test]
fn narrow_tables_keep_what_was_counted_longest() {
    assert_eq!(titles("80"), "operation ns/op ± kernel entries x call");
    assert_eq!(titles("60"), "operation ns/op ± kernel entries");
    assert_eq!(titles("40"), "operation ns/op");
}

/// The words of a table's rows.
fn words(width: usize, file: &str) -> Vec<String> {
    let table = printed(&width.to_string(), &["show", file]);
    let rows = table
        .lines()
        .skip_while(|line| !line.starts_with("operation"))
        .take_while(|line| !line.is_empty());
    rows.flat_map(str::split_whitespace)
        .map(str::to_string)
        .collect()
}

#[test]
fn a_narrow_table_breaks_no_word() {
    let whole = words(300, &kept());
    for width in [40, 45, 50, 60, 70, 80] {
        let narrow = words(width, &kept());
        assert!(
            narrow.iter().all(|word| whole.contains(word)),
            "{width}: {narrow:?}"
        );
    }
}

/// The kept run with what changes all results: a filter at every system call, and a warning of its own.
fn taxed() -> Place {
    let (place, mut run) = (
        Place::new(),
        serde_json::from_str::<Value>(&std::fs::read_to_string(kept()).unwrap()).unwrap(),
    );
    run["host"]["taxes"] =
        serde_json::json!([{"kind": "seccomp", "detail": "1 filter runs at every system call"}]);
    run["warnings"] = serde_json::json!(["another run measured on this CPU"]);
    run["records"][0]["samples"]["history"] = true.into();
    place.write("run.json", run.to_string());
    place
}

#[test]
fn what_concerns_all_results_stands_before_them() {
    let lines = "warning: slows every system call: seccomp: 1 filter runs at every system call\n\
                 warning: another run measured on this CPU\n\noperation";
    let text = stdout(
        &taxed()
            .command(&["show", "run.json"])
            .env("COLUMNS", "300")
            .output()
            .unwrap(),
    );
    assert!(text.contains(lines), "{text}");
    let markdown = stdout(&taxed().run(&["show", "run.json", "--format", "markdown"]));
    assert!(
        markdown.contains(
            &lines
                .replace("warning: ", "- warning: ")
                .replace("operation", "| operation")
        ),
        "{markdown}"
    );
}

#[test]
fn a_row_that_depends_on_history_is_marked_and_explained() {
    let text = stdout(
        &taxed()
            .command(&["show", "run.json"])
            .env("COLUMNS", "300")
            .output()
            .unwrap(),
    );
    let row = text
        .lines()
        .find(|line| line.starts_with("call.getpid"))
        .unwrap();
    assert!(row.contains(" ~104.8 "), "{row}");
    assert!(
        text.contains("\n~: depends on earlier file system activity (journal"),
        "{text}"
    );
    assert!(
        text.lines()
            .any(|line| line.starts_with("~: ") && line.contains(": call.getpid")),
        "{text}"
    );
}

#[test]
fn costs_of_threads_say_that_they_are_of_one() {
    let note = "threads=N: ns/op and calls/s are for one thread";
    assert!(!printed("300", &["show", &kept()]).contains(note));
    let mut run: Value = serde_json::from_str(&fs::read_to_string(kept()).unwrap()).unwrap();
    run["records"][0]["params"]["threads"] = 2.into();
    let place = Place::new();
    place.write("run.json", run.to_string());
    let shown = stdout(
        &place
            .command(&["show", "run.json", "--view", "wide"])
            .env("COLUMNS", "300")
            .output()
            .unwrap(),
    );
    assert!(shown.contains(note), "{shown}");
}

#[test]
fn what_the_user_can_mend_has_exit_status_2() {
    Place::new().refuses(
        "",
        &[
            ("run id.gettppid", 2, "did you mean id.getppid"),
            ("run id.getpid", 2, "did you mean call.getpid,"),
            ("run fs.stat", 2, "did you mean file.stat,"),
            ("explain stats", 2, "did you mean file.statfs, file.stat,"),
            ("run kill_self", 2, "'kill_self' may be "),
            ("run nonsense", 2, "no operation matches 'nonsense'"),
            ("list nonsense", 2, "no operation matches 'nonsense'"),
            ("run file.lstat --param size=1", 2, "--param size"),
            ("run id.umask --param depth=1", 2, "--param depth"),
            ("run id.umask --cpu 99999", 2, "--cpu 99999"),
            ("run id.umask --out missing/run.json", 2, "missing/run.json"),
        ],
    );
}

#[test]
fn what_the_parser_refuses_is_named() {
    Place::new().refuses(
        "",
        &[
            ("run file.lstat --param depth", 2, "'depth'"),
            ("run file.lstat --param depth=many", 2, "'depth=many'"),
            ("run id.umask --cpu fast", 2, "'fast'"),
        ],
    );
    for time in ["0", "-1", "nan", "soon"] {
        let case = (format!("--time={time}"), format!("'{time}'"));
        Place::new().refuses("run id.umask", &[(&case.0, 2, &case.1)]);
    }
    Place::new().refuses(
        "",
        &[
            ("run --bogus", 2, "'--bogus'"),
            ("run --all id.umask", 2, "--all"),
            ("comapre a", 2, "'comapre'"),
            ("nonsense", 2, "no operation matches 'nonsense'"),
            ("malloc", 2, "a snippet: 'c:malloc(1)'"),
        ],
    );
}

#[test]
fn a_single_dash_is_standard_input() {
    let place = Place::new();
    let shown = |input: Stdio| place.command(&["show", "-"]).stdin(input).output().unwrap();
    let run = shown(fs::File::open(kept()).unwrap().into());
    assert_eq!(
        (stdout(&run), stderr(&run)),
        (stdout(&place.run(&["show", &kept()])), String::new())
    );
    let message = stderr(&shown(Stdio::null()));
    assert!(
        message.starts_with("syscost: standard input: is empty"),
        "{message}"
    );
}

/// A real run of two operations of which one refuses its parameter: the document it printed, and the file it wrote.
struct Real {
    output: Output,
    file: String,
}

static REAL: LazyLock<Real> = LazyLock::new(|| {
    let place = Place::new();
    let arguments = [
        "id.umask",
        "dir.opendir_readdir_closedir",
        "--param",
        "entries=5000",
        "--time",
        "0.3",
    ];
    let output = place.run(
        &[
            &["run", "--format", "json", "--out", "run.json"],
            &arguments[..],
        ]
        .concat(),
    );
    let file = fs::read_to_string(place.path().join("run.json"))
        .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    Real { output, file }
});

#[test]
fn a_case_that_fails_is_a_row_and_exit_status_3() {
    assert_eq!(
        REAL.output.status.code(),
        Some(3),
        "{}",
        stderr(&REAL.output)
    );
    let document = json(&REAL.output);
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    assert!(
        records[0]["median_ns"]
            .as_f64()
            .is_some_and(|median| median > 0.0),
        "{document:#}"
    );
    assert_eq!(records[1]["median_ns"], Value::Null);
    assert_eq!(records[1]["params"]["entries"], 5000);
    assert!(
        records[1]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("EINVAL"),
        "{document:#}"
    );
}

#[test]
fn a_result_file_shows_what_the_run_printed() {
    let place = Place::new();
    place.write("run.json", &REAL.file);
    let output = place.run(&["show", "run.json", "--format", "json"]);
    assert_eq!(json(&output), json(&REAL.output));
}

#[test]
fn a_run_that_cannot_be_written_is_shown_before_it_fails() {
    if !Path::new("/dev/full").exists() {
        return skip("there is no /dev/full");
    }
    let place = Place::new();
    let output = place.run(&[
        "run",
        "id.umask",
        "--time",
        "0.3",
        "--format",
        "csv",
        "--quiet",
        "--out",
        "/dev/full",
    ]);
    let (table, message) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        table
            .lines()
            .nth(1)
            .is_some_and(|line| line.starts_with("cost,id.umask,")),
        "{table}"
    );
    assert!(
        message.starts_with("syscost: /dev/full: cannot be written (No space left"),
        "{message}"
    );
    assert_eq!(
        (
            message.trim_end().lines().count(),
            place.left_behind().len()
        ),
        (1, 0),
        "{message}"
    );
}

#[test]
fn documents_are_valid_by_their_schemas() {
    expect_valid("summary-2", &stdout(&REAL.output));
    expect_valid(
        "summary-2",
        &printed("80", &["show", &kept(), "--format", "json"]),
    );
    let documents: [(&str, &[&str]); 3] = [
        ("list", &["list"]),
        ("languages", &["list", "--languages"]),
        ("studies", &["list", "--studies"]),
    ];
    for (name, arguments) in documents {
        expect_valid(
            &format!("{name}-1"),
            &printed("80", &[arguments, &["--format", "json"]].concat()),
        );
    }
    expect_valid("result-1", &REAL.file);
    expect_valid("result-1", &fs::read_to_string(kept()).unwrap());
}

/// What a terminal of 120 columns gets; `None` where there is no program that gives us one.
fn on_a_terminal(colourless: bool) -> Option<String> {
    let line = format!("'{}' show '{}'", env!("CARGO_BIN_EXE_syscost"), kept());
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .env("COLUMNS", "120")
        .env_remove("NO_COLOR");
    if colourless {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().ok()?;
    expect_status(&output, 0);
    Some(stdout(&output))
}

#[test]
fn colour_is_for_terminals_without_no_color() {
    assert!(!printed("120", &["show", &kept()]).contains('\x1b'));
    let Some(coloured) = on_a_terminal(false) else {
        return skip("script(1) is not installed");
    };
    assert!(
        coloured.contains("call.getpid") && coloured.contains("\x1b["),
        "{coloured}"
    );
    let plain = on_a_terminal(true).unwrap();
    assert!(
        plain.contains("call.getpid") && !plain.contains("\x1b["),
        "{plain}"
    );
}

/// What `shell` is offered for the last word of a command line.
fn offered(shell: &str, words: &[&str]) -> String {
    let place = Place::new();
    let mut command = place.command(&[&["--", "syscost"], words].concat());
    let index = words.len().to_string();
    command
        .env("SYSCOST_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_IFS", "\n");
    let output = command.output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{shell} {words:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(printed("80", &["completions", shell]).contains("SYSCOST_COMPLETE"));
        let offered = offered(shell, &[""]);
        assert!(
            commands().iter().all(|command| offered.contains(command)),
            "{shell}: {offered}"
        );
    }
}

#[test]
fn completions_offer_what_only_the_program_knows() {
    let expected: &[(&[&str], &str)] = &[
        (&["run", "id.getp"], "id.getppid"),
        (&["run", "per"], "perl:"),
        (&["list", "fil"], "file"),
        (&["explain", "call.getp"], "call.getpid"),
        (&["compare", "--only", "id.getp"], "id.getppid"),
        (&["run", "--study", "perl-"], "perl-ops"),
        (&["run", "--env", "native,st"], "native,static"),
        (&["run", "--setup", "pe"], "perl:"),
        (&["run", "--param", "dep"], "depth="),
        (&["man", "comp"], "compare"),
    ];
    for shell in ["bash", "zsh", "fish"] {
        for (words, name) in expected {
            let offered = offered(shell, words);
            let first =
                |line: &str| line.starts_with(name) || line.replace("\\:", ":").starts_with(name);
            assert!(offered.lines().any(first), "{shell} {words:?}: {offered}");
        }
    }
}

/// Keys as a user presses them in an interactive bash that has the completions; `None` where there is no script(1).
fn typed_in_bash(keys: &str) -> Option<String> {
    let place = Place::new();
    place.write("completions", printed("80", &["completions", "bash"]));
    let directory = Path::new(env!("CARGO_BIN_EXE_syscost"))
        .parent()
        .unwrap()
        .display();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("script");
    command
        .args(["-qec", "bash --norc --noprofile -i", "/dev/null"])
        .current_dir(place.path());
    command
        .env("PATH", path)
        .env("TERM", "dumb")
        .env("TMPDIR", place.tmp())
        .env("INPUTRC", "/dev/null");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(format!(". ./completions\n{keys}\nexit\n").as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    Some(stdout(&output))
}

/// The line is printed instead of run: ^A goes to its start.
#[test]
fn bash_completes_an_operation() {
    let Some(said) = typed_in_bash("syscost run id.getpp\t\x01echo done: ") else {
        return skip("script(1) is not installed");
    };
    assert!(
        said.lines()
            .any(|line| line.trim_end() == "done: syscost run id.getppid"),
        "{said}"
    );
    let said = typed_in_bash("syscost run id.getp\t\t\x01echo ").unwrap();
    assert!(
        said.contains("id.getpgid") && said.contains("id.getppid"),
        "{said}"
    );
}

/// The manual page of a command, or of syscost, without the escapes of roff.
fn manual(command: Option<&str>) -> String {
    let arguments: Vec<&str> = std::iter::once("man").chain(command).collect();
    printed("80", &arguments)
        .replace("\\-", "-")
        .replace("\\&", "")
        .replace("\\fB", "")
        .replace("\\fR", "")
}

#[test]
fn each_command_has_a_manual_page() {
    let page = manual(None);
    for section in ["SYNOPSIS", "SUBCOMMANDS", "EXAMPLES"] {
        assert!(
            page.contains(&format!(".SH {section}\n")),
            "{section}: {page}"
        );
    }
    for command in commands() {
        assert!(
            page.contains(&format!("syscost-{command}(1)")),
            "{command}: {page}"
        );
        let own = manual(Some(&command));
        assert!(
            own.contains(&format!(".TH syscost-{command} 1")),
            "{command}: {own}"
        );
    }
    assert!(page.contains("Exit status: 0"), "{page}");
    assert!(
        !page.contains("syscost-help(1)"),
        "a page that there is not: {page}"
    );
    Place::new().refuses("", &[("man nonsense", 2, "'nonsense'")]);
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(
        printed("80", &["--version"]),
        format!("syscost {}\n", env!("CARGO_PKG_VERSION"))
    );
}
