//! Nothing that a file says reaches its reader raw, whatever the command, its format and its view; and nothing that is
//! printed can end the program, wherever it is printed to. Which commands there are, and what their flags take, is asked of
//! the program itself, so that a new format is tested without an edit here.

mod check;
pub mod files;

use crate::common::*;
use clap::CommandFactory;
use cli::Arguments;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The flags whose values are all tried.
const CHOICES: [&str; 7] = ["format", "view", "by", "sort", "figure", "kind", "shell"];

/// Hostile input for each command: arguments without those that are tried. SHORT stands for a hostile one, PROGRAM for a program of
/// such a name.
const INPUTS: [(&str, &[&str]); 20] = [
    (
        "run",
        &[
            "SHORT",
            "id.getppid --env-command SHORT",
            "id.getppid --via SHORT --probe SHORT",
        ],
    ),
    (
        "show",
        &[
            "run.json",
            "sizes.json",
            "environments.json",
            "profile.json",
            "history",
            "strace-log.txt",
            "strace-table.txt",
            "any.txt",
            "long.txt",
            "strace-name.txt",
        ],
    ),
    (
        "compare",
        &[
            "run.json moved.json",
            "run.json moved.json sizes.json --threshold 1",
            "run.json moved.json --study study.toml",
            "run.json moved.json --fail-over 0",
            "run.json moved.json --versus sizes.json moved.json",
            "profile.json profile.json",
            "profile.json profile.json --fail-over 0 --label SHORT",
            "run.json run.json --baseline SHORT",
            "run.json run.json --only SHORT",
            "run.json run.json --label SHORT",
        ],
    ),
    (
        "report",
        &[
            "run.json -o -",
            "sizes.json -o -",
            "run.json moved.json environments.json -o -",
            "profile.json -o -",
            "profile.json profile.json -o -",
        ],
    ),
    (
        "why",
        &[
            "profile.json",
            "calls.json --costs costs.json --versus costs.json",
            "calls.json --costs run.json --versus run.json",
            "calls.json --costs SHORT --versus costs.json",
            "-- SHORT",
            "--user SHORT true",
        ],
    ),
    ("explain", &["SHORT"]),
    ("list", &["SHORT", "--studies", "id"]),
    ("race", &["SHORT", "true --prepare SHORT", "true -P SHORT"]),
    (
        "trace",
        &[
            "-- SHORT",
            "--user SHORT true",
            "--tracer ptrace -- PROGRAM",
        ],
    ),
    (
        "top",
        &[
            "--cgroup SHORT",
            "--container SHORT",
            "--count 1 --interval 0.1 -- PROGRAM",
        ],
    ),
    ("doctor", &[""]),
    ("cache", &["", "--remove SHORT"]),
    ("completions", &[""]),
    ("man", &[""]),
    // With an architecture that there is, it would ask the mirror.
    ("kernel fetch", &["--arch SHORT SHORT"]),
    ("kernel diff", &["SHORT SHORT", "6.1 6.1 --fail-over x"]),
    ("kernel list", &["", "--available --arch SHORT"]),
    ("kernel remove", &["SHORT"]),
    ("probe build", &["--target SHORT -o probe"]),
    (
        "kernel atlas build",
        &[
            "atlas --fetched --kernels SHORT",
            "atlas --fetched --operations SHORT",
            "atlas --fetched --arch SHORT",
        ],
    ),
];

fn inputs(command: &str) -> Vec<String> {
    let (_, lines) = INPUTS
        .iter()
        .find(|(name, _)| *name == command)
        .unwrap_or_else(|| {
            panic!("{command}: say here by which arguments hostile text gets into it")
        });
    let studies = files::STUDIES.map(|name| format!("--study {name}"));
    let studies = studies.into_iter().take(if command == "run" {
        files::STUDIES.len()
    } else {
        0
    });
    studies
        .chain(lines.iter().map(|line| line.to_string()))
        .collect()
}

