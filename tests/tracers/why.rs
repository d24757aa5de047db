//! Where the time of a program goes, in one command.

use crate::common::{Place, expect_valid, json, skip, stderr, stdout, wait_for};
use std::process::{Command, Output};

/// One system call for each byte.
const READS: [&str; 5] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000"];

const KEPT: &str = "unit costs: measured earlier";

fn why(place: &Place, arguments: &[&str]) -> Output {
    place.run(&[&["why", "--time", "1"], arguments].concat())
}

/// Out of sight of what other tests trace, where that is permitted: nothing is kept meanwhile.
fn why_alone(place: &Place, arguments: &[&str]) -> Output {
    let unshare = ["--pid", "--fork", "--mount-proc"];
    let permitted = Command::new("unshare").args(unshare).arg("true").output();
    if !permitted.is_ok_and(|done| done.status.success()) {
        return why(place, arguments);
    }
    let why = place.command(&[&["why", "--time", "1"], arguments].concat());
    let mut alone = Command::new("unshare");
    alone.args(unshare).arg(why.get_program()).args(why.get_args()).current_dir(place.path());
    alone.envs(why.get_envs().filter_map(|(name, value)| Some((name, value?)))).output().unwrap()
}

#[test]
fn a_program_is_explained_on_one_screen_and_its_unit_costs_are_kept() {
    let place = Place::new();
    let command = [&["--report", "-", "-o", "p.json", "--"], &READS[..]].concat();
    let first = why_alone(&place, &command);
    assert!(first.status.success(), "{}", stderr(&first));
    let screen = stdout(&first);
    for part in ["dd if=/dev/zero", "bare crossings", "System calls with most time", "What could be saved", "bs="] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(screen.lines().count() <= 48, "{screen}");
    assert!(!stderr(&first).contains(KEPT), "{}", stderr(&first));
    let attributed = place.run(&["attribute", "p.json", "--format", "json"]);
    expect_valid("attribution-3", &stdout(&attributed));
    assert!(json(&attributed)["here"]["calls"].to_string().contains("by_unit_cost_s\":{"), "{}", stdout(&attributed));
    let page = place.run(&["report", "p.json", "-o", "p.html"]);
    assert!(page.status.success(), "{}", stderr(&page));

    let again = || why_alone(&place, &[&["--report", "-", "--format", "json", "--"], &READS[..]].concat());
    let kept = || Some(again()).filter(|second| stderr(second).contains(KEPT));
    let second = wait_for(kept).expect("unit costs are kept");
    expect_valid("attribution-3", &stdout(&second));
    let calls = |name: &str| {
        let rows = json(&second)["here"]["calls"].as_array().unwrap().clone();
        rows.iter().find(|row| row["name"] == name).unwrap()["calls"].as_u64().unwrap()
    };
    assert!(calls("write") >= 20_000 && calls("read") >= 20_000);

    // Other calls need other unit costs.
    let third =
        why(&place, &["--report", "-", "--", "sh", "-c", "i=0; while [ $i -lt 3000 ]; do cd /; i=$((i+1)); done"]);
    assert!(third.status.success() && !stderr(&third).contains(KEPT), "{}", stderr(&third));
}

/// Those of calls that somebody traces would price the calls of later programs that nobody traces.
#[test]
fn unit_costs_that_were_measured_under_a_tracer_are_not_kept() {
    let place = Place::new();
    let program = place.command(&[]).get_program().to_owned();
    let mut strace = Command::new("strace");
    strace
        .args(["-o", "/dev/null"])
        .arg(program)
        .args(["why", "--time", "1", "--"])
        .args(READS)
        .current_dir(place.path());
    strace.env("TMPDIR", place.tmp()).env("XDG_STATE_HOME", place.path().join("state"));
    let Ok(done) = strace.output() else {
        return skip("unit_costs_that_were_measured_under_a_tracer_are_not_kept", "no strace");
    };
    assert!(done.status.success() && stderr(&done).contains("What could be saved"), "{}", stderr(&done));
    let kept = std::fs::read_dir(place.path().join("state/syscost/unit-costs")).into_iter().flatten();
    assert_eq!(kept.count(), 0, "{}", stderr(&done));
    assert!(!stderr(&why(&place, &[&["--"], &READS[..]].concat())).contains(KEPT));
}

#[test]
fn the_status_and_the_output_are_the_commands() {
    let place = Place::new();
    let done = why(&place, &["--", "sh", "-c", "echo own; exit 7"]);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(7), "own\n"), "{}", stderr(&done));
    assert!(stderr(&done).contains("What could be saved"), "{}", stderr(&done));
}

#[test]
fn environments_get_a_line_each() {
    let place = Place::new();
    let command = [&["--env", "seccomp", "--report", "-", "--"], &READS[..]].concat();
    let shown = stdout(&why(&place, &command));
    assert!(shown.lines().any(|line| line.contains("seccomp") && line.contains("Wall time")), "{shown}");
}

#[test]
fn mistakes_are_told_in_a_line() {
    let place = Place::new();
    let cases: [(&[&str], i32, &str); 5] = [
        (&["--", "/nonexistent"], 127, "/nonexistent"),
        (&["--env", "nosuch", "true"], 2, "nosuch"),
        (&["-o", "/nonexistent/p.json", "true"], 2, "/nonexistent/p.json"),
        (&["--for", "1", "true"], 2, "--for"),
        (&[], 2, "COMMAND"),
    ];
    place.refuses(&["why", "--time", "1"], &cases);
}
