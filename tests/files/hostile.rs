//! Nothing that a file says reaches its reader raw, whatever the command, its format and its view; and nothing that is
//! printed can end the program, wherever it is printed to. Which commands there are, and what their flags take, is asked of
//! the program itself, so that a new format is tested without an edit here.

mod check;
pub mod files;

use crate::common::{Place, skip, stderr, stdout};
use clap::CommandFactory;
use cli::Arguments;
use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The flags whose values are all tried.
const CHOICES: [&str; 7] = ["format", "view", "by", "sort", "figure", "kind", "shell"];

/// Hostile input for a command: arguments without those that are tried.
fn inputs(command: &str) -> Vec<Vec<&'static str>> {
    match command {
        "show" => vec![
            vec!["run.json"],
            vec!["sizes.json"],
            vec!["environments.json"],
            vec!["profile.json"],
            vec!["history"],
        ]
        .into_iter()
        .chain(files::STRACE.map(|name| vec![name]))
        .collect(),
        "compare" => vec![
            vec!["run.json", "moved.json"],
            vec!["run.json", "moved.json", "sizes.json", "--threshold", "1"],
            vec!["run.json", "moved.json", "--study", "study.toml"],
            vec!["run.json", "moved.json", "--fail-over", "0"],
            vec![
                "run.json",
                "moved.json",
                "--versus",
                "sizes.json",
                "moved.json",
            ],
            vec!["profile.json", "profile.json"],
            vec![
                "profile.json",
                "profile.json",
                "--fail-over",
                "0",
                "--label",
                files::SHORT,
            ],
            vec!["run.json", "run.json", "--baseline", files::SHORT],
            vec!["run.json", "run.json", "--only", files::SHORT],
            vec!["run.json", "run.json", "--label", files::SHORT],
        ],
        "report" => vec![
            vec!["run.json", "-o", "-"],
            vec!["sizes.json", "-o", "-"],
            vec!["run.json", "moved.json", "environments.json", "-o", "-"],
        ],
        "why" => vec![
            vec!["profile.json"],
            vec![
                "calls.json",
                "--costs",
                "costs.json",
                "--versus",
                "costs.json",
            ],
            vec!["calls.json", "--costs", "run.json", "--versus", "run.json"],
            vec![
                "calls.json",
                "--costs",
                files::SHORT,
                "--versus",
                "costs.json",
            ],
            vec!["--", files::SHORT],
            vec!["--user", files::SHORT, "true"],
        ],
        "run" => {
            let own = [
                vec![files::SHORT],
                vec!["id.getppid", "--env-command", files::SHORT],
                vec!["id.getppid", "--via", files::SHORT, "--probe", files::SHORT],
            ];
            files::STUDIES
                .iter()
                .map(|name| vec!["--study", *name])
                .chain(own)
                .collect()
        }
        "explain" => vec![vec![files::SHORT], vec![files::SHORT, "--variants"]],
        "list" => vec![vec![files::SHORT], vec!["--studies"], vec!["id"]],
        "race" => vec![
            vec![files::SHORT],
            vec!["true", "--prepare", files::SHORT],
            vec!["true", "-P", files::SHORT],
        ],
        "trace" => vec![
            vec!["--", files::SHORT],
            vec!["--user", files::SHORT, "true"],
            vec!["--tracer", "ptrace", "--", files::PROGRAM],
        ],
        "top" => vec![
            vec!["--cgroup", files::SHORT],
            vec!["--container", files::SHORT],
            vec!["--count", "1", "--interval", "0.1", "--", files::PROGRAM],
        ],
        "doctor" | "completions" | "man" => vec![vec![]],
        other => of_kernels_and_probes(other),
    }
}

fn of_kernels_and_probes(command: &str) -> Vec<Vec<&'static str>> {
    match command {
        // With an architecture that there is, it would ask the mirror.
        "kernel fetch" => vec![vec!["--arch", files::SHORT, files::SHORT]],
        "kernel list" => vec![vec![], vec!["--available", "--arch", files::SHORT]],
        "kernel remove" => vec![vec![files::SHORT]],
        "probe build" => vec![vec!["--target", files::SHORT, "-o", "probe"]],
        "kernel atlas build" => vec![
            vec!["atlas", "--fetched", "--kernels", files::SHORT],
            vec!["atlas", "--fetched", "--operations", files::SHORT],
            vec!["atlas", "--fetched", "--arch", files::SHORT],
        ],
        "kernel atlas check" => vec![vec![files::SHORT], vec![".", "--fetched"]],
        new => panic!("{new}: say here by which arguments hostile text gets into it"),
    }
}

/// One thing to try: the format that standard output should have, and the arguments.
type Trial = (String, Vec<String>);

