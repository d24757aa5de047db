//! `syscost trace` and what ends badly: commands that cannot run, tracers that are killed, interrupts, full disks. Each with its
//! message, and with nobody left attached.

use crate::common::*;
use crate::support;
use support::{TRACERS, count, helper};

#[test]
fn a_command_that_cannot_be_run_is_told_as_env_tells_it() {
    let place = Place::new();
    for options in TRACERS {
        let missing = place.run(("trace", options, "-- nosuch"));
        expect_status(&missing, 127);
        let expected = "syscost: cannot run 'nosuch': No such file or directory (ENOENT)\n";
        assert_eq!(stderr(&missing), expected);
        let directory = place.run(("trace", options, "-- /"));
        expect_error(
            &directory,
            126,
            "syscost: cannot run '/': Permission denied (EACCES)\n",
        );
    }
}

#[test]
fn a_question_that_makes_no_sense_is_a_usage_error() {
    let place = Place::new();
    place.refusals(
        "trace",
        "trace",
        &[
            "-o /nosuch/file true",
            "",
            "--all --cgroup /x",
            "-p 1 --user root",
            "-p 1,x",
            "--report /nosuch/file true",
        ],
    );
    let output = place.run("trace -p 2147483646");
    assert_eq!(
        (
            output.status.code(),
            stderr(&output).contains("-p 2147483646: no such process")
        ),
        (Some(1), true)
    );
}

#[test]
fn a_target_that_is_not_there_is_told_with_what_was_tried() {
    let place = Place::new();
    let refused = |arguments: &str| {
        let output = place
            .command(("trace --for 1", arguments))
            .env("PATH", place.path())
            .output();
        let output = output.unwrap();
        expect_status(&output, 1);
        stderr(&output)
    };
    let own = std::process::id().to_string();
    assert_eq!(
        refused(&format!("-p {own} -p 2147483646")),
        "syscost: -p 2147483646: no such process; 'ps -e' lists those that run\n"
    );
    let thread = std::thread::scope(|scope| {
        let thread = scope.spawn(|| refused(&format!("-p {}", nix::unistd::gettid())));
        thread.join().unwrap()
    });
    expect_in(
        &thread,
        &format!("a thread of process {own}: trace all its threads with -p {own}"),
    );
    let mut ended = Command::new("true").spawn().unwrap();
    let zombie =
        || Some(refused(&format!("-p {}", ended.id()))).filter(|text| text.contains("zombie"));
    assert!(wait_for(zombie).is_some());
    ended.wait().unwrap();
    // Where there is no cgroup2, both say so instead.
    let mounted = fs::read_to_string("/proc/self/mounts")
        .unwrap()
        .contains(" cgroup2 ");
    let group = refused("--cgroup no/such/group");
    assert_eq!(
        group.contains("--cgroup no/such/group: there is no such control group (looked for /"),
        mounted,
        "{group}"
    );
    let container = refused("--container nosuch");
    let tried = "--container nosuch: not found (podman: not installed; docker: not installed; nerdctl: not installed; crictl:";
    assert_eq!(container.contains(tried), mounted, "{container}");
    // Managers that fail are told with their own words.
    let docker = place.path().join("docker");
    write_program(
        &docker,
        "#!/bin/sh\necho 'error: no such object: nosuch' >&2\nexit 1\n",
    );
    let container = refused("--container nosuch");
    assert_eq!(
        container.contains("docker: error: no such object: nosuch;"),
        mounted,
        "{container}"
    );
}

#[test]
fn of_the_shell_that_starts_it_the_tracer_is_no_part() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let trace = place.command("trace --tracer bpf --for 0.5 --format json --report r.json");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "\"$@\" -p $$; :", "sh"])
        .arg(trace.get_program())
        .args(trace.get_args());
    let done = shell.current_dir(place.path()).output().unwrap();
    expect_status(&done, 0);
    let document: Value = place.parsed("r.json");
    let calls: Vec<_> = list(&document["calls"])
        .iter()
        .map(|call| call["name"].as_str())
        .collect();
    assert_eq!(calls, [Some("wait4")], "the shell only waits: {document:#}");
}

#[test]
fn a_document_is_all_that_is_printed_and_a_report_may_follow_the_output() {
    let place = Place::new();
    let trace =
        |more: &str| place.run(("trace --tracer ptrace --format json", more, "-- echo said"));
    let alone = trace("");
    assert_eq!(stdout(&alone), "said\n");
    let document: Value = serde_json::from_str(&stderr(&alone)).unwrap();
    assert_eq!(document["schema"], "syscost.profile-summary/3");
    let after = trace("--report - --quiet");
    let text = stdout(&after);
    let (said, document) = text.split_once('\n').unwrap();
    assert_eq!((said, stderr(&after).as_str()), ("said", ""));
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(count(&document, "write"), 1);
}

