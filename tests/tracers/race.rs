//! Whole commands against each other.

use crate::common::{Place, expect_valid, json, skip, stderr, stdout, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::geteuid;
use serde_json::Value;
use std::process::Output;
use std::time::Duration;

/// One program reads as many bytes with a sixteenth of the calls.
const MANY: &str = "dd if=/dev/zero of=/dev/null bs=64 count=16000";
const FEW: &str = "dd if=/dev/zero of=/dev/null bs=1024 count=1000";

#[test]
fn the_calls_that_changed_are_the_reason() {
    let place = Place::new();
    let raced = place.run(&["race", MANY, "--versus", FEW, "--runs", "7", "--format", "json", "--out", "race.json"]);
    assert!(raced.status.success(), "{}", stderr(&raced));
    expect_valid("race-1", &json(&raced).to_string());
    assert_eq!(std::fs::read_to_string(place.path().join("race.json")).unwrap(), stdout(&raced));
    let kept = place.printed(&["show", "race.json"]);
    assert!(kept.contains("time ratio") && kept.contains("calls differ, "), "{kept}");
    place.printed(&["report", "race.json", "-o", "race.html"]);
    let found = json(&raced);
    let result = &found["results"][1];
    assert_eq!((result["command"].as_str(), result["times"].as_array().map(Vec::len)), (Some(FEW), Some(7)));
    assert!(result["exit_codes"].as_array().unwrap().iter().all(|status| status == 0), "{result:#}");
    let versus = &found["versus"][0];
    let rows = versus["calls"]["rows"].as_array().unwrap_or_else(|| panic!("{result:#}"));
    for name in ["read", "write"] {
        let row = rows.iter().find(|row| row["call"] == name).unwrap();
        let calls = |side: usize| row["counts"][side]["calls"]["median"].as_u64().unwrap();
        assert_eq!(calls(0) - calls(1), 15_000, "{row:#}");
    }
    let shown = place.run(&["race", MANY, "--versus", FEW, "--runs", "7"]);
    let text = stdout(&shown);
    for part in ["time ratio", "7 rounds in random order", "-15,000 (x", "calls differ, "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Without eBPF calls are counted and not timed: unit costs price them.
#[test]
fn an_ordinary_user_gets_counts_and_prices() {
    let place = Place::new();
    if !geteuid().is_root() {
        return skip("an_ordinary_user", "becoming one needs root");
    }
    std::fs::create_dir(place.path().join("state")).unwrap();
    std::os::unix::fs::chown(place.path().join("state"), Some(65534), Some(65534)).unwrap();
    let words = ["race", MANY, "--versus", FEW, "--runs", "7", "--format", "json"];
    let raced = place.command_as_nobody(&words).output().unwrap();
    assert!(raced.status.success(), "{}", stderr(&raced));
    expect_valid("race-1", &json(&raced).to_string());
    let versus = &json(&raced)["versus"][0];
    assert_eq!(versus["calls"]["columns"][0]["tracer"], "ptrace", "{versus:#}");
    let explained = versus["explained"]["seconds"].as_f64().unwrap();
    let range = versus["explained"]["range"].as_array().unwrap();
    assert!(
        explained < 0.0 && range[0].as_f64() <= Some(explained) && Some(explained) <= range[1].as_f64(),
        "{versus:#}"
    );
}

#[test]
fn parameters_preparation_and_a_shell() {
    let place = Place::new();
    let commands = ["--shell", "test -e made && wc -c < made", "-P", "size=1,x", "--prepare", "echo {size} > made"];
    let raced = place.run(&[&["race", "--runs", "1", "--no-counts", "--format", "json"], &commands[..]].concat());
    assert!(raced.status.success(), "{}", stderr(&raced));
    let found = json(&raced);
    let parameters: Vec<&str> =
        found["results"].as_array().unwrap().iter().map(|own| own["parameters"]["size"].as_str().unwrap()).collect();
    assert_eq!(parameters, ["1", "x"]);
    assert_eq!((&found["versus"][0]["wall"], &found["versus"][0]["head"]), (&Value::Null, &Value::from(1)));
    assert_eq!(std::fs::read_to_string(place.path().join("made")).unwrap().len(), 2);
}

#[test]
fn failures_are_errors_unless_they_are_asked_for() {
    let place = Place::new();
    let cases: [(&[&str], i32, &str); 7] = [
        (&["false"], 1, "'false' failed with status 1"),
        (&["true", "--prepare", "exit 3"], 1, "--prepare failed with status 3"),
        (&["/nonexistent"], 127, "/nonexistent"),
        (&["ls | wc"], 2, "add --shell"),
        (&["true", "-P", "n=1"], 2, "no command has {n}"),
        (&["true", "--out", "/nonexistent/race.json"], 2, "/nonexistent/race.json"),
        (&[], 2, "COMMAND"),
    ];
    place.refuses(&["race"], &cases);
    let ignored = place.run(&["race", "false", "-i", "--runs", "2", "--no-counts"]);
    assert!(ignored.status.success() && stdout(&ignored).contains("failed in 2 of 2 runs"), "{}", stdout(&ignored));
}

#[test]
fn a_limit_on_growth_fails_what_is_certainly_slower() {
    let place = Place::new();
    let raced =
        |head| place.run(&["race", "true", "--versus", head, "--runs", "6", "--no-counts", "--fail-over", "50%"]);
    let slower = raced("sleep 0.3");
    assert_eq!(slower.status.code(), Some(1), "{}", stdout(&slower));
    assert!(stderr(&slower).contains("'sleep 0.3' takes longer by more than 50%"), "{}", stderr(&slower));
    let few = place.run(&["race", "true", "--versus", "true", "--runs", "2", "--no-counts", "--fail-over", "50%"]);
    assert_eq!(few.status.code(), Some(2), "{}", stderr(&few));
}

/// Whether a process has this command line.
pub fn runs(command: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.trim_end_matches('\0').replace('\0', " ") == command)
}

/// Starts it, and ends it with SIGTERM as soon as `command` runs.
fn interrupted(arguments: &[&str], command: &str, later: Duration) -> Output {
    let place = Place::new();
    let job = place.start(arguments);
    assert!(wait_for(|| runs(command).then_some(())).is_some());
    std::thread::sleep(later);
    kill(job.pid(), Signal::SIGTERM).unwrap();
    let output = job.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(!runs(command));
    output
}

#[test]
fn an_interrupt_ends_the_command_and_shows_the_complete_rounds() {
    let words = ["race", "true", "--versus", "sleep 6000.25", "--warmup", "0", "--no-counts"];
    assert_eq!(stdout(&interrupted(&words, "sleep 6000.25", Duration::ZERO)), "", "there is none");
    let words = ["race", "true", "--versus", "sleep 0.0625", "--warmup", "0", "--no-counts", "--runs", "100000"];
    let shown = stdout(&interrupted(&words, "sleep 0.0625", Duration::from_secs(1)));
    assert!(shown.contains("in random order, then interrupted"), "{shown}");
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