fn values(argument: &clap::Arg) -> Vec<String> {
    argument
        .get_possible_values()
        .iter()
        .map(|value| value.get_name().to_string())
        .collect()
}

/// `argument` with one of its values, as it is written.
fn written(argument: &clap::Arg, value: &str) -> Vec<String> {
    argument
        .get_long()
        .map(|long| format!("--{long}"))
        .into_iter()
        .chain([value.to_string()])
        .collect()
}

/// Formats of a command with values of each of its other choices, two of the three at a time.
fn trials(command: &clap::Command) -> Vec<Trial> {
    words_and_trials(&[command.get_name()], command)
}

/// The same of a command by its words, and of those below it.
fn words_and_trials(words: &[&str], command: &clap::Command) -> Vec<Trial> {
    if command.has_subcommands() {
        let below = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help");
        return below
            .flat_map(|below| words_and_trials(&[words, &[below.get_name()]].concat(), below))
            .collect();
    }
    let choices: Vec<&clap::Arg> = command
        .get_arguments()
        .filter(|a| CHOICES.contains(&a.get_id().as_str()) && !values(a).is_empty())
        .collect();
    let (formats, others): (Vec<&clap::Arg>, Vec<&clap::Arg>) = choices
        .into_iter()
        .partition(|argument| argument.get_id() == "format");
    // What is no flag must be given.
    let (given, flags): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|argument| argument.get_long().is_none());
    let formats: Vec<(String, Vec<String>)> = match formats.first() {
        Some(format) => values(format)
            .into_iter()
            .map(|value| (value.clone(), written(format, &value)))
            .collect(),
        None => vec![("text".to_string(), vec![])],
    };
    let with = |arguments: &[&clap::Arg]| -> Vec<Vec<String>> {
        arguments
            .iter()
            .flat_map(|a| values(a).into_iter().map(|value| written(a, &value)))
            .collect()
    };
    let positional = if given.is_empty() {
        vec![vec![]]
    } else {
        with(&given)
    };
    let optional: Vec<Vec<String>> = std::iter::once(vec![]).chain(with(&flags)).collect();
    let mut trials = Vec::new();
    for (number, input) in inputs(&words.join(" ")).into_iter().enumerate() {
        for (format, flag) in &formats {
            // Each input in each format, each input with each flag, and each format with each flag.
            let optional = if number == 0 || format == "text" {
                &optional[..]
            } else {
                &optional[..1]
            };
            for (first, last) in positional
                .iter()
                .flat_map(|first| optional.iter().map(move |last| (first, last)))
            {
                let own = input.iter().map(|argument| argument.to_string());
                let name = words.iter().map(|word| word.to_string());
                let flags = first.iter().chain(flag).chain(last).cloned();
                trials.push((format.clone(), name.chain(flags).chain(own).collect()));
            }
        }
    }
    trials
}

fn all_trials() -> Vec<Trial> {
    let program = Arguments::command();
    let commands = program
        .get_subcommands()
        .filter(|command| command.get_name() != "help");
    commands.flat_map(trials).collect()
}

/// What is wrong with what a trial gave.
fn wrong(format: &str, arguments: &[String], output: &Output) -> Result<(), String> {
    let status = output.status.code();
    if !matches!(status, Some(0..=3 | 126 | 127)) {
        return Err(format!("ended with {:?}", output.status));
    }
    // The table of a trace is on standard error.
    match (arguments[0].as_str(), format) {
        ("trace", "markdown") if status == Some(0) => check::output(format, &output.stderr)?,
        ("trace", "json") if status == Some(0) => {}
        _ => check::terminal(&output.stderr)?,
    }
    if output.stdout.is_empty() {
        let said = !output.stderr.is_empty() && (status != Some(0) || arguments[0] == "trace");
        return if said {
            Ok(())
        } else {
            Err("said nothing".to_string())
        };
    }
    match arguments[0].as_str() {
        "completions" | "man" => Ok(()),
        _ => check::output(format, &output.stdout),
    }
}

/// Runs all trials on as many threads as there are processors; what was wrong, and the successes by command and format.
fn run_all(place: &Place, trials: &[Trial]) -> (Vec<String>, BTreeMap<(String, String), usize>) {
    let next = AtomicUsize::new(0);
    let (failures, successes) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some((format, arguments)) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let output = place
                .command(&words)
                .env("COLUMNS", "100")
                .output()
                .unwrap();
            if let Err(why) = wrong(format, arguments, &output) {
                failures
                    .lock()
                    .unwrap()
                    .push(format!("{arguments:?}: {why}"));
            }
            // The mark that something was replaced: the hostile text has come as far as to the writer.
            let shown = usize::from(
                String::from_utf8_lossy(&output.stdout).contains(['\u{fffd}', '\u{202e}']),
            );
            *successes
                .lock()
                .unwrap()
                .entry((arguments[0].clone(), format.clone()))
                .or_default() += shown;
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from))
            .for_each(|_| drop(scope.spawn(work)))
    });
    (
        failures.into_inner().unwrap(),
        successes.into_inner().unwrap(),
    )
}