fn hostile(word: &str) -> String {
    match word {
        "SHORT" => files::SHORT.into(),
        "PROGRAM" => files::PROGRAM.into(),
        word => word.into(),
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

/// Each format with the words that ask for it.
fn formats_of(argument: Option<&clap::Arg>) -> Vec<(String, Vec<String>)> {
    let Some(format) = argument else {
        return vec![("text".to_string(), vec![])];
    };
    let values = values(format).into_iter();
    values
        .map(|value| (value.clone(), written(format, &value)))
        .collect()
}

fn each_value(arguments: &[&clap::Arg]) -> Vec<Vec<String>> {
    arguments
        .iter()
        .flat_map(|argument| {
            values(argument)
                .into_iter()
                .map(|value| written(argument, &value))
        })
        .collect()
}

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
    let formats = formats_of(formats.first().copied());
    let positional = if given.is_empty() {
        vec![vec![]]
    } else {
        each_value(&given)
    };
    let optional: Vec<Vec<String>> = std::iter::once(vec![]).chain(each_value(&flags)).collect();
    let mut trials = Vec::new();
    for (number, input) in inputs(&words.join(" ")).into_iter().enumerate() {
        for (index, (format, flag)) in formats.iter().enumerate() {
            // The first input in each format and with each flag, the others in one format, by turns; heavy is each input with each
            // flag, and in each format.
            let (first, text) = (number == 0, format == "text");
            if !first && index != number % formats.len() && !cfg!(feature = "heavy") {
                continue;
            }
            let optional = if first && text || cfg!(feature = "heavy") && (first || text) {
                &optional[..]
            } else {
                &optional[..1]
            };
            for (first, last) in positional
                .iter()
                .flat_map(|first| optional.iter().map(move |last| (first, last)))
            {
                let own = input.split_whitespace().map(hostile);
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
            let output = place
                .command(arguments)
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
        let shown = place.run(format!("show {file}"));
        expect_status(&shown, 0);
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
    for (line, most) in [
        ("show long.json --view table", 40_000),
        ("show long.json --view cmpthese", 40_000),
        ("show long.json --view latency", 40_000),
        ("report -o - long.json", 400_000),
        ("report -o - run.json moved.json", 400_000),
    ] {
        let shown = place.run(line);
        expect_status(&shown, 0);
        assert!(
            shown.stdout.len() < most,
            "{line}: {} bytes",
            shown.stdout.len()
        );
    }
    for format in ["csv", "json", "go-benchmark"] {
        let shown = place.run(format!("show long.json --format {format}"));
        assert!(
            stdout(&shown).contains(&"x".repeat(files::LONG_NAME - 1)),
            "{format}"
        );
    }
}

fn working(command: &str) -> String {
    let arguments = match command {
        "show" => "run.json",
        "compare" => "run.json run.json",
        "report" => "run.json -o -",
        "run" => "id.getppid --time 0.1 --no-verify --quiet",
        "explain" => "call.getpid --time 0.1",
        "list" => "--studies",
        "kernel" => "list",
        "completions" => "bash",
        "top" => "--all --count 1 --interval 0.1 --quiet",
        "cache" | "doctor" | "man" => "",
        "race" => "true --runs 1 --no-counts",
        new => panic!("{new}: say here how it is made to print something"),
    };
    format!("{command} {arguments}")
}

/// All that write to standard output, and the help.
fn printing() -> Vec<String> {
    let program = Arguments::command();
    let names = program.get_subcommands().map(clap::Command::get_name);
    // Without eBPF, `top` prints nothing.
    let can = |name: &&str| *name != "top" || sys::bpf::available().is_ok();
    let commands = names
        .filter(|name| !["trace", "why", "probe", "help"].contains(name))
        .filter(can);
    let help = ["--help", "--version", "help"].map(str::to_string);
    commands.map(working).chain(help).collect()
}

/// The program with its streams redirected as a shell would: `>/dev/full`, `>&-`.
fn redirected(place: &Place, line: impl Line, streams: &str) -> Output {
    let script = format!("exec \"$@\" {streams}");
    in_shell(&script, &place.command(line)).output().unwrap()
}

#[test]
fn a_standard_output_that_cannot_be_written_is_an_error_of_one_line() {
    let place = Place::new();
    files::write(&place);
    for streams in [">/dev/full", ">&-", "1</dev/null"] {
        for line in printing() {
            let output = redirected(&place, &line, streams);
            expect_error(&output, 1, "syscost: cannot write to standard output (");
            assert_eq!(
                stderr(&output).lines().count(),
                1,
                "{line} {streams}: {}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn a_standard_error_that_nobody_reads_changes_no_status() {
    let place = Place::new();
    files::write(&place);
    let cases = [
        ("show nofile", 1),
        ("show", 2),
        ("--wrong", 2),
        ("show run.json", 0),
        ("compare run.json moved.json --fail-over 0", 1),
        ("show history --format rows", 3),
        ("trace --tracer ptrace true", 0),
        ("trace --tracer ptrace sh -c 'exit 7'", 7),
        ("trace --tracer ptrace no-such-command", 127),
    ];
    for streams in ["2>/dev/full", "2>&-", "2</dev/null"] {
        for (line, status) in cases {
            let ended = redirected(&place, line, streams).status.code();
            assert_eq!(ended, Some(status), "{line} {streams}");
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
    let broken = |line: &str| {
        let mut command = place.command(line);
        command.stdout(broken_pipe()).stderr(broken_pipe());
        command.status().unwrap().code()
    };
    for format in ["text", "markdown", "csv", "json"] {
        let out = format!("{format}.p.json");
        let traced = format!("trace --tracer ptrace -o {out} --format {format} sh -c 'exit 5'");
        assert_eq!(broken(&traced), Some(5), "{format}");
        // The profile is whole.
        expect_status(&place.run(format!("show {out}")), 0);
        for command in ["show run.json", "compare run.json moved.json", "list"] {
            assert_eq!(
                broken(&format!("{command} --format {format}")),
                Some(0),
                "{command}"
            );
        }
    }
    for line in printing() {
        assert_eq!(broken(&line), Some(0), "{line}");
    }
    // What it found is not lost.
    assert_eq!(broken("compare run.json moved.json --fail-over 0"), Some(1));
}

/// Rust's start-up code opens something in the place of a closed stream: a file must never get its number.
#[test]
fn messages_never_get_into_a_file() {
    let place = Place::new();
    files::write(&place);
    for streams in ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let traced = "trace --tracer ptrace -o p.json sh -c 'echo out; echo err >&2; exit 4'";
        assert_eq!(
            redirected(&place, traced, streams).status.code(),
            Some(4),
            "{streams}"
        );
        // Only a profile is in it.
        expect_status(&place.run("show p.json"), 0);
        let output = redirected(&place, "show history --format rows", streams);
        expect_not_in(stdout(&output), "skipped");
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
    let program = place.command("run id.getppid --time 0.5 --no-verify");
    match behind(["python3", "-c", SCRIPT], &program)
        .env("TERM", "xterm")
        .output()
    {
        Err(error) => skip(&format!("no python3: {error}")),
        Ok(output) => assert_eq!(output.status.code(), Some(0), "{}", stderr(&output)),
    }
}
