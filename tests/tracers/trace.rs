//! `syscost trace`: exact counts of trees that do what is hard to follow, their classes, errors and accounting.

use crate::common::*;
use crate::support;

use support::{TRACERS, build, call, count, helper, trace};

#[test]
fn every_call_is_counted() {
    let place = Place::new();
    let tree = helper(&place);
    let tree = tree.to_str().unwrap();
    let all = [
        ("", 20_000, if cfg!(feature = "heavy") { 10 } else { 2 }),
        ("forks 10000", 10_000, 1),
        ("signals", 10, 1),
    ];
    for options in TRACERS {
        for (words, calls, times) in all {
            for _ in 0..times {
                let (output, document) = trace(&place, options, (tree, words));
                expect_status(&output, 0);
                assert_eq!(count(&document, "getppid"), calls, "{options:?} {words:?}");
            }
        }
    }
}

/// Of a process that runs, present children are traced too, by either tracer.
#[test]
fn children_that_were_there_before_are_traced() {
    let place = Place::new();
    let shell = Command::new("sh").args(["-c", "sleep 60; true"]).spawn();
    let shell = Job::of(shell.unwrap());
    let children = format!("/proc/{0}/task/{0}/children", shell.pid());
    while fs::read_to_string(&children).unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let child: i32 = fs::read_to_string(&children)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    // ptrace interrupts the sleep, which then goes on under another name.
    for tracer in ["bpf", "ptrace"] {
        if tracer == "bpf" && !has_bpf() {
            continue;
        }
        let options = format!("--tracer {tracer} --for 0.3 --format json --report found.json");
        expect_status(
            &place.run((format!("trace -q {options} -p"), shell.pid().to_string())),
            0,
        );
        let document = place.parsed("found.json");
        assert_eq!(
            count(&document, "clock_nanosleep"),
            1,
            "{tracer}: {document:#}"
        );
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), Signal::SIGKILL).unwrap();
    shell.output();
}

#[test]
fn each_fork_is_followed_and_its_orphans_are_waited_for() {
    let place = Place::new();
    let tree = helper(&place);
    let (_, document) = trace(&place, TRACERS[0], [tree.to_str().unwrap()]);
    // The command, four of its children by fork with an orphan each of two, one by vfork, one by posix_spawn.
    assert_eq!(document["usage"]["processes"], 10, "{document:#}");
    assert_eq!(document["usage"]["threads"], 3);
    assert_eq!(count(&document, "execve"), 5);
    assert_eq!(count(&document, "exit_group"), 10);
}

#[test]
fn calls_have_classes_and_errors() {
    let place = Place::new();
    let tree = helper(&place);
    let (_, document) = trace(&place, TRACERS[0], format!("{} classes", tree.display()));
    let of = |name: &str, key: &str, value: Value| -> u64 {
        let classes = call(&document, name)["classes"].as_array().unwrap();
        let matching = classes
            .iter()
            .filter(|class| class[key] == value && class["size"] != 512);
        matching.map(|class| class["calls"].as_u64().unwrap()).sum()
    };
    let kinds = ["pipe", "device", "none"].map(|kind| of("read", "descriptor", kind.into()));
    assert_eq!(kinds, [10, 10, 7], "{document:#}");
    assert_eq!(of("access", "depth", 3.into()), 5, "{document:#}");
    assert_eq!(call(&document, "read")["errors"]["EBADF"], 7);
    assert_eq!(
        call(&document, "access")["errors"]["ENOENT"]
            .as_u64()
            .unwrap()
            % 6,
        0
    );
    let sleep = call(&document, "clock_nanosleep");
    assert!(
        sleep["blocked_ns"].as_u64().unwrap() >= 40_000_000,
        "{sleep:#}"
    );
    // Time on a CPU and latencies are those of the stops as much as of the calls.
    let calls = list(&document["calls"]);
    assert!(
        calls
            .iter()
            .all(|call| call["on_cpu_ns"].is_null() && call["p50_ns"].is_null()),
        "{document:#}"
    );
}

#[test]
fn standard_input_and_output_are_the_commands() {
    let place = Place::new();
    let mut command = place.command("trace --tracer ptrace cat");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), "through\n");
    expect_in(stderr(&output), ["getrandom", "syscost: tracer: ptrace"]);
}

#[test]
fn the_exit_status_is_the_commands() {
    let place = Place::new();
    let tree = helper(&place);
    let status = |words: &str| trace(&place, TRACERS[0], words).0.status.code();
    assert_eq!(status("sh -c 'exit 7'"), Some(7));
    assert_eq!(status(&format!("{} killed", tree.display())), Some(128 + 9));
    let script = place.path().join("script");
    write_program(&script, "exit 5\n");
    assert_eq!(status(script.to_str().unwrap()), Some(5));
}

