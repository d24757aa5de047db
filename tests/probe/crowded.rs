//! Runs that need much at once, and runs that share a CPU.

use crate::common::{Place, expect_status, json, skip, stderr, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::geteuid;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// `command`, which has no arguments, in a shell that has set limits first.
fn limited(limits: &str, command: &Command, arguments: &[&str]) -> Output {
    shell(limits, command, arguments).output().unwrap()
}

fn shell(limits: &str, command: &Command, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{limits} && exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(arguments);
    shell
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

const NOBODY: u32 = 65534;
const MANY: [&str; 8] = [
    "run",
    "file.lstat",
    "--param",
    "depth=1..16",
    "--time",
    "0.5",
    "--no-verify",
    "--quiet",
];

#[test]
fn what_a_limit_forbids_is_refused_before_it_is_begun() {
    let place = Place::new();
    let output = limited("ulimit -n 60", &place.command(&[]), &MANY);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("syscost: 28 cases need ") && said.lines().count() == 1,
        "{said}"
    );
    assert!(
        said.contains(
            " open files, and the limit is 60: name fewer cases, or raise it with 'ulimit -Hn "
        ),
        "{said}"
    );
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_low_limit_of_processes_is_told() {
    let place = Place::new();
    let wide = MANY.map(|word| word.replace("1..16", "1..200+1"));
    let arguments: Vec<&str> = wide.iter().map(String::as_str).collect();
    // Root has no such limit.
    let is_root = geteuid().is_root();
    let command = if is_root {
        place.command_as_nobody(&[])
    } else {
        place.command(&[])
    };
    let mut shell = shell(
        "ulimit -u 211 2>/dev/null || ulimit -p 211",
        &command,
        &arguments,
    );
    if is_root {
        shell.uid(NOBODY).gid(NOBODY);
    }
    let output = shell.output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("syscost: 212 cases need 212 processes, and the limit leaves 211: "),
        "{said}"
    );
}

#[test]
fn a_soft_limit_is_raised_for_the_driver_and_not_for_workers() {
    if Command::new("cc").arg("--version").output().is_err() {
        return skip("there is no C compiler");
    }
    let place = Place::new();
    let check = [
        "c:getppid()",
        "--prelude",
        "c:#include <sys/resource.h>",
        "--setup",
        "c:struct rlimit r; if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur != 40) return 9;",
        "--format",
        "json",
    ];
    let output = limited(
        "ulimit -S -n 40",
        &place.command(&[]),
        &[&MANY[..], &check].concat(),
    );
    expect_status(&output, 0);
    let records = json(&output)["records"].as_array().unwrap().len();
    assert_eq!(records, 16 + 1, "all were measured at once");
    // The check itself can fail.
    let other = limited(
        "ulimit -S -n 50",
        &place.command(&[]),
        &[&MANY[..], &check].concat(),
    );
    expect_status(&other, 3);
}

#[test]
fn runs_on_one_cpu_know_of_each_other() {
    let place = Place::new();
    let arguments = [
        "run",
        "id.getppid",
        "--no-verify",
        "--quiet",
        "--precision",
        "0.0001",
        "--format",
        "json",
    ];
    let first = place.start(&[&arguments[..], &["--time", "600"]].concat());
    let measures = || {
        (place
            .processes()
            .iter()
            .filter(|process| process.worker.is_some())
            .count()
            >= 4)
            .then_some(())
    };
    wait_for(measures).expect("the first run has not begun");
    let second = json(&place.run(&[&arguments[..], &["--time", "0.2"]].concat()));
    kill(first.pid(), Signal::SIGINT).unwrap();
    for run in [second, json(&first.output())] {
        let warnings = run["warnings"].to_string();
        assert!(
            warnings.contains(": another syscost run measured on it at the same time: "),
            "{warnings}"
        );
    }
    let anywhere =
        json(&place.run(&[&arguments[..], &["--time", "0.2", "--cpu", "none"]].concat()));
    assert!(
        !anywhere["warnings"]
            .to_string()
            .contains("another syscost run")
    );
}
