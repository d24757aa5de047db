//! The command line as its users meet it: what is printed, in which format, and with which exit status.
use crate::common::*;
use clap::ValueEnum;
use measure::runner::Environment;
use trace::TracerKind;

pub fn printed(width: usize, line: impl Line) -> String {
    succeeded(
        Place::with_run()
            .command(line)
            .env("COLUMNS", width.to_string()),
    )
}

/// The names of the commands, from the indented lines of the overview, where options begin with a dash.
pub fn commands() -> Vec<String> {
    let help = printed(100, "--help-all");
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

/// A person reads the short help before the first run.
#[test]
fn help_of_each_command() {
    let files = "tests/golden/*.txt";
    let overview = [
        ("help", 100, "--help"),
        ("help-short-run", 100, "run --help"),
    ];
    Place::new().prints(files, &overview);
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let help = printed(100, format!("{command} --help-all"));
        let kept = help
            .lines()
            .filter(|line| !tabled().iter().any(|(_, name, _)| is_value(line, name)));
        expect_file(
            format!("tests/golden/help-{command}.txt"),
            &kept.map(|line| format!("{line}\n")).collect::<String>(),
        );
        let short = printed(100, format!("{command} --help"));
        assert!(short.lines().count() <= 70, "{short}");
        expect_in(&short, "-q, --quiet");
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
    let help = |command| printed(200, format!("{command} --help-all"));
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
fn lists_and_runs_are_printed() {
    let some = "list file.lstat call.getpid";
    let lists = ["text", "markdown", "csv", "json"].map(|format| {
        (
            format!("list-{format}"),
            100,
            format!("{some} --format {format}"),
        )
    });
    // Narrow tables leave columns out, and keep what was counted longest.
    let widths =
        [40, 60, 80, 120].map(|width| (format!("show-{width}"), width, "show run.json".into()));
    let shows = ["markdown", "csv", "json"].map(|format| {
        (
            format!("show-{format}"),
            80,
            format!("show run.json --format {format}"),
        )
    });
    let others = [
        ("list-long".into(), 60, format!("{some} -l")),
        ("show-sorted".into(), 80, "show run.json --sort cost".into()),
    ];
    for (name, width, line) in lists.iter().chain(&widths).chain(&shows).chain(&others) {
        Place::with_run().prints("tests/golden/*.txt", &[(name, *width, line)]);
    }
}

#[test]
fn words_find_operations_environments_and_studies() {
    for (word, expected) in [
        ("switch", "sync.context_switch"),
        ("thp", "mem.fault_huge"),
        ("recycled", "studies: fresh-memory"),
        ("fresh", "mem.fault_range"),
        ("siblings", "sync.context_switch_cpus"),
        ("huge", "mem.fault_huge"),
        ("clock", "time.clock_gettime "),
        ("clock", "studies: clock-calls"),
        ("container", "environments: crun, nspawn, podman"),
        ("sandbox", "environments: bwrap, crun, gvisor"),
        ("gvisor-systrap", "environments: gvisor ("),
    ] {
        expect_in(Place::new().printed(format!("list {word}")), expected);
    }
    let both = Place::new().document("list container");
    assert_eq!(both["operations"], serde_json::json!([]));
    expect_valid("list-1", &both);
}

#[test]
fn the_list_is_one_line_an_operation() {
    let ids = Place::new().document("list");
    let ids = list(&ids["operations"])
        .iter()
        .map(|o| o["id"].as_str().unwrap());
    for width in [40, 120] {
        let list = printed(width, "list");
        let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
        assert!(
            lines
                .map(|line| line.split(' ').next().unwrap())
                .eq(ids.clone()),
            "{width}:\n{list}"
        );
        expect_width(&list, width);
    }
}

#[test]
fn the_last_part_of_an_id_is_enough() {
    expect_in(printed(80, "list getppid --format csv"), "\nid.getppid,");
    let stat = printed(80, "list stat --format csv");
    assert!(
        stat.lines().nth(1).unwrap().starts_with("file.stat,"),
        "{stat}"
    );
    let run = Place::new().document("run getpid --time 0.3 --no-verify");
    assert_eq!(run["records"][0]["operation"], "call.getpid");
    let explained = Place::new().document("explain gettimeofday --time 0.05");
    expect_in(explained.to_string(), "time.gettimeofday");
}

#[test]
fn show_takes_the_rows_that_are_asked_for() {
    let place = Place::with_run();
    let rows = |only: &str| -> Vec<String> {
        let document = place.document(("show run.json", only));
        let records = list(&document["records"]).iter();
        records
            .map(|r| r["operation"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(rows("--only *.umask"), ["id.umask"]);
    let mut of_area = rows("");
    of_area.retain(|id| id == "id.umask" || id.starts_with("io."));
    assert!(of_area.len() > 1, "{of_area:?}");
    assert_eq!(rows("--only io --only id.umask"), of_area);
}

#[test]
fn quiet_is_silent_except_for_errors() {
    let said = |line: &str| stderr(&Place::with_run().run(line));
    let trace = "trace --tracer ptrace --format csv --report /dev/null true";
    if said(trace).contains("ptrace: ") {
        skip("ptrace is refused");
    } else {
        assert!(!said(trace).is_empty());
        assert_eq!(said(&format!("-q {trace}")), "");
        assert_eq!(said(&trace.replacen("trace", "trace --quiet", 1)), "");
    }
    assert_eq!(said("run id.umask --time 0.3 -q"), "");
    expect_in(said("-q run nonsense"), "no operation matches");
    let report = Place::with_run().run("report run.json -q");
    assert_eq!((stdout(&report), stderr(&report)), Default::default());
}

/// What changes all results stands before them: a filter at every system call, a warning. A row that depends on history is
/// marked, and costs of several threads are those of one.
#[test]
fn what_concerns_results_is_said_with_them() {
    let (place, mut run) = (Place::new(), parsed(RUN));
    run["host"]["taxes"] =
        json!([{"kind": "seccomp", "detail": "1 filter runs at every system call"}]);
    run["warnings"] = json!(["another run measured on this CPU"]);
    run["records"][0]["samples"]["history"] = true.into();
    run["records"][0]["params"]["threads"] = 2.into();
    place.write("run.json", run.to_string());
    let cases = [
        ("warned", 120, "show run.json --view wide"),
        ("warned-markdown", 80, "show run.json --format markdown"),
    ];
    place.prints("tests/golden/show-*.txt", &cases);
}

/// Command lines with a mistake, the exit status, and words of the message.
const MISTAKES: &[(&str, i32, &str)] = &[
    ("run id.gettppid", 2, "did you mean id.getppid"),
    ("run id.getpid", 2, "did you mean call.getpid,"),
    ("run fs.stat", 2, "did you mean file.stat,"),
    ("explain stats", 2, "did you mean file.statfs, file.stat,"),
    (
        "explain python:time.time()",
        2,
        "only C is built for an emulated kernel; 'syscost run' counts its kernel entries",
    ),
    (
        "explain c:arc4random()",
        2,
        "add --env linux-6.1, for example, or count its kernel entries with 'syscost run'",
    ),
    ("run kill_self", 2, "'kill_self' is ambiguous: "),
    ("run nonsense", 2, "no operation matches 'nonsense'"),
    ("list nonsense", 2, "no operation matches 'nonsense'"),
    ("run file.lstat --param size=1", 2, "--param size"),
    ("run file.lstat --param depth", 2, "'depth'"),
    ("run file.lstat --param depth=many", 2, "'depth=many'"),
    ("run id.umask --param depth=1", 2, "--param depth"),
    ("run id.umask --cpu 99999", 2, "--cpu 99999"),
    ("run id.umask --cpu fast", 2, "'fast'"),
    ("run id.umask --out missing/run.json", 2, "missing/run.json"),
    ("run id.umask --time=0", 2, "'0'"),
    ("run id.umask --time=-1", 2, "'-1'"),
    ("run id.umask --time=nan", 2, "'nan'"),
    ("run id.umask --time=soon", 2, "'soon'"),
    ("file.lstat depth=4", 2, "--param depth=4"),
    ("foo.bar", 2, "matches 'foo.bar'; 'syscost list'"),
    ("run id.umask --runs 4X", 2, "it is not a whole number\n"),
    ("run id.umask --param n=1..4X", 2, "512, 4K or 1M\n"),
    ("run --bogus", 2, "'--bogus'"),
    ("run --all id.umask", 2, "--all"),
    ("comapre a", 2, "'comapre'"),
    ("nonsense", 2, "no operation matches 'nonsense'"),
    ("malloc", 2, "a snippet: 'c:malloc(1)'"),
    ("man nonsense", 2, "'nonsense'"),
    (
        "show run.json --only nonsense",
        2,
        "--only: no row matches nonsense",
    ),
    ("show run.json --only [a", 2, "pattern '[a'"),
];

#[test]
fn what_the_user_can_mend_has_exit_status_2() {
    let place = Place::with_run();
    place.refuses("", MISTAKES);
    let profile = file("studies/mercurial.profile.json");
    place.refuses("show", &[(&format!("{profile} --only io"), 2, "--only")]);
    let (one, many) = ("1..200+1", "--param b=1..200+1 --param c=1..200+1");
    place.refuses(
        "run 'perl:f({a}, {b}, {c})' --param",
        &[
            (
                &format!("a={one} {many}"),
                2,
                "these are 8000000 cases, more than 10000: give fewer values",
            ),
            (
                "a=1..1000000000000",
                2,
                "has 1000000000000 values, more than 64",
            ),
            ("a=1..1e12", 2, "'1e12' is not a whole number"),
        ],
    );
}

#[test]
fn a_single_dash_is_standard_input() {
    let place = Place::with_run();
    let shown = |input: Stdio| place.command("show -").stdin(input).output().unwrap();
    let run = shown(fs::File::open(file(RUN)).unwrap().into());
    assert_eq!(
        (stdout(&run), stderr(&run)),
        (stdout(&place.run("show run.json")), String::new())
    );
    let message = stderr(&shown(Stdio::null()));
    expect_start(&message, "syscost: standard input: is empty");
}

/// A real run of two operations of which one refuses its parameter: the document it printed, and the file it wrote.
struct Real {
    output: Output,
    file: String,
}

static REAL: LazyLock<Real> = LazyLock::new(|| {
    let place = Place::new();
    let output = place.run(
        "run id.umask dir.opendir_readdir_closedir --param entries=5000 --time 0.3 --format json --out run.json",
    );
    let file = place.read("run.json");
    Real { output, file }
});

#[test]
fn a_case_that_fails_is_a_row_and_exit_status_3() {
    expect_status(&REAL.output, 3);
    let document = json(&REAL.output);
    let records = list(&document["records"]);
    assert_eq!(records.len(), 2);
    assert!(records[0]["median_ns"].as_f64() > Some(0.0), "{document:#}");
    assert_eq!(records[1]["median_ns"], Value::Null);
    assert_eq!(records[1]["params"]["entries"], 5000);
    expect_in(records[1]["error"]["message"].to_string(), "EINVAL");
}

#[test]
fn a_result_file_shows_what_the_run_printed() {
    let place = Place::new();
    place.write("run.json", &REAL.file);
    assert_eq!(place.document("show run.json"), json(&REAL.output));
}

#[test]
fn a_run_that_cannot_be_written_is_shown_before_it_fails() {
    if !Path::new("/dev/full").exists() {
        return skip("there is no /dev/full");
    }
    let place = Place::new();
    let output = place.run("run id.umask --time 0.3 --format csv --quiet --out /dev/full");
    let (table, message) = (stdout(&output), stderr(&output));
    expect_status(&output, 1);
    expect_in(&table, "\ncost,id.umask,");
    expect_start(
        &message,
        "syscost: /dev/full: cannot be written (No space left",
    );
    assert_eq!(
        (message.lines().count(), place.left_behind().len()),
        (1, 0),
        "{message}"
    );
}

#[test]
fn documents_are_valid_by_their_schemas() {
    expect_valid("summary-2", &stdout(&REAL.output));
    let place = Place::with_run();
    for (schema, line) in [
        ("summary-2", "show run.json"),
        ("list-1", "list"),
        ("languages-1", "list --languages"),
        ("studies-1", "list --studies"),
    ] {
        expect_valid(schema, &place.document(line));
    }
    expect_valid("result-1", &REAL.file);
    expect_valid("result-1", &parsed(RUN));
}

/// What a terminal of 120 columns gets with such a variable; `None` where there is no program that gives us one.
fn on_a_terminal(name: &str, value: &str) -> Option<String> {
    let line = format!("'{}' show '{}'", env!("CARGO_BIN_EXE_syscost"), file(RUN));
    let mut command = Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null());
    command.env("COLUMNS", "120").env_remove("NO_COLOR");
    command.env("TERM", "xterm").env(name, value);
    let output = command.output().ok()?;
    expect_status(&output, 0);
    Some(stdout(&output))
}

#[test]
fn colour_is_for_terminals_that_have_it() {
    expect_not_in(printed(120, "show run.json"), "\x1b");
    let Some(coloured) = on_a_terminal("TERM", "xterm") else {
        return skip("script(1) is not installed");
    };
    expect_in(&coloured, ["call.getpid", "\x1b["]);
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = on_a_terminal(name, value).unwrap();
        expect_in(&plain, "call.getpid");
        expect_not_in(&plain, "\x1b[");
    }
}

/// The first variable that is set decides, and columns stay aligned; programs get every character.
#[test]
fn a_locale_without_utf8_gets_ascii() {
    let shown = |line: &str, variables: &[(&str, &str)]| {
        let place = Place::with_run();
        let mut command = place.command(line);
        command.env("COLUMNS", "120").env("LANG", "en_US.UTF-8");
        command.env_remove("LC_ALL").env_remove("LC_CTYPE");
        succeeded(command.envs(variables.iter().copied()))
    };
    let usual = shown("show run.json", &[]);
    expect_in(&usual, "±");
    for utf8 in [
        &[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")][..],
        &[("LC_ALL", "de_DE.UTF-8"), ("LC_CTYPE", "C")],
        &[("LANG", "")],
    ] {
        assert_eq!(shown("show run.json", utf8), usual);
    }
    for line in ["show run.json", "run --help-all"] {
        let plain = shown(line, &[("LC_ALL", "C")]);
        assert!(plain.is_ascii(), "{plain}");
        let width = |text: &str| {
            text.lines()
                .map(|line| line.chars().count())
                .collect::<Vec<_>>()
        };
        let table = |text: &str| width(text.split("\n\n").nth(1).unwrap_or_default());
        assert_eq!(table(&plain), table(&shown(line, &[])), "{plain}");
    }
    for format in ["json", "csv", "markdown"] {
        let line = format!("show run.json --format {format}");
        assert_eq!(
            shown(&line, &[("LC_ALL", "C")]),
            shown(&line, &[]),
            "{line}"
        );
    }
}

/// Of a paragraph, no line ends before it must.
#[test]
fn no_paragraph_of_the_help_is_broken_within() {
    for command in commands() {
        let help = printed(100, format!("{command} --help-all"));
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let is_prose =
                |line: &str| line.starts_with(char::is_alphanumeric) || line.starts_with('/');
            if !pair.iter().all(|line| is_prose(line)) || pair[0].ends_with('.') {
                continue;
            }
            let next = pair[1].split(' ').next().unwrap_or_default();
            assert!(pair[0].len() + 1 + next.len() > 100, "{command}: {pair:?}");
        }
    }
}

/// One call, one process, one row: no noun behind 1 is a plural, and no time rounds to nothing.
#[test]
fn one_is_singular_and_short_times_have_figures() {
    let place = Place::new();
    place.write("one.log", "7 12:00:00.000001 fsync(3) = 0 <0.000010>\n");
    let plural = regex_lite::Regex::new("(^|[^0-9.,x])1 (more )?[a-z]+[a-rt-z]s\\b").unwrap();
    let nothing = regex_lite::Regex::new("\\b0\\.0000* s\\b").unwrap();
    for line in [
        "why one.log",
        "show one.log",
        "show one.log --by class",
        "report one.log -o -",
        "compare one.log one.log",
    ] {
        let shown = stdout(&place.run(line));
        assert!(!shown.is_empty(), "{line}");
        for wrong in [&plural, &nothing] {
            let found = wrong.find(&shown).map(|found| found.as_str());
            assert_eq!(found, None, "{line}: {shown}");
        }
    }
}

#[test]
fn files_of_other_programs_are_named() {
    let place = Place::new();
    for (text, looks_like) in [
        (
            "     0.043 ( 0.012 ms): ls/42 openat(dfd: CWD) = 3\n",
            "'perf trace'",
        ),
        (
            "#\n# Samples: 842  of event 'cpu-clock:ppp'\n",
            "'perf report'",
        ),
        (
            "SYSCALL(args) \t\t = return\nopen(\".\", 0x0)\t\t = 3 0\n",
            "dtruss",
        ),
        (
            "Benchmark 1: true\n  Time (mean ± σ):   1.9 ms\n",
            "hyperfine",
        ),
        (
            "{\"results\": [{\"command\": \"true\", \"mean\": 0.1}]}",
            "hyperfine",
        ),
        ("some words of a person\n", "text of an unknown format"),
    ] {
        place.write("theirs", text);
        for command in ["show", "why", "report -o -"] {
            let output = place.run(format!("{command} theirs"));
            expect_error(&output, 1, ["theirs: looks like ", looks_like]);
            expect_not_in(stderr(&output), "is not JSON");
        }
    }
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(
        printed(80, "--version"),
        format!("syscost {}\n", env!("CARGO_PKG_VERSION"))
    );
}