#[test]
fn the_peak_memory_is_that_of_the_command_alone() {
    let place = Place::new();
    let Some(program) = build(&place, "tree-static", "-static") else {
        return skip("cc builds no static program");
    };
    let line = format!("{} leaf 5", program.display());
    let bpf = has_bpf().then_some("--tracer bpf");
    for options in TRACERS.into_iter().chain(bpf) {
        let (output, document) = trace(&place, options, &line);
        let kib = document["usage"]["peak_rss_kib"].as_u64().unwrap_or(0);
        // The program takes about 600; a fork of syscost, some thousands.
        assert!(
            (1..1500).contains(&kib),
            "{options:?}: {kib} KiB, {}",
            stderr(&output)
        );
    }
}

#[test]
fn programs_of_another_architecture_have_its_names() {
    let place = Place::new();
    let Some(program) = build(&place, "tree32", "-m32") else {
        return skip("cc builds none");
    };
    for options in &TRACERS[..2] {
        let (output, document) = trace(&place, options, format!("{} leaf 500", program.display()));
        assert_eq!(count(&document, "getppid"), 500, "{}", stderr(&output));
        expect_in(stderr(&output), "is a program for i386");
    }
}

#[test]
fn the_accounting_has_those_that_nobody_waited_for() {
    let place = Place::new();
    let tree = helper(&place);
    for options in TRACERS {
        let (output, document) = trace(&place, options, format!("{} accounts", tree.display()));
        expect_status(&output, 0);
        let ns = |mode: &str| document["usage"][mode].as_u64().unwrap();
        let cpu_ms = (ns("user_ns") + ns("system_ns")) / 1_000_000;
        assert!(
            (290..600).contains(&cpu_ms),
            "{options:?}: {cpu_ms} ms of 300"
        );
    }
}

/// Each `true` is two groups, since it is a shell before.
#[test]
fn more_processes_than_there_is_room_for_are_counted_by_name() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let script = place.tmp().join("many");
    fs::write(
        &script,
        "i=0; while [ $i -lt 3700 ]; do /bin/true; i=$((i+1)); done",
    )
    .unwrap();
    let words = format!("sh {}", script.display());
    let (_, document) = trace(&place, "--counts --group process", words);
    assert_eq!(
        (&document["tracer"]["lost"], count(&document, "execve")),
        (&0.into(), 3701)
    );
    let line = "more than 7168 processes and programs: the later ones are counted by name";
    assert!(
        list(&document["warnings"]).contains(&line.into()),
        "{}",
        document["warnings"]
    );
    let processes = list(&document["processes"]);
    let by_name = processes
        .iter()
        .find(|process| process["name"] == "true" && process["pid"].is_null());
    assert!(by_name.is_some_and(|process| process["calls"].as_u64() > Some(100)));
}

/// What was asked for is what the rows are, unless `--by` names others.
#[test]
fn rows_are_the_paths_or_descriptors_that_were_asked_for() {
    if !has_bpf() {
        return;
    }
    let place = Place::new();
    let shown = |line: &str| stderr(&place.run(format!("trace {line} -- cat /etc/passwd")));
    let paths = shown("--paths");
    assert!(
        paths.lines().any(|line| line.starts_with("/etc/passwd ")),
        "{paths}"
    );
    expect_in(shown("--descriptors"), "\ndescriptor ");
    expect_in(shown("--paths --by call"), "\ncall ");
}

/// Each row is a path in the directory that it was relative to, whoever traces.
#[test]
fn an_ordinary_user_gets_calls_by_path() {
    let (place, program) = (Place::new().opened(), crate::bpf_support::build());
    for directory in ["a", "b", "c"] {
        fs::create_dir(place.path().join(directory)).unwrap();
        place.write(format!("{directory}/x"), "");
    }
    let top = place.path();
    for detail in ["", "--counts"] {
        let command = format!("{} directories {}", program.display(), top.display());
        let line = format!("trace --paths {detail} -o p.json --report /dev/null -- {command}");
        let done = place.command_without_rights(line).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        let profile: Value = serde_json::from_str(&place.read("p.json")).unwrap();
        let calls = |name: &str| {
            let name = top.join(name);
            let rows = list(&profile["objects"]).iter();
            let own = rows
                .filter(|row| row["call"] == "newfstatat" && row["name"] == name.to_str().unwrap());
            own.map(|row| row["calls"].as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!(
            ["a/x", "b/x", "c/x"].map(calls),
            [3, 5, 6 + 7],
            "{profile:#}"
        );
        assert_eq!(profile["objects_dropped"], 0);
    }
}
