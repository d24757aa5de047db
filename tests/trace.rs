//! `syscost trace`: exact counts of trees that do what is hard to follow, what ends badly, and who is left behind.

mod common;

use common::{Job, Place, is_traced, json, skip, stderr, stdout, wait_for};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// Every tracer that this machine allows, as arguments.
const TRACERS: [&[&str]; 3] =
    [&["--tracer", "ptrace"], &["--tracer", "ptrace", "--counts"], &["--tracer", "perf", "--calls", "getppid"]];

/// The program of tests/trace/tree.c in `place`.
fn helper(place: &Place) -> PathBuf {
    build(place, "tree", &[]).expect("cc builds tests/trace/tree.c")
}

fn build(place: &Place, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let (program, source) = (place.tmp().join(name), concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/tree.c"));
    let mut command = Command::new("cc");
    command.args(flags).args(["-O1", "-w", "-pthread", "-o"]).arg(&program).arg(source).stderr(Stdio::null());
    command.status().unwrap().success().then_some(program)
}

/// Runs `words` under the tracer of `options`, with the table as JSON in a file, which is returned beside the output.
fn trace(place: &Place, options: &[&str], words: &[&str]) -> (Output, Value) {
    let report = place.path().join("report.json");
    let arguments = arguments(options, &report, words);
    let output = place.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let text = fs::read(&report).unwrap_or_default();
    let document = serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    (output, document)
}

fn arguments(options: &[&str], report: &Path, words: &[&str]) -> Vec<String> {
    let report = ["--format", "json", "--report", report.to_str().unwrap()];
    let all = ["trace"].iter().chain(options).chain(&report).chain(&["--"]).chain(words);
    all.map(|word| (*word).to_string()).collect()
}

fn call<'a>(document: &'a Value, name: &str) -> &'a Value {
    let calls = document["calls"].as_array().unwrap();
    calls.iter().find(|call| call["name"] == name).unwrap_or(&Value::Null)
}

fn count(document: &Value, name: &str) -> u64 {
    call(document, name)["calls"].as_u64().unwrap_or(0)
}

/// Whether this machine lets us use a tracer; says so where not.
fn is_possible(test: &str, options: &[&str]) -> bool {
    let possible =
        !options.contains(&"perf") || (geteuid().is_root() && Path::new("/sys/kernel/tracing/events").exists());
    if !possible {
        skip(test, "perf's tracepoints need root and tracefs");
    }
    possible
}