#[test]
fn arguments_are_left_out_where_asked() {
    let place = Place::new();
    let kept = |more: &str| {
        let words = (
            "trace --tracer ptrace -o p.json",
            more,
            "-- true --token=secret",
        );
        let output = place.run(words);
        expect_status(&output, 0);
        (place.read("p.json"), stderr(&output))
    };
    let (whole, _) = kept("");
    expect_in(&whole, "--token=secret");
    let (file, table) = kept("--no-arguments");
    assert!(
        !file.contains("secret") && !table.contains("secret") && file.contains("\"true\""),
        "{file}"
    );
}

/// What this process writes is open in each child between its fork and its execve.
#[test]
fn programs_that_tests_write_can_be_executed_while_others_fork() {
    let place = Place::new();
    let (written, copied) = (place.path().join("written"), place.path().join("copied"));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let fork = || {
        while !is_over.load(relaxed) {
            Command::new("true").status().unwrap();
        }
    };
    let execute = || {
        for _ in 0..200 {
            write_program(&written, "#!/bin/sh\n");
            copy_program("/bin/true", &copied);
            let ended = [&written, &copied].map(|program| Command::new(program).status());
            if !ended
                .iter()
                .all(|status| status.as_ref().is_ok_and(|s| s.success()))
            {
                return Err(format!("{ended:?}"));
            }
        }
        Ok(())
    };
    let executed = std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(fork)));
        let executed = execute();
        is_over.store(true, relaxed);
        executed
    });
    assert_eq!(executed, Ok(()));
}

#[test]
fn a_full_disk_is_told_and_the_table_is_shown() {
    let place = Place::new();
    let output = place.run("trace --tracer ptrace -o /dev/full true");
    expect_status(&output, 1);
    let text = stderr(&output);
    expect_in(&text, ["/dev/full", "No space left"]);
    expect_in(&text, "execve");
    let output = place.run("trace --tracer ptrace --report /dev/full true");
    expect_error(&output, 1, "--report /dev/full");
}

/// A helper that runs until it is ended, and the number that it says of itself.
struct Endless {
    child: Child,
    pid: Pid,
}

impl Endless {
    fn of(mut command: Command) -> Endless {
        CommandExt::process_group(&mut command, 0);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Endless {
            pid: Pid::from_raw(line.trim().parse().unwrap()),
            child,
        }
    }

    fn traced(place: &Place, options: impl Line, what: &str) -> Endless {
        let tree = helper(place);
        Endless::of(place.command((
            "trace -o p.json",
            options,
            format!("-- {} {what}", tree.display()),
        )))
    }

    fn start(place: &Place) -> Endless {
        let mut command = Command::new(helper(place));
        command.arg("endless");
        Endless::of(command)
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

fn expect_untraced(pid: Pid) {
    let threads: Vec<_> = fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let tid = thread.file_name().to_str().unwrap().parse().unwrap();
        assert_eq!(is_traced(tid), Some(false), "{tid}");
    }
}

fn runs(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("State:") && !status.contains("State:\tZ") && !status.contains("State:\tX")
}

#[test]
fn a_process_that_runs_is_traced_for_a_time_and_goes_on() {
    let place = Place::new();
    let endless = Endless::start(&place);
    let output = place.run(format!(
        "trace -p {} --for 0.5 --tracer ptrace --format csv",
        endless.pid
    ));
    expect_status(&output, 0);
    assert!(
        stderr(&output)
            .lines()
            .any(|line| line.starts_with("getppid,")),
        "{}",
        stderr(&output)
    );
    assert!(runs(endless.pid));
    expect_untraced(endless.pid);
}

#[test]
fn one_that_is_traced_already_is_told() {
    let place = Place::new();
    let endless = Endless::traced(&place, TRACERS[0], "endless");
    let output = place.run(format!("trace --tracer ptrace -p {}", endless.pid));
    expect_status(&output, 1);
    let expected = format!(
        "process {} is already traced by process {} (syscost)",
        endless.pid,
        endless.group()
    );
    expect_in(stderr(&output), &expected);
}

#[test]
fn when_the_tracer_is_killed_the_command_goes_on_untraced() {
    let place = Place::new();
    let mut endless = Endless::traced(&place, TRACERS[0], "endless");
    kill(endless.group(), Signal::SIGKILL).unwrap();
    endless.child.wait().unwrap();
    assert!(runs(endless.pid));
    expect_untraced(endless.pid);
}

#[test]
fn when_the_tracer_with_a_filter_is_killed_the_command_ends() {
    let place = Place::new();
    let mut endless = Endless::traced(&place, TRACERS[1], "endless");
    kill(endless.group(), Signal::SIGKILL).unwrap();
    endless.child.wait().unwrap();
    wait_until(|| !runs(endless.pid));
}

#[test]
fn an_interrupt_ends_the_command_and_the_profile_is_written() {
    let place = Place::new();
    for options in &TRACERS[..2] {
        let mut endless = Endless::traced(&place, options, "endless");
        killpg(endless.group(), Signal::SIGINT).unwrap();
        assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 2));
        let shown = place.run("show p.json --format json");
        assert!(count(&json(&shown), "getppid") > 0, "{}", stderr(&shown));
    }
}

