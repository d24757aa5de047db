//! Where the time of a program goes, in one command.

use crate::common::{Place, expect_valid, json, stderr, stdout};

/// One system call for each byte.
const READS: [&str; 5] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000"];

#[test]
fn a_program_is_explained_on_one_screen() {
    let place = Place::new();
    let done = place.run(&[&["why", "--report", "-", "-o", "p.json", "--"], &READS[..]].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    let screen = stdout(&done);
    for part in
        ["dd if=/dev/zero", "If entering the kernel cost nothing", "System calls with most time", "What could be saved"]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(screen.lines().count() <= 48, "{screen}");
    let again = place.run(&["why", "p.json"]);
    assert_eq!((stdout(&again), stderr(&again)), (screen, String::new()), "the kept profile has the same screen");
    let document = json(&place.run(&["why", "p.json", "--format", "json"]));
    expect_valid("why-1", &document);
    let calls = |name: &str| {
        let rows = document["calls"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["calls"].as_u64().unwrap()
    };
    assert!(calls("write") >= 20_000 && calls("read") >= 20_000);
    assert!(document["entering"]["null_call_ns"].as_f64().is_some_and(|ns| ns > 5.0), "{document:#}");
    let page = place.run(&["report", "p.json", "-o", "p.html"]);
    assert!(page.status.success(), "{}", stderr(&page));
}

/// A parent that waits is not what takes the time.
#[test]
fn the_call_with_most_time_is_not_that_of_a_waiting_parent() {
    let place = Place::new();
    let done = place.run(&["why", "--report", "-", "--format", "json", "--", "sh", "-c", "sleep 0.3; true"]);
    let document = json(&done);
    let Some(wall_s) = document["time"]["wall_s"].as_f64() else { return };
    assert_eq!(document["calls"][0]["name"], "clock_nanosleep", "{document:#}");
    let parts = document["time"]["parts"].as_array().unwrap().iter();
    let sum: f64 = parts.filter_map(|part| part["wall_s"].as_f64()).sum();
    assert!((sum / wall_s - 1.0).abs() < 1e-6, "{document:#}");
}

#[test]
fn the_status_and_the_output_are_the_commands() {
    let place = Place::new();
    let done = place.run(&["why", "--", "sh", "-c", "echo own; exit 7"]);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(7), "own\n"), "{}", stderr(&done));
    assert!(stderr(&done).contains("What could be saved"), "{}", stderr(&done));
}

#[test]
fn a_command_is_raced_in_environments() {
    let place = Place::new();
    let done = place.run(&[&["why", "--env", "seccomp", "--report", "-", "--"], &READS[..]].concat());
    for part in ["What could be saved", "net ratio", "first ms", "seccomp: "] {
        assert!(stdout(&done).contains(part), "{part}: {}{}", stdout(&done), stderr(&done));
    }
}

#[test]
fn mistakes_are_told_in_a_line() {
    let place = Place::new();
    let own = std::process::id().to_string();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--env", "nosuch", "true"], 2, "nosuch"),
        (&["--env", "seccomp", "-p", &own, "--for", "1"], 2, "give a command in place of --pid"),
        (&["--", "/nonexistent"], 127, "/nonexistent"),
        (&["-o", "/nonexistent/p.json", "true"], 2, "/nonexistent/p.json"),
        (&["--for", "1", "true"], 2, "--for"),
        (&[], 2, "COMMAND"),
    ];
    place.refuses(&["why"], &cases);
}
