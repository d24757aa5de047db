//! Whole commands against each other.

use crate::common::{Place, expect_status, expect_valid, json, skip, stderr, stdout, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;
use std::process::{Command, Output};
use std::time::Duration;

/// One program reads as many bytes with a sixteenth of the calls.
const MANY: &str = "dd if=/dev/zero of=/dev/null bs=64 count=16000";
const FEW: &str = "dd if=/dev/zero of=/dev/null bs=1024 count=1000";

#[test]
fn the_calls_that_changed_are_the_reason() {
    let place = Place::new();
    let raced = place.run(&[
        "race",
        MANY,
        "--versus",
        FEW,
        "--runs",
        "7",
        "--format",
        "json",
        "--out",
        "race.json",
    ]);
    expect_status(&raced, 0);
    expect_valid("race-1", &json(&raced).to_string());
    assert_eq!(place.read("race.json"), stdout(&raced));
    let kept = place.printed(&["show", "race.json"]);
    assert!(
        kept.contains("time ratio") && kept.contains("calls differ, "),
        "{kept}"
    );
    place.printed(&["report", "race.json", "-o", "race.html"]);
    let found = json(&raced);
    let result = &found["results"][1];
    assert_eq!(
        (
            result["command"].as_str(),
            result["times"].as_array().map(Vec::len)
        ),
        (Some(FEW), Some(7))
    );
    assert!(
        result["exit_codes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|status| status == 0),
        "{result:#}"
    );
    let versus = &found["versus"][0];
    let rows = versus["calls"]["rows"]
        .as_array()
        .unwrap_or_else(|| panic!("{result:#}"));
    for name in ["read", "write"] {
        let row = rows.iter().find(|row| row["call"] == name).unwrap();
        let calls = |side: usize| row["counts"][side]["calls"]["median"].as_u64().unwrap();
        assert_eq!(calls(0) - calls(1), 15_000, "{row:#}");
    }
    let shown = place.run(&["race", MANY, "--versus", FEW, "--runs", "7"]);
    let text = stdout(&shown);
    for part in [
        "time ratio",
        "7 rounds in random order",
        "-15,000 (x",
        "calls differ, ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The same calls, of which one takes longer: eBPF and ptrace know how long it was blocked.
#[test]
fn a_call_that_takes_longer_is_the_cause() {
    let place = Place::new();
    for nobody in [false, true] {
        let words = [
            "race",
            "sleep 0.02",
            "--versus",
            "sleep 0.3",
            "--runs",
            "5",
            "--format",
            "json",
        ];
        if nobody && !geteuid().is_root() {
            return skip("becoming one needs root");
        }
        let mut command = if nobody {
            place.command_as_nobody(&words)
        } else {
            place.command(&words)
        };
        let raced = command.output().unwrap();
        expect_status(&raced, 0);
        expect_valid("race-1", &json(&raced).to_string());
        let versus = &json(&raced)["versus"][0];
        let cause = &versus["causes"][0];
        let named = (cause["cause"].as_str(), cause["call"].as_str());
        assert_eq!(
            named,
            (Some("time_per_call"), Some("clock_nanosleep")),
            "{versus:#}"
        );
    }
}

#[test]
fn parameters_preparation_and_a_shell() {
    let place = Place::new();
    let commands = [
        "--shell",
        "test -e made && wc -c < made",
        "-P",
        "size=1,x",
        "--prepare",
        "echo {size} > made",
    ];
    let raced = place.run(
        &[
            &["race", "--runs", "1", "--no-counts", "--format", "json"],
            &commands[..],
        ]
        .concat(),
    );
    expect_status(&raced, 0);
    let found = json(&raced);
    let parameters: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["parameters"]["size"].as_str().unwrap())
        .collect();
    assert_eq!(parameters, ["1", "x"]);
    assert_eq!(
        (&found["versus"][0]["wall"], &found["versus"][0]["head"]),
        (&Value::Null, &Value::from(1))
    );
    assert_eq!(place.read("made").len(), 2);
}

#[test]
fn failures_are_errors_unless_they_are_asked_for() {
    let place = Place::new();
    let cases: [(&str, i32, &str); 11] = [
        ("\"echo 'a\"", 2, "missing closing quote"),
        (
            "'echo {n}' -P n=1..200+1",
            2,
            "--parameter n: more than 100 commands: give fewer values",
        ),
        ("'echo {n}' -P n=", 2, "not of the form name=value"),
        (
            "ls --versus 'ls -l' --prepare a --prepare b --prepare c",
            2,
            "--prepare: 3 for 2 commands",
        ),
        ("false", 1, "'false' failed with status 1"),
        (
            "true --prepare 'exit 3'",
            1,
            "--prepare failed with status 3",
        ),
        ("/nonexistent", 127, "/nonexistent"),
        ("'ls | wc'", 2, "add --shell"),
        ("true -P n=1", 2, "no command has {n}"),
        (
            "true --out /nonexistent/race.json",
            2,
            "/nonexistent/race.json",
        ),
        ("", 2, "COMMAND"),
    ];
    place.refuses("race", &cases);
    let ignored = place.run(&["race", "false", "-i", "--runs", "2", "--no-counts"]);
    assert!(
        ignored.status.success() && stdout(&ignored).contains("failed in 2 of 2 runs"),
        "{}",
        stdout(&ignored)
    );
}

#[test]
fn a_limit_on_growth_fails_what_is_certainly_slower() {
    let place = Place::new();
    let raced = |head| {
        place.run(&[
            "race",
            "true",
            "--versus",
            head,
            "--runs",
            "6",
            "--no-counts",
            "--fail-over",
            "50%",
        ])
    };
    let slower = raced("sleep 0.3");
    expect_status(&slower, 1);
    assert!(
        stderr(&slower).contains("'sleep 0.3' is slower by more than 50%"),
        "{}",
        stderr(&slower)
    );
    let few = place.run(&[
        "race",
        "true",
        "--versus",
        "true",
        "--runs",
        "2",
        "--no-counts",
        "--fail-over",
        "50%",
    ]);
    expect_status(&few, 2);
}

/// Whether a process has this command line.
pub fn runs(command: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines
        .into_iter()
        .any(|line| line.trim_end_matches('\0').replace('\0', " ") == command)
}

/// Starts it, and ends it with `signal` as soon as `command` runs.
fn interrupted_by(signal: Signal, arguments: &[&str], command: &str, later: Duration) -> Output {
    let place = Place::new();
    let job = place.start(arguments);
    assert!(wait_for(|| runs(command).then_some(())).is_some());
    std::thread::sleep(later);
    kill(job.pid(), signal).unwrap();
    let output = job.output();
    expect_status(&output, 130);
    assert!(!runs(command));
    output
}

fn interrupted(arguments: &[&str], command: &str, later: Duration) -> Output {
    interrupted_by(Signal::SIGTERM, arguments, command, later)
}

/// While it is counted and while it is timed, also of one that is stopped, with what it has started.
#[test]
fn each_signal_ends_the_command_and_the_race() {
    for signal in [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ] {
        interrupted_by(
            signal,
            &["race", "sleep 60.75", "--warmup", "0"],
            "sleep 60.75",
            Duration::ZERO,
        );
        let stopped = [
            "race",
            "--shell",
            "sleep 60.875 & kill -STOP $$; :",
            "--end-left",
        ];
        interrupted_by(signal, &stopped, "sleep 60.875", Duration::from_millis(100));
    }
}

/// Ends the processes with this command line, once there are `most` or after a while; how many there were.
fn killed(command: &str, most: usize) -> usize {
    let pids = || Some(pids(command)).filter(|pids| pids.len() >= most);
    let pids = wait_for(pids).unwrap_or_default();
    pids.iter()
        .for_each(|pid| kill(Pid::from_raw(*pid), Signal::SIGKILL).unwrap());
    pids.len()
}

fn pids(command: &str) -> Vec<i32> {
    let of = |entry: &std::fs::DirEntry| {
        std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()
    };
    let found = std::fs::read_dir("/proc").unwrap().flatten();
    let found =
        found.filter(|entry| of(entry).trim_end_matches('\0').replace('\0', " ") == command);
    found
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// It lives for longer than this test may take.
#[test]
fn what_a_command_leaves_running_is_not_waited_for_and_named() {
    let place = Place::new();
    let race = |code: &str, more: &[&str]| {
        let words = [
            &[
                "race", "--shell", code, "--versus", "true", "--runs", "3", "--warmup", "0",
            ],
            more,
        ]
        .concat();
        let raced = place.run(&words);
        (stdout(&raced), stderr(&raced))
    };
    let (shown, said) = race("setsid sleep 3600.125 & sleep 3600.125 &", &[]);
    // In three rounds, and when it was counted.
    assert!(
        killed("sleep 3600.125", 2 * (3 + 1)) >= 2 * (3 + 1),
        "{shown}{said}"
    );
    assert!(
        shown.contains("leaves processes running ("),
        "{shown}{said}"
    );
    let (shown, said) = race("setsid sleep 3600.25 & sleep 3600.25 &", &["--end-left"]);
    assert_eq!(killed("sleep 3600.25", 0), 0);
    assert!(shown.contains("leaves processes running"), "{shown}{said}");
    // What prepares a command may have to go on running.
    let (shown, said) = race(
        "true",
        &["--prepare", "sleep 3600.5 &", "--end-left", "--no-counts"],
    );
    assert_eq!(killed("sleep 3600.5", 2 * 3), 2 * 3, "{shown}{said}");
}

/// As an ordinary user, whom a tracer takes the privilege.
#[test]
fn what_gains_privileges_is_timed_with_them_and_not_counted_without() {
    let place = Place::new();
    if !geteuid().is_root() {
        return skip("making one needs root");
    }
    let program = place.path().join("id");
    assert!(
        Command::new("install")
            .args(["-m", "4755", "/usr/bin/id"])
            .arg(&program)
            .status()
            .unwrap()
            .success()
    );
    let (program, race) = (
        program.to_str().unwrap(),
        ["--versus", "true", "--runs", "2", "--format", "json"],
    );
    let raced = place
        .command_as_nobody(&[&["race", program], &race[..]].concat())
        .output()
        .unwrap();
    let found = json(&raced);
    let why = found["results"][0]["not_counted"]
        .as_str()
        .unwrap_or_else(|| panic!("{found:#}{}", stderr(&raced)));
    assert!(
        why.contains("traced, it ran without that privilege; root can count it"),
        "{why}"
    );
    assert_eq!(found["versus"][0]["calls"], Value::Null, "{found:#}");
}

/// A limit on the size of files, as a full disk would be.
#[test]
fn what_cannot_be_written_leaves_the_earlier_file() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_syscost");
    let written = place.path().join("kept");
    for command in [
        "race true --runs 2 --no-counts --out kept",
        "trace --tracer ptrace --report kept -- ls / /usr /usr/lib",
    ] {
        std::fs::write(&written, "as it was").unwrap();
        let code = format!("ulimit -f 0; exec {program} {command} >&2");
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &code])
            .current_dir(place.path())
            .env("TMPDIR", "/dev/shm");
        let output = limited.output().unwrap();
        assert!(!output.status.success(), "{command}: {}", stderr(&output));
        assert_eq!(
            std::fs::read_to_string(&written).unwrap(),
            "as it was",
            "{command}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn an_interrupt_ends_the_command_and_shows_the_complete_rounds() {
    let words = [
        "race",
        "true",
        "--versus",
        "sleep 6000.25",
        "--warmup",
        "0",
        "--no-counts",
    ];
    assert_eq!(
        stdout(&interrupted(&words, "sleep 6000.25", Duration::ZERO)),
        "",
        "there is none"
    );
    let words = [
        "race",
        "true",
        "--versus",
        "sleep 0.0625",
        "--warmup",
        "0",
        "--no-counts",
        "--runs",
        "100000",
    ];
    let shown = stdout(&interrupted(&words, "sleep 0.0625", Duration::from_secs(1)));
    assert!(
        shown.contains("in random order, then interrupted"),
        "{shown}"
    );
}

#[test]
fn a_kill_ends_the_command() {
    let place = Place::new();
    let job = place.start(&["race", "sleep 6000.5", "--warmup", "0", "--no-counts"]);
    assert!(wait_for(|| runs("sleep 6000.5").then_some(())).is_some());
    kill(job.pid(), Signal::SIGKILL).unwrap();
    job.output();
    assert!(wait_for(|| (!runs("sleep 6000.5")).then_some(())).is_some());
}