#[test]
fn no_command_carries_a_files_text_raw_to_its_reader() {
    let place = Place::new();
    files::write(&place);
    for file in files::SOUND {
        let shown = place.run(&["show", file]);
        assert_eq!(
            shown.status.code(),
            Some(0),
            "{file} is hostile and sound: {}",
            stderr(&shown)
        );
    }
    let trials = all_trials();
    let (failures, successes) = run_all(&place, &trials);
    println!(
        "hostile files: {} combinations of command, input, format and view, {} failures",
        trials.len(),
        failures.len()
    );
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        trials.len(),
        failures.join("\n")
    );
    // A format that is always refused, or never held any of it, was not tested.
    let untested = |((command, _), shown): &(&(String, String), &usize)| {
        **shown == 0 && ["show", "compare", "report", "why"].contains(&command.as_str())
    };
    let untested: Vec<_> = successes.iter().filter(untested).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn long_names_are_short_on_a_terminal_and_whole_for_programs() {
    let place = Place::new();
    files::write(&place);
    for view in [
        "table",
        "cmpthese",
        "timethese",
        "bars",
        "distribution",
        "latency",
    ] {
        let shown = place.run(&["show", "long.json", "--view", view]);
        assert!(
            shown.status.success() && shown.stdout.len() < 40_000,
            "{view}: {} bytes",
            shown.stdout.len()
        );
    }
    for files in [vec!["long.json"], vec!["run.json", "moved.json"]] {
        let page = place.run(&[&["report", "-o", "-"], &files[..]].concat());
        assert!(
            page.status.success() && page.stdout.len() < 400_000,
            "{files:?}: {} bytes",
            page.stdout.len()
        );
    }
    for format in ["csv", "json", "go-benchmark"] {
        let shown = place.run(&["show", "long.json", "--format", format]);
        assert!(
            stdout(&shown).contains(&"x".repeat(files::LONG_NAME - 1)),
            "{format}"
        );
    }
}

/// Arguments by which each command succeeds soon and prints something.
fn working(command: &str) -> Vec<&'static str> {
    match command {
        "show" => vec!["run.json"],
        "compare" => vec!["run.json", "run.json"],
        "report" => vec!["run.json", "-o", "-"],
        "run" => vec!["id.getppid", "--time", "0.1", "--no-verify", "--quiet"],
        "explain" => vec!["call.getpid", "--time", "0.1"],
        "list" => vec!["--studies"],
        "kernel" => vec!["list"],
        "completions" => vec!["bash"],
        "top" => vec!["--all", "--count", "1", "--interval", "0.1", "--quiet"],
        "doctor" | "man" => vec![],
        "race" => vec!["true", "--runs", "1", "--no-counts"],
        new => panic!("{new}: say here how it is made to print something"),
    }
}

/// All that write to standard output, and the help.
fn printing() -> Vec<Vec<String>> {
    let program = Arguments::command();
    let names = program
        .get_subcommands()
        .map(|command| command.get_name().to_string());
    // Without eBPF, `top` prints nothing.
    let can = |name: &String| name != "top" || sys::bpf::available().is_ok();
    let commands = names
        .filter(|name| !["trace", "why", "probe", "help"].contains(&name.as_str()))
        .filter(can);
    let lines = commands.map(|name| {
        working(&name)
            .into_iter()
            .fold(vec![name.clone()], |mut line, word| {
                line.push(word.to_string());
                line
            })
    });
    lines
        .chain(["--help", "--version", "help"].map(|word| vec![word.to_string()]))
        .collect()
}