#[test]
fn twenty_thousand_calls_of_a_tree_are_twenty_thousand() {
    let place = Place::new();
    let tree = helper(&place);
    for options in TRACERS.iter().filter(|options| is_possible("exact counts", options)) {
        for _ in 0..10 {
            let (output, document) = trace(&place, options, &[tree.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
            assert_eq!(count(&document, "getppid"), 20_000, "{options:?}");
        }
    }
}

#[test]
fn each_fork_is_followed_and_its_orphans_are_waited_for() {
    let place = Place::new();
    let tree = helper(&place);
    let (_, document) = trace(&place, TRACERS[0], &[tree.to_str().unwrap()]);
    // The command, four of its children by fork with an orphan each of two, one by vfork, one by posix_spawn.
    assert_eq!(document["usage"]["processes"], 10, "{document:#}");
    assert_eq!(document["usage"]["threads"], 3);
    assert_eq!(count(&document, "execve"), 5);
    assert_eq!(count(&document, "exit_group"), 10);
}

#[test]
fn ten_thousand_forks() {
    let place = Place::new();
    let tree = helper(&place);
    for options in TRACERS.iter().filter(|options| is_possible("10,000 forks", options)) {
        let (output, document) = trace(&place, options, &[tree.to_str().unwrap(), "forks", "10000"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(count(&document, "getppid"), 10_000, "{options:?}");
    }
}

#[test]
fn calls_have_classes_and_errors() {
    let place = Place::new();
    let tree = helper(&place);
    let (_, document) = trace(&place, TRACERS[0], &[tree.to_str().unwrap(), "classes"]);
    let of = |name: &str, key: &str, value: Value| -> u64 {
        let classes = call(&document, name)["classes"].as_array().unwrap();
        let matching = classes.iter().filter(|class| class[key] == value && class["size"] != 512);
        matching.map(|class| class["calls"].as_u64().unwrap()).sum()
    };
    let kinds = ["pipe", "device", "no fd"].map(|kind| of("read", "descriptor", kind.into()));
    assert_eq!(kinds, [10, 10, 7], "{document:#}");
    assert_eq!(of("access", "depth", 3.into()), 5, "{document:#}");
    assert_eq!(call(&document, "read")["errors"]["EBADF"], 7);
    assert_eq!(call(&document, "access")["errors"]["ENOENT"].as_u64().unwrap() % 6, 0);
    let sleep = call(&document, "clock_nanosleep");
    assert!(sleep["blocked_ns"].as_u64().unwrap() >= 40_000_000, "{sleep:#}");
    assert!(sleep["on_cpu_ns"].as_u64().unwrap() < 40_000_000, "{sleep:#}");
}

#[test]
fn signals_and_stops_pass_through() {
    let place = Place::new();
    let tree = helper(&place);
    for options in TRACERS.iter().filter(|options| is_possible("signals", options)) {
        let (output, document) = trace(&place, options, &[tree.to_str().unwrap(), "signals"]);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        assert_eq!(count(&document, "getppid"), 10);
    }
}

#[test]
fn counts_are_those_of_strace() {
    let place = Place::new();
    let log = place.path().join("strace.txt");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o"]).arg(&log).args(["ls", "-lR", "/usr/include/linux"]).stdin(Stdio::null());
    if !strace.output().is_ok_and(|output| output.status.success()) {
        return skip("counts are those of strace", "strace cannot be used here");
    }
    let (_, document) = trace(&place, TRACERS[0], &["ls", "-lR", "/usr/include/linux"]);
    let text = fs::read_to_string(log).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let rows =
        rows.iter().filter(|row| row.len() >= 5 && row[3].parse::<u64>().is_ok() && row.last() != Some(&"total"));
    let mut compared = 0;
    for row in rows {
        assert_eq!(count(&document, row[row.len() - 1]).to_string(), row[3], "{row:?}");
        compared += 1;
    }
    assert!(compared > 10, "{text}");
}

#[test]
fn standard_input_and_output_are_the_commands() {
    let place = Place::new();
    let mut command = place.command(&["trace", "--tracer", "ptrace", "cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), "through\n");
    assert!(stderr(&output).contains("getrandom") && stderr(&output).contains("syscost: tracer: ptrace, about"));
}

#[test]
fn the_exit_status_is_the_commands() {
    let place = Place::new();
    let tree = helper(&place);
    let status = |words: &[&str]| trace(&place, TRACERS[0], words).0.status.code();
    assert_eq!(status(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(status(&[tree.to_str().unwrap(), "killed"]), Some(128 + 9));
    let script = place.path().join("script");
    fs::write(&script, "exit 5\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(status(&[script.to_str().unwrap()]), Some(5));
}

#[test]
fn a_command_that_cannot_be_run_is_told_as_env_tells_it() {
    let place = Place::new();
    for options in TRACERS.iter().filter(|options| is_possible("a command that is not there", options)) {
        let words = ["trace"].iter().chain(*options);
        let missing = place.run(&words.clone().chain(&["--", "nosuch"]).copied().collect::<Vec<_>>());
        assert_eq!(missing.status.code(), Some(127));
        let expected = "syscost: trace: cannot run 'nosuch': No such file or directory (ENOENT)\n";
        assert_eq!(stderr(&missing), expected);
        let directory = place.run(&words.chain(&["--", "/"]).copied().collect::<Vec<_>>());
        assert_eq!(directory.status.code(), Some(126));
        assert!(stderr(&directory).contains("syscost: trace: cannot run '/': Permission denied (EACCES)\n"));
    }
}

#[test]
fn a_question_that_makes_no_sense_is_a_usage_error() {
    let place = Place::new();
    let many: Vec<String> = (0..21).map(|n| format!("call{n}")).collect();
    for (arguments, expected) in [
        (vec!["trace", "--tracer", "perf", "true"], "--calls"),
        (vec!["trace", "--calls", "read", "true"], "--tracer perf"),
        (vec!["trace", "-o", "/nosuch/file", "true"], "-o /nosuch/file"),
        (vec!["trace", "--for", "1", "true"], "--pid"),
        (vec!["trace"], "COMMAND"),
    ] {
        let output = place.run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let output = place.run(&["trace", "--tracer", "perf", "--calls", &many.join(","), "true"]);
    assert!(stderr(&output).contains("21 calls are named, at most 20"), "{}", stderr(&output));
    let output = place.run(&["trace", "-p", "2147483646"]);
    assert_eq!((output.status.code(), stderr(&output).contains("no process 2147483646")), (Some(1), true));
}

#[test]
fn programs_of_another_architecture_have_its_names() {
    let place = Place::new();
    let Some(program) = build(&place, "tree32", &["-m32"]) else {
        return skip("a 32-bit program", "cc builds none");
    };
    for options in &TRACERS[..2] {
        let (output, document) = trace(&place, options, &[program.to_str().unwrap(), "leaf", "500"]);
        assert_eq!(count(&document, "getppid"), 500, "{}", stderr(&output));
        assert!(stderr(&output).contains("is a program for i386"), "{}", stderr(&output));
    }
}

#[test]
fn a_set_user_id_program_runs_without_its_privilege_and_that_is_said() {
    let test = "a set-user-ID program";
    let place = Place::new();
    if !geteuid().is_root() {
        return skip(test, "making one needs root");
    }
    let program = helper(&place);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let mut alone = Command::new(&program);
    std::os::unix::process::CommandExt::uid(&mut alone, 65534);
    if stdout(&alone.arg("euid").output().unwrap()) != "0\n" {
        return skip(test, "the file system ignores the bit");
    }
    for options in &TRACERS[..2] {
        let command = ["--", program.to_str().unwrap(), "euid"];
        let words = ["trace"].iter().chain(*options).chain(&command);
        let output = place.command_as_nobody(&words.copied().collect::<Vec<_>>()).output().unwrap();
        assert_eq!(stdout(&output), "65534\n", "{}", stderr(&output));
        assert!(stderr(&output).contains("ran without that privilege"), "{}", stderr(&output));
    }
}

#[test]
fn an_ordinary_user_gets_a_tracer_without_asking() {
    let place = Place::new();
    let run = |command: &mut Command| command.output().unwrap();
    let output = match geteuid().is_root() {
        true => run(&mut place.command_as_nobody(&["trace", "true"])),
        false => run(&mut place.command(&["trace", "true"])),
    };
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("syscost: tracer: ptrace"), "{}", stderr(&output));
}

#[test]
fn under_sudo_the_command_is_the_callers() {
    if !geteuid().is_root() {
        return skip("the user of sudo", "becoming another user needs root");
    }
    let place = Place::new();
    let run = |more: &[&str]| {
        let words = ["trace", "--tracer", "ptrace"].iter().chain(more).chain(&["--", "sh", "-c", "id -u; echo $USER"]);
        let mut command = place.command(&words.copied().collect::<Vec<_>>());
        command.env("SUDO_UID", "65534").env("SUDO_GID", "65534").output().unwrap()
    };
    let output = run(&[]);
    assert_eq!(stdout(&output), "65534\nnobody\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("; the command runs as nobody\n"), "{}", stderr(&output));
    assert!(stdout(&run(&["--user", "root"])).starts_with("0\n"));
    let unknown = run(&["--user", "no-such-user"]);
    assert!(stderr(&unknown).contains("--user no-such-user: no such user"), "{}", stderr(&unknown));
}

#[test]
fn a_full_disk_is_told_and_the_table_is_shown() {
    let place = Place::new();
    let output = place.run(&["trace", "--tracer", "ptrace", "-o", "/dev/full", "true"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("/dev/full") && text.contains("No space left"), "{text}");
    assert!(text.contains("execve"), "{text}");
    let output = place.run(&["trace", "--tracer", "ptrace", "--report", "/dev/full", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--report /dev/full"), "{}", stderr(&output));
}

#[test]
fn the_profile_can_be_shown_again() {
    let place = Place::new();
    let output = place.run(&["trace", "--tracer", "ptrace", "-o", "p.json", "sh", "-c", "exit 3"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let shown = place.run(&["show", "p.json", "--format", "json"]);
    assert_eq!(json(&shown)["schema"], "syscost.profile-summary/1");
    assert_eq!(count(&json(&shown), "execve"), 1);
}

/// A helper that runs until it is ended, and the number that it says of itself.
struct Endless {
    child: Child,
    pid: Pid,
}

impl Endless {
    fn of(mut command: Command) -> Endless {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Endless { pid: Pid::from_raw(line.trim().parse().unwrap()), child }
    }

    fn traced(place: &Place, options: &[&str], words: &[&str]) -> Endless {
        let words = ["trace", "-o", "p.json"].iter().chain(options).chain(&["--"]).chain(words);
        Endless::of(place.command(&words.copied().collect::<Vec<_>>()))
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = killpg(self.group(), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn runs(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("State:") && !status.contains("State:\tZ") && !status.contains("State:\tX")
}

#[test]
fn a_process_that_runs_is_traced_for_a_time_and_goes_on() {
    let place = Place::new();
    let tree = helper(&place);
    let mut command = Command::new(&tree);
    command.arg("endless");
    let endless = Endless::of(command);
    let output =
        place.run(&["trace", "-p", &endless.pid.to_string(), "--for", "0.5", "--tracer", "ptrace", "--format", "csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).lines().any(|line| line.starts_with("getppid,")), "{}", stderr(&output));
    assert!(runs(endless.pid));
    assert_eq!(is_traced(endless.pid.as_raw()), Some(false));
}

#[test]
fn one_that_is_traced_already_is_told() {
    let place = Place::new();
    let tree = helper(&place);
    let endless = Endless::traced(&place, TRACERS[0], &[tree.to_str().unwrap(), "endless"]);
    let output = place.run(&["trace", "--tracer", "ptrace", "-p", &endless.pid.to_string()]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!("process {} is traced already, by process {} (syscost)", endless.pid, endless.group());
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

#[test]
fn when_the_tracer_is_killed_the_command_goes_on_untraced() {
    let place = Place::new();
    let tree = helper(&place);
    let mut endless = Endless::traced(&place, TRACERS[0], &[tree.to_str().unwrap(), "endless"]);
    kill(endless.group(), Signal::SIGKILL).unwrap();
    endless.child.wait().unwrap();
    assert!(runs(endless.pid));
    assert_eq!(is_traced(endless.pid.as_raw()), Some(false));
}

#[test]
fn when_the_tracer_with_a_filter_is_killed_the_command_ends() {
    let place = Place::new();
    let tree = helper(&place);
    let mut endless = Endless::traced(&place, TRACERS[1], &[tree.to_str().unwrap(), "endless"]);
    kill(endless.group(), Signal::SIGKILL).unwrap();
    endless.child.wait().unwrap();
    assert!(wait_for(PATIENCE, || (!runs(endless.pid)).then_some(())).is_some());
}

#[test]
fn an_interrupt_ends_the_command_and_the_profile_is_written() {
    let place = Place::new();
    let tree = helper(&place);
    for options in &TRACERS[..2] {
        let mut endless = Endless::traced(&place, options, &[tree.to_str().unwrap(), "endless"]);
        killpg(endless.group(), Signal::SIGINT).unwrap();
        assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 2));
        let shown = place.run(&["show", "p.json", "--format", "json"]);
        assert!(count(&json(&shown), "getppid") > 0, "{}", stderr(&shown));
    }
}

#[test]
fn sigterm_to_the_tracer_is_passed_on() {
    let place = Place::new();
    let tree = helper(&place);
    let mut endless = Endless::traced(&place, TRACERS[0], &[tree.to_str().unwrap(), "endless"]);
    kill(endless.group(), Signal::SIGTERM).unwrap();
    assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn a_second_interrupt_stops_waiting_for_stragglers() {
    let place = Place::new();
    let tree = helper(&place);
    let mut endless = Endless::traced(&place, TRACERS[0], &[tree.to_str().unwrap(), "straggler"]);
    let (group, pid) = (endless.group(), endless.pid);
    killpg(group, Signal::SIGINT).unwrap();
    assert!(wait_for(PATIENCE, || (!runs(pid)).then_some(())).is_some());
    assert_eq!(endless.child.try_wait().unwrap(), None);
    killpg(group, Signal::SIGINT).unwrap();
    assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 2));
    let shown = json(&place.run(&["show", "p.json", "--format", "json"]));
    assert_eq!(shown["complete"], false, "{shown:#}");
    let mut left = place.processes();
    left.retain(|process| process.group == group.as_raw());
    assert!(left.len() == 1 && !left[0].traced, "{left:?}");
}

#[test]
fn nothing_is_left_in_the_place_of_a_trace() {
    let place = Place::new();
    let job: Job = place.start(&["trace", "--tracer", "ptrace", "true"]);
    let output = job.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((place.processes().len(), place.left_behind()), (0, Vec::<PathBuf>::new()));
}
