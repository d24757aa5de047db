//! Profiles from what strace prints: by any version, with any options, and among what the traced program printed.
//!
//! `tests/tracers/strace_logs.rs` has logs of the strace that is installed.

use super::profile::{fixture, json, read_bytes, text};
use crate::common::*;
use model::*;

const TRACES: [&str; 3] = [
    "strace-log-6.1.txt",
    "strace-paths-6.1.txt",
    "strace-table-6.1.txt",
];

/// What other tracers print.
const OTHERS: [&str; 3] = ["perf-trace-6.1.txt", "syscount.txt", "gvisor-strace.txt"];

pub fn traced_by_strace(text: &str) -> Profile {
    read_bytes(text.as_bytes()).unwrap_or_else(|message| panic!("{text}: {message}"))
}

/// `clone 1, read 2 (1 unfinished, 1 EINTR)`: calls in the order of their names.
pub fn summary(profile: &Profile) -> String {
    let mut totals: Vec<CallCount> = profile
        .totals(By::Call)
        .into_iter()
        .map(|total| total.count)
        .collect();
    totals.sort_by(|a, b| a.call.cmp(&b.call));
    let words = totals.iter().map(|count| {
        let unfinished = (count.unfinished > 0).then(|| format!("{} unfinished", count.unfinished));
        let errors = count
            .errors
            .iter()
            .map(|(name, times)| format!("{times} {name}"));
        let marks: Vec<String> = unfinished.into_iter().chain(errors).collect();
        let marks = if marks.is_empty() {
            String::new()
        } else {
            format!(" ({})", marks.join(", "))
        };
        format!("{} {}{marks}", count.call, count.calls)
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_strace_printed_is_a_profile() {
    for name in TRACES.iter().chain(&OTHERS) {
        let place = Place::new();
        place.write(name, text(name));
        expect_valid("profile-2", &json(&traced_by_strace(&text(name))));
        let by = if name.contains("table") {
            "call"
        } else {
            "process"
        };
        let table = place.printed(format!("show {name} --by {by}"));
        expect_file(fixture(&name.replace(".txt", ".golden")), &table);
    }
}

#[test]
fn several_profiles_are_added_up() {
    let place = Place::new();
    let all: Vec<&str> = TRACES.into_iter().chain(OTHERS).collect();
    all.iter().for_each(|name| place.write(name, text(name)));
    let names = all.join(" ");
    let table = place.printed(format!("show {names}"));
    expect_file(fixture("together.golden"), &table);
    let rows = place.printed(format!("show {names} --format csv"));
    let mut rows = csv::Reader::from_reader(rows.as_bytes());
    let sum: u64 = rows
        .records()
        .map(|row| row.unwrap()[1].parse::<u64>().unwrap())
        .sum();
    let each = all
        .iter()
        .map(|name| traced_by_strace(&text(name)).all_calls().calls);
    assert_eq!(sum, each.sum::<u64>());
    place.write(
        "run.json",
        fs::read_to_string(root().join("tests/golden/run.json")).unwrap(),
    );
    for (line, why) in [
        (
            format!("show {names} run.json"),
            "run.json is not a profile",
        ),
        (
            format!("show {names} --by class"),
            "several profiles have one view",
        ),
    ] {
        expect_error(&place.run(line), 2, why);
    }
}

#[test]
fn commands_that_take_a_profile_take_what_strace_printed() {
    let place = Place::new();
    TRACES.iter().for_each(|name| place.write(name, text(name)));
    let costs = file("tests/golden/run.json");
    let [log, paths, table] = TRACES;
    let commands: [&[&str]; 5] = [
        &["show", log, "--view", "latency"],
        &["why", log, "--costs", &costs, "--versus", &costs],
        &["compare", log, paths],
        &["report", table, "-o", "page.html"],
        &["report", log, paths, "-o", "two.html"],
    ];
    for arguments in commands {
        let output = place.run(arguments);
        assert_eq!(
            (output.status.code(), stderr(&output).as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
        if arguments[0] == "why" {
            let shown = stdout(&output).replace("\n  ", " ");
            expect_in(shown, "a program that strace stops at every call");
        }
    }
    let mut shown = place.command("show -");
    let shown = stdout(
        &shown
            .stdin(fs::File::open(fixture(log)).unwrap())
            .output()
            .unwrap(),
    );
    expect_start(&shown, "strace, from standard input\n");
}

#[test]
fn logs_tell_classes_programs_and_unfinished_calls() {
    let profile = traced_by_strace(&text("strace-paths-6.1.txt"));
    let calls = || {
        profile.groups.iter().flat_map(|group| {
            group
                .calls
                .iter()
                .map(move |call| (group.name.as_str(), call))
        })
    };
    let find = |name: &str, kind| {
        calls()
            .filter(|(_, c)| c.call == name && c.class.descriptor == Some(kind))
            .count()
    };
    assert!(find("read", DescriptorKind::Pipe) >= 1 && find("read", DescriptorKind::File) >= 1);
    assert!(
        find("write", DescriptorKind::Device) >= 1,
        "cat writes to /dev/null"
    );
    assert!(calls().any(|(group, call)| group == "cat"
        && call.call == "openat"
        && call.class.depth == Some(2)));
    assert_eq!(
        profile
            .groups
            .iter()
            .map(|g| g.name.as_str())
            .collect::<Vec<_>>(),
        ["sh", "cat"]
    );
    let exits: u64 = calls()
        .filter(|(_, call)| call.call == "exit_group")
        .map(|(_, call)| call.unfinished)
        .sum();
    assert_eq!(
        (exits, profile.usage.processes, profile.usage.threads),
        (3, Some(3), Some(0))
    );
    assert!(
        profile
            .usage
            .wall_ns
            .is_some_and(|ns| ns > 1_000_000 && ns < 1_000_000_000)
    );
}

/// What a log of tests/profile/strace-logs.txt shows, what it calls, and its text: as versions and options of strace write it, and
/// tables alone and among other lines.
fn logs() -> Vec<(String, String, String)> {
    let all = text("strace-logs.txt");
    let parts = all.split("### ").skip(1).map(|part| {
        let (what, rest) = part.split_once("\n#=> ").unwrap();
        let (calls, log) = rest.split_once('\n').unwrap();
        (what.to_string(), calls.to_string(), log.to_string())
    });
    parts.collect()
}

fn log(name: &str) -> String {
    logs()
        .into_iter()
        .find(|(what, ..)| what == name)
        .unwrap_or_else(|| panic!("no log is called {name}"))
        .2
}

#[test]
fn logs_and_tables_of_all_versions_and_options_are_read() {
    for (what, calls, log) in logs() {
        assert_eq!(summary(&traced_by_strace(&log)), calls, "{what}:\n{log}");
    }
    assert_eq!(
        traced_by_strace(&log("table: lines above, decimal commas"))
            .all_calls()
            .elapsed_ns,
        Some(3_708_000)
    );
}

#[test]
fn a_table_is_found_after_anything_that_a_program_printed() {
    let printed = "a line of the program\n".repeat(10_000);
    assert!(
        summary(&traced_by_strace(
            &(printed + &log("table: lines above, decimal commas"))
        ))
        .starts_with("openat 279")
    );
}

#[test]
fn what_is_missing_is_named_with_the_option_to_leave_out() {
    let read = "read(3, \"\", 8) = 0";
    let texts = [
        format!("{read}\nhello\nworld\n"),
        format!("{read} <0>\n"),
        format!("{read} <0.001>\n"),
        format!("{read} <0.000001>\n"),
        "openat(0xffffff9c, 0x7f4b, 0x80000, 0) = 0x3\n".into(),
        "access(\"/x\", F_OK) = -1 ENOENT (x)\n".repeat(10),
        log("table: -U name,calls,errors"),
        log("table: -C -Z"),
        "% time seconds usecs/call calls errors syscall\n 0.00 0.000000 0 5 1 read\n".into(),
        format!("[ Process PID=1 runs in 32 bit mode. ]\n{read}\n"),
    ];
    let warnings = texts.map(|text| traced_by_strace(&text).warnings.join("; "));
    let plain = traced_by_strace(&format!("{read}\n"));
    expect_in(plain.source.unwrap().note, "trace with -T");
    let refused = [
        "1 +++ exited with 0 +++\n",
        "% time seconds usecs/call calls errors syscall\n 1 2 3 x read\n",
        "% time seconds syscall\n----\n 1 2 read\n",
        "syscall\n----\nread\n",
    ];
    let refused = refused.map(|text| read_bytes(text.as_bytes()).unwrap_err());
    expect_mistakes("strace", &[&warnings[..], &refused].concat());
}

#[test]
fn no_option_loses_classes_or_times() {
    let plain = "openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CREAT) = 3\nmmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f\nfutex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0\n";
    let others = [
        "openat(dirfd=AT_FDCWD, pathname=\"/etc/ld.so.cache\", flags=O_RDONLY|O_CREAT) = 3\nmmap(addr=NULL, length=8192, prot=PROT_READ, flags=MAP_PRIVATE|MAP_ANONYMOUS, fd=-1, offset=0) = 0x7f\nfutex(uaddr=0x1, op=FUTEX_WAKE_PRIVATE, val=1) = 0\n",
        "openat(-100, \"\\x2f\\x65\\x2f\\x6c\", 0x42) = 3\nmmap(NULL, 8192, 0x3, 0x22, -1, 0) = 0x7f\nfutex(0x1, 0x81, 1) = 0\n",
        "openat(-100 /* AT_FDCWD */, \"/e/l\", 0x42 /* O_RDWR|O_CREAT */) = 3\nmmap(NULL, 0x2000, 0x3, 0x22 /* MAP_PRIVATE|MAP_ANONYMOUS */, -1, 0) = 0x7f\nfutex(0x1, 0x81 /* FUTEX_WAKE_PRIVATE */, 1) = 0\n",
        "openat(AT_FDCWD</a, b>, \"/e/l\", O_CREAT) = 3</e/l>\nmmap(NULL, 8192, PROT_READ, MAP_ANONYMOUS, -1, 0) = 0x7f\nfutex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0\n",
    ];
    let classes = |log: &str| {
        traced_by_strace(log)
            .groups
            .remove(0)
            .calls
            .into_iter()
            .map(|count| count.class)
            .collect::<Vec<_>>()
    };
    for other in others {
        assert_eq!(classes(other), classes(plain), "{other}");
    }
    let wall = |log: &str| traced_by_strace(log).usage.wall_ns.unwrap();
    assert_eq!(wall(&log("-r")), 300_000);
    assert_eq!(
        wall("23:59:59.5 close(1) = 0\n00:00:01 close(2) = 0\n"),
        1_500_000_000
    );
}

#[test]
fn who_ran_what_is_known_without_names_of_threads() {
    let names = [
        "vfork, a message inside",
        "-f, a call that goes on when the other process is gone",
    ];
    let [first, second] = names.map(|name| traced_by_strace(&log(name)));
    assert_eq!(
        (first.usage.processes, first.usage.threads),
        (Some(2), Some(0))
    );
    assert_eq!(
        (second.usage.processes, second.usage.threads),
        (Some(2), Some(0))
    );
    let names: Vec<&str> = first
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(names, ["", "true"]);
    // -ff writes a file for each process, without its number.
    assert_eq!(
        traced_by_strace(
            "exit_group(0) = ?\n+++ exited with 0 +++\n"
                .repeat(2)
                .as_str()
        )
        .usage
        .processes,
        None
    );
}

pub fn shown(log: &str, line: &str) -> String {
    let place = Place::new();
    place.write("log", log);
    one_line(&place.printed(line))
}

/// However wide the terminal is.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// 1.5 s pass after the second call, with the durations of -T and without.
const LOOP: &str = "0.000000 execve(\"/a\", [\"a\"], 0x1) = 0 <0.100000>\n0.100000 mmap(NULL, 8, 3, 34, -1, 0) = 0x7f <0.200000>\n\
    1.700000 munmap(0x7f, 8) = 0 <0.100000>\n0.100000 exit_group(0) = ?\n";

#[test]
fn the_wall_time_of_a_log_has_parts() {
    let long = shown(LOOP, "why log");
    for line in [
        "1.90 s of wall time",
        "outside system calls",
        "1.50",
        "between two calls: 1.50 s, from mmap to munmap (line 3)",
    ] {
        expect_in(&long, line);
    }
    let bare = LOOP.replace(" <0.100000>", "").replace(" <0.200000>", "");
    expect_in(
        shown(&bare, "why log"),
        "between two calls, with the first of them: 1.70 s, from mmap to munmap (line 3)",
    );
    let threads = format!("7 {}", LOOP.trim_end().replace('\n', "\n8 ")) + "\n";
    expect_in(shown(&threads, "why log"), "1.90 s of wall time");
}

/// The parent computes for 0.5 s while its child sleeps, then waits; 0.05 s pass before the child exits.
const TREE: &str = "7 1795991000.000000 fork() = 8 <0.100000>\n8 1795991000.100000 clock_nanosleep(0, 0, {}, NULL) = 0 <1.050000>\n\
    7 1795991000.600000 wait4(8, NULL, 0, NULL) = 8 <0.600000>\n8 1795991001.200000 exit_group(0) = ?\n8 1795991001.200000 +++ exited with 0 +++\n\
    7 1795991001.200000 exit_group(0) = ?\n";

#[test]
fn the_wall_time_of_several_processes_is_divided_by_when_all_are_in_calls() {
    let place = Place::new();
    place.write("log", TREE);
    let parts = place.document("why log")["time"]["parts"].take();
    let parts: Vec<(&str, i64)> = list(&parts)
        .iter()
        .map(|part| {
            let wall_s = part["wall_s"].as_f64().unwrap();
            (
                part["kind"].as_str().unwrap(),
                (wall_s * 1000.0).round() as i64,
            )
        })
        .collect();
    assert_eq!(parts, [("calls", 650), ("outside_calls", 550)]);
    expect_in(
        shown(TREE, "why log"),
        "in system calls 0.6500 54 clock_nanosleep outside",
    );
}

#[test]
fn a_call_that_did_not_return_is_named() {
    let log = "16 1.500000 epoll_wait(5<anon_inode:[eventpoll]>,  <detached ...>\n";
    let text = shown(log, "why log");
    expect_in(
        &text,
        "process 16 waited since before tracing began in epoll_wait",
    );
    expect_in(&text, "No call returned");
    expect_not_in(&text, "-T");
}

#[test]
fn the_slowest_calls_of_a_log_are_known() {
    let place = Place::new();
    place.write("log", LOOP);
    let slowest = place.printed("show log --view slowest --format csv");
    let rows: Vec<&str> = slowest.lines().skip(1).collect();
    assert!(rows[0].starts_with("mmap,") && rows.len() == 3, "{slowest}");
    expect_in(rows[0], ",0.1,200,");
    let profile = traced_by_strace(&"3 read(3, \"\", 8) = 0 <0.000001>\n".repeat(30));
    let slow: Vec<_> = profile
        .slowest
        .iter()
        .map(|call| (call.pid, call.elapsed_ns))
        .collect();
    assert_eq!(slow, [(Some(3), 1000); 20]);
}

#[test]
fn savings_without_times_are_unknown_and_keep_their_number() {
    let reads = "read(3</etc/x>, \"a\", 1) = 1\n".repeat(5000) + "exit_group(0) = ?\n";
    let text = shown(&reads, "why log");
    expect_in(
        &text,
        "5,000 read calls of 1 byte each: its time is not known",
    );
    let json: Value = serde_json::from_str(&shown(&reads, "why log --format json")).unwrap();
    assert_eq!(json["advice"][0]["saved_s"], Value::Null);
    let timed = shown(&reads.replace("= 1\n", "= 1 <0.000100>\n"), "why log");
    expect_in(&timed, "waiting included");
}

/// The wall time of several processes is not divided, but their calls have times: those of strace's stops count for nothing.
#[test]
fn the_longest_calls_of_several_processes_are_the_answer() {
    let mut log = String::from(
        "7 1795991000.000000 execve(\"/x/app\", [], []) = 0 <0.000200>\n7 1795991000.000100 fork() = 8 <0.000200>\n",
    );
    log += &"7 1795991000.000200 rt_sigaction(SIGINT, {}, NULL, 8) = 0 <0.000020>\n".repeat(9000);
    log += "8 1795991000.100000 read(3<pipe:[17]>, \"\", 9) = 0 <1.500000>\n\
        7 1795991000.200000 wait4(8, NULL, 0, NULL) = 8 <1.500000>\n";
    log += &"7 1795991001.700000 getdents64(4</srv>, [], 9) = 0 <0.004000>\n".repeat(200);
    expect_in(
        shown(&log, "why log").replace("\n  ", " "),
        "Most time in calls (ranked without strace's stops): app: read of pipe:[17] 1.50 s; app: getdents64 of /srv 0.8000 s. No advice",
    );
    let write = "7 1795991002.700000 write(4</srv/log>, \"x\", 1) = 1 <0.000020>\n";
    let sync = "7 1795991002.710000 fsync(4</srv/log>) = 0 <0.004000>\n";
    log += &format!("{write}{sync}").repeat(200);
    let text = shown(&log, "why log").replace("\n  ", " ");
    expect_in(
        &text,
        "200 fsync calls for 200 writes, most time on /srv/log (200 calls): about 0.7",
    );
    expect_not_in(&text, "does not change");
}

/// A sync rule needs to know that the journals are one file, by their paths, and kinds of descriptors, by the calls that opened them.
#[test]
fn a_table_of_strace_has_neither_cpu_time_nor_known_errors() {
    let table = "% time seconds usecs/call calls errors syscall\n------\n 99.00 77.000000 5000 15400 15400 connect\n";
    let place = Place::new();
    place.write("log", table);
    for line in ["show log", "why log"] {
        let text = place.printed(line);
        for wrong in [
            "CPU s",
            "CPU us/call",
            "of CPU time",
            "elapsed us",
            "failing with",
        ] {
            expect_not_in(&text, wrong);
        }
    }
    let note = one_line(&place.printed("show log"));
    expect_in(&note, "the table does not show which");
}

#[test]
fn csv_of_a_damaged_log_warns_on_standard_error() {
    let place = Place::new();
    place.write("log", "close(3) = 0\nhello\nclose(3) = 0\n");
    for line in ["show log --format csv", "why log --format csv"] {
        let output = place.run(line);
        expect_in(
            stderr(&output),
            "syscost: warning: lines that strace did not print are left out: 1",
        );
        expect_not_in(stdout(&output), "hello");
    }
}