/// The program with its streams redirected as a shell would: `>/dev/full`, `>&-`.
fn redirected(place: &Place, arguments: &[String], streams: &str) -> Output {
    let program = place.command(&[]);
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("exec \"$@\" {streams}"))
        .arg("sh")
        .arg(program.get_program())
        .args(arguments);
    shell
        .current_dir(place.path())
        .env("TMPDIR", place.tmp())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_standard_output_that_cannot_be_written_is_an_error_of_one_line() {
    let place = Place::new();
    files::write(&place);
    for streams in [">/dev/full", ">&-", "1</dev/null"] {
        for arguments in printing() {
            let output = redirected(&place, &arguments, streams);
            let message = stderr(&output);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{arguments:?} {streams}: {message}"
            );
            assert!(
                message.starts_with("syscost: cannot write to standard output ("),
                "{message}"
            );
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}

#[test]
fn a_standard_error_that_nobody_reads_changes_no_status() {
    let place = Place::new();
    files::write(&place);
    let cases = [
        (vec!["show", "nofile"], 1),
        (vec!["show"], 2),
        (vec!["--wrong"], 2),
        (vec!["show", "run.json"], 0),
        (
            vec!["compare", "run.json", "moved.json", "--fail-over", "0"],
            1,
        ),
        (vec!["show", "history", "--format", "rows"], 3),
        (vec!["trace", "--tracer", "ptrace", "true"], 0),
        (vec!["trace", "--tracer", "ptrace", "sh", "-c", "exit 7"], 7),
        (vec!["trace", "--tracer", "ptrace", "no-such-command"], 127),
    ];
    for streams in ["2>/dev/full", "2>&-", "2</dev/null"] {
        for (arguments, status) in &cases {
            let words: Vec<String> = arguments.iter().map(|word| word.to_string()).collect();
            assert_eq!(
                redirected(&place, &words, streams).status.code(),
                Some(*status),
                "{arguments:?} {streams}"
            );
        }
    }
}

/// A pipe whose reader is gone before anything is written.
fn broken_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_went_away_costs_neither_profile_nor_status() {
    let place = Place::new();
    files::write(&place);
    let broken = |arguments: &[&str]| {
        place
            .command(arguments)
            .stdout(broken_pipe())
            .stderr(broken_pipe())
            .status()
            .unwrap()
    };
    for format in ["text", "markdown", "csv", "json"] {
        let profile = place.path().join(format!("{format}.p.json"));
        let out = profile.to_str().unwrap();
        let traced = [
            "trace", "--tracer", "ptrace", "-o", out, "--format", format, "sh", "-c", "exit 5",
        ];
        let status = broken(&traced).code();
        assert_eq!(status, Some(5), "{format}");
        assert_eq!(
            place.run(&["show", out]).status.code(),
            Some(0),
            "{format}: the profile is whole"
        );
    }
    for arguments in printing() {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(broken(&words).code(), Some(0), "{arguments:?}");
    }
    for command in [
        &["show", "run.json"][..],
        &["compare", "run.json", "moved.json"],
        &["list"],
    ] {
        for format in ["text", "markdown", "csv", "json"] {
            assert_eq!(
                broken(&[command, &["--format", format]].concat()).code(),
                Some(0),
                "{command:?} {format}"
            );
        }
    }
    let grown = ["compare", "run.json", "moved.json", "--fail-over", "0"];
    assert_eq!(broken(&grown).code(), Some(1), "what it found is not lost");
}

/// Rust's start-up code opens something in the place of a closed stream: a file must never get its number.
#[test]
fn messages_never_get_into_a_file() {
    let place = Place::new();
    files::write(&place);
    for streams in ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let words = [
            "trace",
            "--tracer",
            "ptrace",
            "-o",
            "p.json",
            "sh",
            "-c",
            "echo out; echo err >&2; exit 4",
        ];
        let output = redirected(&place, &words.map(str::to_string), streams);
        assert_eq!(output.status.code(), Some(4), "{streams}");
        assert_eq!(
            place.run(&["show", "p.json"]).status.code(),
            Some(0),
            "{streams}: only a profile is in it"
        );
        let report = ["show", "history", "--format", "rows"].map(str::to_string);
        let output = redirected(&place, &report, streams);
        assert!(!stdout(&output).contains("skipped"), "{streams}");
    }
}

/// A terminal that hangs up while the progress bar is drawn on it.
#[test]
fn a_progress_bar_bears_a_terminal_that_is_gone() {
    const SCRIPT: &str = "
import os, pty, subprocess, sys
master, slave = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stderr=slave, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
os.close(slave)
seen = os.read(master, 10)
os.close(master)
child.stdout.read()
sys.exit(child.wait() if seen else 99)";
    let place = Place::new();
    let program = place.command(&["run", "id.getppid", "--time", "0.5", "--no-verify"]);
    let mut python = Command::new("python3");
    python
        .arg("-c")
        .arg(SCRIPT)
        .arg(program.get_program())
        .args(program.get_args());
    match python
        .current_dir(place.path())
        .env("TMPDIR", place.tmp())
        .env("TERM", "xterm")
        .output()
    {
        Err(error) => skip(&format!("no python3: {error}")),
        Ok(output) => assert_eq!(output.status.code(), Some(0), "{}", stderr(&output)),
    }
}