#[test]
fn an_interrupt_of_the_tracer_alone_ends_the_tracing_and_not_the_command() {
    let place = Place::new();
    let mut endless = Endless::traced(&place, TRACERS[0], "endless");
    kill(endless.group(), Signal::SIGINT).unwrap();
    assert_eq!(endless.child.wait().unwrap().code(), Some(130));
    assert!(runs(endless.pid));
    expect_untraced(endless.pid);
    let shown = place.document("show p.json");
    assert_eq!(shown["complete"], false, "{shown:#}");
    assert!(count(&shown, "getppid") > 0, "{shown:#}");
    // It cannot run without its filter's tracer, and gets the signal instead.
    let mut endless = Endless::traced(&place, TRACERS[1], "endless");
    kill(endless.group(), Signal::SIGINT).unwrap();
    assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 2));
}

#[test]
fn several_processes_are_traced_together() {
    let place = Place::new();
    let (one, other) = (Endless::start(&place), Endless::start(&place));
    let pids = format!("{},{}", one.pid, other.pid);
    for options in [TRACERS[0], ""] {
        let words = (format!("trace --for 0.5 -o p.json -p {pids}"), options);
        let output = place.run(&words);
        expect_status(&output, 0);
        let shown = place.document("show p.json");
        let [first, second] = [one.pid.min(other.pid), one.pid.max(other.pid)].map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
            format!("{pid} ({})", name.trim())
        });
        let scope = format!("process {first}, {second}");
        assert_eq!(
            (shown["scope"].as_str(), count(&shown, "getppid") > 0),
            (Some(scope.as_str()), true),
            "{shown:#}"
        );
        expect_untraced(one.pid);
        expect_untraced(other.pid);
    }
}

#[test]
fn sigterm_to_the_tracer_is_passed_on() {
    let place = Place::new();
    let mut endless = Endless::traced(&place, TRACERS[0], "endless");
    kill(endless.group(), Signal::SIGTERM).unwrap();
    assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 15));
}

/// Each signal ends the tracing of a command that is stopped, that it has left others, or ignores it.
#[test]
fn a_signal_ends_the_tracing_whatever_the_command_does() {
    const COMMANDS: [&str; 3] = [
        "kill -STOP $$; :",
        "setsid sleep 30 & sleep 30 & kill -STOP $!; :",
        "trap '' INT TERM HUP QUIT; while :; do sleep 0.01; done",
    ];
    // What nohup(1) and the like ignore stays ignored in all that is started.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.split("SigIgn:").nth(1).unwrap();
    let ignored = u64::from_str_radix(ignored.lines().next().unwrap().trim(), 16).unwrap();
    std::thread::scope(|scope| {
        for signal in [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGQUIT,
        ] {
            if ignored & 1 << (signal as u64 - 1) == 0 {
                let all = TRACERS.map(|options| COMMANDS.map(|code| (options, code)));
                scope.spawn(move || {
                    for (options, code) in all.concat() {
                        end_tracing(signal, options, code);
                    }
                });
            }
        }
    });
}

fn end_tracing(signal: Signal, options: &str, code: &str) {
    let place = Place::new();
    let mut command = place.command(("trace", options, ["--", "sh", "-c", code]));
    // What goes on after the tracing would keep pipes open.
    command.current_dir(place.tmp());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let job = Job::of(command.spawn().unwrap());
    wait_until(|| place.processes().iter().any(|process| process.traced));
    // Also of one that has not begun to handle signals.
    sleep(Duration::from_millis(200));
    kill(job.pid(), signal).unwrap();
    job.output();
    for process in place.processes() {
        assert!(!process.traced, "{signal} {code}: {process:?}");
        let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
    }
}

#[test]
fn an_interrupt_that_ends_the_command_leaves_what_it_started() {
    let place = Place::new();
    let mut endless = Endless::traced(&place, TRACERS[0], "straggler");
    let group = endless.group();
    killpg(group, Signal::SIGINT).unwrap();
    assert_eq!(endless.child.wait().unwrap().code(), Some(128 + 2));
    let shown = place.document("show p.json");
    assert_eq!(shown["complete"], false, "{shown:#}");
    let mut left = place.processes();
    left.retain(|process| process.group == group.as_raw());
    assert!(left.len() == 1 && !left[0].traced, "{left:?}");
}

#[test]
fn nothing_is_left_in_the_place_of_a_trace() {
    let place = Place::new();
    let job: Job = place.start("trace --tracer ptrace true");
    let output = job.output();
    expect_status(&output, 0);
    assert_eq!(
        (place.processes().len(), place.left_behind()),
        (0, Vec::<PathBuf>::new())
    );
}

#[test]
fn a_budget_of_a_call_under_another_name_is_noted() {
    let place = Place::new();
    let output = place.run("trace --tracer ptrace --budget open=1,read=900 -- cat /dev/null");
    expect_status(&output, 0);
    let text = stderr(&output);
    expect_in(
        &text,
        ["--budget open=1: the command made no open, but openat"],
    );
    assert!(!text.contains("read=900"), "{text}");
}
