//! Profiles as their users meet them: files written, by hand or by the store, read, shown, and read from strace; what cannot be read is explained in a line.
//!
//! `SNAPSHOTS=overwrite cargo test --test files profile` rewrites tests/profile/*.golden.

use crate::common::{Place, expect_file, expect_valid, file, root, stderr, stdout};
use crate::shaken::Shaker;
use serde_json::Value;
use std::fs;
use std::path::Path;
use syscost::model::*;
use syscost::store;

fn fixture(name: &str) -> String {
    file(&format!("tests/profile/{name}"))
}

fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

fn json(profile: &Profile) -> String {
    let mut bytes = Vec::new();
    store::write_to(profile, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Reads `bytes` as a profile; the message of a failure is checked to be one printable line that names the file.
fn read_bytes(bytes: &[u8]) -> Result<Profile, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    store::read_profile(file.path()).map_err(|error| {
        let message = error.to_string();
        assert!(message.starts_with(file.path().to_str().unwrap()), "{message}");
        assert!(!message.chars().any(char::is_control) && message.len() < 1500, "{message}");
        message
    })
}

fn printed(arguments: &[&str]) -> String {
    Place::new().printed(arguments)
}

#[test]
fn every_profile_is_read_as_it_was_written() {
    let mut shaker = Shaker::new(1);
    for name in ["traced.json", "detailed.json", "sampled.json"] {
        let whole = serde_json::from_str(&text(name)).unwrap();
        let is_sound = |rarity: &u32| {
            let Ok(profile) = read_bytes(shaker.shaken(&whole, *rarity).to_string().as_bytes()) else { return false };
            let text = json(&profile);
            expect_valid("profile-1", &text);
            assert_eq!(read_bytes(text.as_bytes()).unwrap(), profile);
            true
        };
        let sound = (2..62).filter(is_sound).count();
        assert!(sound > 10, "{name}: {sound}");
    }
}

const TRACES: [&str; 3] = ["strace-log-6.1.txt", "strace-paths-6.1.txt", "strace-table-6.1.txt"];

/// The profile in what strace printed.
fn traced_by_strace(text: &str) -> Profile {
    read_bytes(text.as_bytes()).unwrap_or_else(|message| panic!("{text}: {message}"))
}

fn hand_written() -> String {
    r#"{"schema": "syscost.profile/1", "calls": [{"name": "read", "calls": 12}, {"name": "read", "calls": 3, "process": "sh"}]}"#.to_string()
}

#[test]
fn a_profile_by_hand_needs_names_and_counts_only() {
    let profile = read_bytes(hand_written().as_bytes()).unwrap();
    assert!(profile.complete && profile.usage == Usage::default());
    let total = &profile.totals(By::Call)[0].count;
    assert_eq!((total.call.as_str(), total.calls, total.on_cpu_ns), ("read", 15, None));
    expect_valid("profile-1", &hand_written());
}

#[test]
fn where_a_tracer_works_is_known_of_files_that_do_not_say() {
    let adds = |tracer: &str| {
        let text = format!(r#"{{"schema": "syscost.profile/1", "tracer": {{{tracer}}}, "calls": []}}"#);
        read_bytes(text.as_bytes()).unwrap().tracer.adds_system_time.unwrap()
    };
    let kinds = ["bpf", "ptrace", "seccomp", "strace -c", ""];
    let by_kind = kinds.map(|kind| adds(&format!(r#""kind": "{kind}""#)));
    assert_eq!(by_kind, [true, false, false, false, false]);
    assert!(adds(r#""kind": "new", "adds_system_time": true"#));
    assert!(!adds(r#""kind": "bpf", "adds_system_time": false"#));
}

#[test]
fn each_mistake_has_its_own_message() {
    let swap = |from: &str, to: &str| hand_written().replacen(from, to, 1);
    let cases = [
        (String::new(), "is empty: name the profile of a trace"),
        ("[1]".into(), "is not a syscost profile: it is JSON without \"schema\": \"syscost.profile/1\""),
        (
            swap("profile/1", "profile/2"),
            "written by a newer syscost (profile/2); this one reads up to profile/1: update",
        ),
        (
            swap("profile/1", "result/1"),
            "is \"syscost.result/1\", not a profile: use the profile (\"syscost.profile/1\")",
        ),
        (swap("12", "-12"), "calls[0].calls: invalid value: integer `-12`, expected u64; the file was edited or"),
        (swap("12", "1.5"), "calls[0].calls: invalid type: floating point `1.5`"),
        (swap("\"calls\": 12", "\"times\": 12"), "calls[0]: missing field `calls`"),
        (swap("\"read\"", "\"\""), "calls[0] (): name: is empty"),
        (swap("12", "18446744073709551615"), "calls.calls: add up to 2^64 or more"),
        (swap("12", "12, \"errors\": {\"\": 1}"), "calls[0] (read): errors: is empty"),
        (swap("12", "12, \"class\": {\"descriptor\": \"door\"}"), "unknown variant `door`"),
        (
            swap("\"calls\": [", "\"durations\": {\"read\": [[2048, 1]]}, \"calls\": ["),
            "durations.read: bucket 2048 is beyond",
        ),
        (
            swap("\"calls\": [", "\"processes\": [{\"name\": \"a\"}, {\"name\": \"a\"}], \"calls\": ["),
            "'a' occurs twice",
        ),
        (
            swap("\"calls\": [", "\"tracer\": {\"added_per_call_ns\": -1}, \"calls\": ["),
            "tracer.added_per_call_ns: is -1.0, must be a number from 0 to 2^64",
        ),
        (
            swap("\"calls\": [", "\"tracer\": {\"added_per_call_ns\": 1e308}, \"calls\": ["),
            "tracer.added_per_call_ns: is 1e308, must be a number from 0 to 2^64",
        ),
        (
            swap("12", "12, \"on_cpu_ns\": 9223372036854775808, \"blocked_ns\": 9223372036854775808"),
            "calls: on_cpu_ns, blocked_ns, preempted_ns and elapsed_ns together: add up to 2^64 or more",
        ),
    ];
    for (bytes, expected) in cases {
        let message = read_bytes(bytes.as_bytes()).unwrap_err();
        assert!(message.contains(expected), "\n{message}\ndoes not contain\n{expected}");
    }
    for end in 1..hand_written().len() {
        let message = read_bytes(&hand_written().as_bytes()[..end]).unwrap_err();
        assert!(message.contains("is incomplete"), "{end}: {message}");
    }
}

#[test]
fn what_cannot_be_written_is_told_and_leaves_nothing() {
    let profile = read_bytes(hand_written().as_bytes()).unwrap();
    let error = store::write(&profile, Path::new("/")).unwrap_err().to_string();
    assert!(error.contains("is a directory: name a profile"), "{error}");
    let mut nan = profile.clone();
    nan.tracer.added_per_call_ns = Some(f64::NAN);
    let place = tempfile::tempdir().unwrap();
    let error = store::write(&nan, &place.path().join("p.json")).unwrap_err().to_string();
    assert!(error.contains("not written, since no profile may have this: tracer.added_per_call_ns"), "{error}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn show_tells_profiles_and_runs_apart() {
    let place = Place::new();
    fs::write(place.path().join("p.json"), hand_written()).unwrap();
    let run = file("tests/golden/run.json");
    let of_profile: [(&[&str], i32, &str); 5] = [
        (&["--sort", "cost"], 2, "--only and --sort are for result files, p.json is a profile"),
        (
            &["--format", "go-benchmark"],
            2,
            "--format go-benchmark and rows are for result files: choose text, markdown, csv or json",
        ),
        (&["--view", "bars"], 2, "choose --view table, latency, slowest, paths, descriptors or stacks"),
        (&["--view", "paths", "--by", "call"], 2, "--by is for the table of a profile"),
        (&["--weight", "blocked"], 2, "--weight is for --view stacks"),
    ];
    place.refuses(&["show", "p.json"], &of_profile);
    let of_run: [(&[&str], i32, &str); 2] = [
        (&["--by", "class"], 2, "--by, --weight and --no-arguments are for profiles"),
        (&["--view", "stacks"], 2, "this --view is for profiles"),
    ];
    place.refuses(&["show", &run], &of_run);
    assert!(stdout(&place.run(&["show", "p.json"])).contains("total"));
}

#[test]
fn a_traced_profile_is_shown_in_each_format() {
    let path = fixture("traced.json");
    expect_file(fixture("traced.json"), &json(&read_bytes(text("traced.json").as_bytes()).unwrap()));
    for by in ["call", "class", "process"] {
        let table = printed(&["show", &path, "--by", by]);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        expect_file(fixture(&format!("show-{by}.golden")), &table);
    }
    for format in ["markdown", "csv", "json"] {
        expect_file(fixture(&format!("show-{format}.golden")), &printed(&["show", &path, "--format", format]));
    }
    expect_valid("profile-summary-3", &printed(&["show", &path, "--format", "json"]));
}

/// A profile with what tracers collect only when asked; the figures are made up.
#[test]
fn a_detailed_profile_has_more_views() {
    let path = fixture("detailed.json");
    expect_file(fixture("detailed.json"), &json(&read_bytes(text("detailed.json").as_bytes()).unwrap()));
    for view in ["latency", "slowest", "paths", "descriptors", "stacks"] {
        let shown = printed(&["show", &path, "--view", view]);
        assert!(shown.lines().all(|line| line.chars().count() <= 80) || view == "stacks", "{shown}");
        expect_file(fixture(&format!("view-{view}.golden")), &shown);
        let csv = printed(&["show", &path, "--view", view, "--format", "csv"]);
        expect_file(fixture(&format!("view-{view}-csv.golden")), &csv);
        assert!(printed(&["show", &path, "--view", view, "--format", "markdown"]).contains("| --"), "{view}");
        expect_valid("profile-summary-3", &printed(&["show", &path, "--view", view, "--format", "json"]));
    }
    for by in ["process", "cgroup", "error"] {
        expect_file(fixture(&format!("detailed-{by}.golden")), &printed(&["show", &path, "--by", by]));
    }
}

#[test]
fn sampled_profiles_are_shares_of_time() {
    let path = fixture("sampled.json");
    expect_file(fixture("sampled.golden"), &printed(&["show", &path]));
    expect_file(fixture("sampled-process.golden"), &printed(&["show", &path, "--by", "process"]));
    expect_file(fixture("sampled-csv.golden"), &printed(&["show", &path, "--format", "csv"]));
    let page = printed(&["report", &path, "-o", "-"]);
    assert!(
        page.contains("300 samples of CPUs in 0.900 s") && page.contains("on a CPU in user mode 0.1760 s"),
        "{page}"
    );
}

#[test]
fn stacks_are_weighed_as_asked() {
    let path = fixture("detailed.json");
    let blocked = printed(&["show", &path, "--view", "stacks", "--weight", "blocked"]);
    assert!(blocked.contains("store;main;import_orders;commit;sync_file;fdatasync 1250000000\n"), "{blocked}");
    assert!(!blocked.contains("newfstatat"), "it was never blocked: {blocked}");
}

#[test]
fn what_a_profile_does_not_hold_is_said() {
    let place = Place::new();
    fs::write(place.path().join("p.json"), hand_written()).unwrap();
    for (view, words) in [
        ("latency", "This profile has no latencies"),
        ("slowest", "This profile has no slowest calls"),
        ("paths", "This profile has no paths"),
        ("descriptors", "This profile has no descriptors"),
        ("stacks", "This profile has no stacks"),
    ] {
        let output = place.run(&["show", "p.json", "--view", view]);
        assert!(stdout(&output).contains(words), "{view}: {}", stdout(&output));
    }
}

#[test]
fn a_profile_is_shown_without_arguments() {
    let path = fixture("detailed.json");
    let without = printed(&["show", &path, "--format", "json", "--no-arguments"]);
    assert!(without.contains("\"store\"") && !without.contains("hunter2") && without.contains("orders.db"));
}

#[test]
fn the_summary_document_has_what_other_programs_ask_for() {
    let path = fixture("traced.json");
    let document: Value = serde_json::from_str(&printed(&["show", &path, "--format", "json"])).unwrap();
    assert_eq!(document["schema"], "syscost.profile-summary/3");
    let read = document["calls"].as_array().unwrap().iter().find(|call| call["name"] == "read").unwrap();
    assert_eq!((&read["calls"], &read["errors"]["EAGAIN"]), (&Value::from(20_010), &Value::from(3)));
    assert_eq!((&read["on_cpu_ns"], &read["blocked_ns"]), (&Value::from(4_020_000), &Value::from(1_500_000_000)));
    assert_eq!(read["classes"].as_array().unwrap().len(), 2);
}

#[test]
fn what_strace_printed_is_a_profile() {
    for name in TRACES {
        let place = Place::new();
        fs::write(place.path().join(name), text(name)).unwrap();
        expect_valid("profile-1", &json(&traced_by_strace(&text(name))));
        let by = if name.contains("table") { "call" } else { "process" };
        let table = stdout(&place.command(&["show", name, "--by", by]).env("COLUMNS", "80").output().unwrap());
        expect_file(fixture(&name.replace(".txt", ".golden")), &table);
    }
}

#[test]
fn commands_that_take_a_profile_take_what_strace_printed() {
    let place = Place::new();
    TRACES.iter().for_each(|name| fs::write(place.path().join(name), text(name)).unwrap());
    let costs = file("tests/golden/run.json");
    let [log, paths, table] = TRACES;
    let commands: [&[&str]; 5] = [
        &["show", log, "--view", "latency"],
        &["attribute", log, "--costs", &costs],
        &["compare", log, paths],
        &["report", table, "-o", "page.html"],
        &["report", log, paths, "-o", "two.html"],
    ];
    for arguments in commands {
        let output = place.run(arguments);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    }
    let mut shown = place.command(&["show", "-"]);
    let shown = stdout(&shown.stdin(fs::File::open(fixture(log)).unwrap()).output().unwrap());
    assert!(shown.starts_with("strace, from standard input\n"), "{shown}");
}

/// Calls and failures of a log, by other means than the reader's: lines that begin a call, and errno names.
#[test]
fn logs_have_as_many_calls_and_errors_as_lines_say() {
    for name in ["strace-log-6.1.txt", "strace-paths-6.1.txt"] {
        let log = text(name);
        let remark = |line: &&str| line.contains(" +++ ") || line.contains(" --- ") || line.contains(" resumed>");
        let calls = log.lines().filter(|line| !remark(line)).count() as u64;
        let errors = log.lines().filter(|line| line.contains(" = -1 E") || line.contains(" = ? E")).count() as u64;
        let all = traced_by_strace(&log).all_calls();
        assert_eq!((all.calls, all.failures()), (calls, errors), "{name}");
    }
    let all = traced_by_strace(&text("strace-table-6.1.txt")).all_calls();
    let table = text("strace-table-6.1.txt");
    let total: Vec<&str> = table.lines().find(|line| line.ends_with(" total")).unwrap().split_whitespace().collect();
    assert_eq!([all.calls.to_string(), all.failures().to_string()], [total[3], total[4]]);
}

#[test]
fn logs_tell_classes_programs_and_unfinished_calls() {
    let profile = traced_by_strace(&text("strace-paths-6.1.txt"));
    let calls =
        || profile.groups.iter().flat_map(|group| group.calls.iter().map(move |call| (group.name.as_str(), call)));
    let find = |name: &str, kind| calls().filter(|(_, c)| c.call == name && c.class.descriptor == Some(kind)).count();
    assert!(find("read", DescriptorKind::Pipe) >= 1 && find("read", DescriptorKind::File) >= 1);
    assert!(find("write", DescriptorKind::Device) >= 1, "cat writes to /dev/null");
    assert!(calls().any(|(group, call)| group == "cat" && call.call == "openat" && call.class.depth == Some(2)));
    assert_eq!(profile.groups.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), ["sh", "cat"]);
    let exits: u64 = calls().filter(|(_, call)| call.call == "exit_group").map(|(_, call)| call.unfinished).sum();
    assert_eq!((exits, profile.usage.processes, profile.usage.threads), (3, Some(3), Some(0)));
    assert!(profile.usage.wall_ns.is_some_and(|ns| ns > 1_000_000 && ns < 1_000_000_000));
}

#[test]
fn malformed_lines_are_named() {
    let log = "1 1.0 read(3, \"\", 8) = 0\n";
    let cases = [
        ("1 +++ exited with 0 +++\n".into(), "line 1: there is no call: name a log of 'strace -f -T -ttt -o FILE'"),
        (format!("{log}hello world\n"), "line 2: expected 'CALL(ARGUMENTS) = RESULT', found 'hello world'"),
        (format!("{log}1 1.0 read(3, \"\", 8"), "line 2: expected 'CALL(ARGUMENTS) = RESULT'"),
        (format!("{log}1 1.0 <... write resumed>) = x"), "line 2: expected 'CALL(ARGUMENTS) = RESULT'"),
        (
            "1 1.0 read(3, <unfinished ...>\n1 1.0 <... write resumed>) = 0".into(),
            "line 2: expected the end of 'read(3,'",
        ),
        ("% time seconds usecs/call calls errors syscall\n 1 2 3 x read\n".into(), "line 2: expected a row"),
        ("% time seconds calls\n".into(), "line 1: expected the columns '% time, seconds, usecs/call"),
    ];
    for (text, expected) in cases {
        let message = read_bytes(text.as_bytes()).unwrap_err();
        assert!(message.contains(&format!(": {expected}")), "\n{message}\nis not\n{expected}");
    }
    let place = Place::new();
    fs::write(place.path().join("log.txt"), format!("{log}hello\n")).unwrap();
    let output = place.run(&["show", "log.txt"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).starts_with("syscost: log.txt: line 2: expected"), "{}", stderr(&output));
}

#[test]
fn special_lines_of_logs_are_understood() {
    let cases: [(&str, &str, u64); 6] = [
        ("1 read(3, \") = 5\", 8) = 6\n", "read", 0),
        ("1 nanosleep({tv_sec=1}, 0x7ffe) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)\n", "nanosleep", 0),
        ("1 exit_group(0) = ?\n", "exit_group", 1),
        ("1 <... wait4 resumed>) = 17\n", "wait4", 0),
        ("1 read(0,  <unfinished ...>\n", "read", 1),
        ("clone3({x=1}strace: Process 21640 attached\n => {parent_tid=[21640]}, 88) = 21640 <0.000048>\n", "clone3", 0),
    ];
    for (log, name, unfinished) in cases {
        let profile = traced_by_strace(log);
        let all = profile.all_calls();
        assert_eq!(
            (profile.groups[0].calls[0].call.as_str(), all.calls, all.unfinished),
            (name, 1, unfinished),
            "{log}"
        );
    }
    let restarted = traced_by_strace(cases[1].0).all_calls();
    assert_eq!(restarted.errors.keys().collect::<Vec<_>>(), ["ERESTART_RESTARTBLOCK"]);
    let mode = traced_by_strace("[ Process PID=1 runs in 32 bit mode. ]\ngetpid() = 1\n");
    assert!(mode.warnings[0].contains("32 bit"), "{:?}", mode.warnings);
}

#[test]
fn shipped_profiles_are_sound() {
    let path = root().join("studies/mercurial.profile.json");
    expect_valid("profile-1", &fs::read_to_string(&path).unwrap());
    assert_eq!(store::read_profile(&path).unwrap().all_calls().calls, 60_397_978);
    assert!(store::read(&path).unwrap_err().to_string().contains("not a result file"));
}
