//! Profiles as their users meet them: files written, by hand or by the store, read and shown; what cannot be read is explained in a line.
//!
//! `SNAPSHOTS=overwrite cargo test --test files profile` rewrites tests/profile/*.golden.

use crate::common::{Place, expect_file, expect_valid, file, root, stdout};
use crate::shaken::Shaker;
use model::*;
use std::fs;
use std::path::Path;

pub fn fixture(name: &str) -> String {
    file(&format!("tests/profile/{name}"))
}

pub fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

pub fn json(profile: &Profile) -> String {
    let mut bytes = Vec::new();
    store::write_to(profile, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Reads `bytes` as a profile; the message of a failure is checked to be one printable line that names the file.
pub fn read_bytes(bytes: &[u8]) -> Result<Profile, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    store::read_profile(file.path()).map_err(|error| {
        let message = error.to_string();
        assert!(
            message.starts_with(file.path().to_str().unwrap()),
            "{message}"
        );
        assert!(
            !message.chars().any(char::is_control) && message.len() < 1500,
            "{message}"
        );
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
            let Ok(profile) = read_bytes(shaker.shaken(&whole, *rarity).to_string().as_bytes())
            else {
                return false;
            };
            let text = json(&profile);
            expect_valid("profile-2", &text);
            assert_eq!(read_bytes(text.as_bytes()).unwrap(), profile);
            true
        };
        let sound = (2..62).filter(is_sound).count();
        assert!(sound > 10, "{name}: {sound}");
    }
}

fn hand_written() -> String {
    r#"{"schema": "syscost.profile/2", "calls": [{"call": "read", "calls": 12}, {"call": "read", "calls": 3, "process": "sh"}]}"#.to_string()
}

#[test]
fn a_profile_by_hand_needs_names_and_counts_only() {
    let profile = read_bytes(hand_written().as_bytes()).unwrap();
    assert!(profile.complete && profile.usage == Usage::default());
    let total = &profile.totals(By::Call)[0].count;
    assert_eq!(
        (total.call.as_str(), total.calls, total.on_cpu_ns),
        ("read", 15, None)
    );
    expect_valid("profile-2", &hand_written());
}

#[test]
fn where_a_tracer_works_is_known_of_files_that_do_not_say() {
    let adds = |tracer: &str| {
        let text =
            format!(r#"{{"schema": "syscost.profile/2", "tracer": {{{tracer}}}, "calls": []}}"#);
        read_bytes(text.as_bytes())
            .unwrap()
            .tracer
            .adds_system_time
            .unwrap()
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
        (
            "[1]".into(),
            "is not a syscost profile: it is JSON without \"schema\": \"syscost.profile/2\"",
        ),
        (
            swap("profile/2", "profile/3"),
            "written by a newer syscost (profile/3); this one reads up to profile/2: update",
        ),
        (
            swap("profile/2", "result/1"),
            "is \"syscost.result/1\", not a profile: use the profile (\"syscost.profile/2\")",
        ),
        (
            swap("12", "-12"),
            "calls[0]: invalid value: integer `-12`, expected u64; the file was edited or",
        ),
        (
            swap("12", "1.5"),
            "calls[0]: invalid type: floating point `1.5`",
        ),
        (
            swap("\"calls\": 12", "\"times\": 12"),
            "calls[0]: missing field `calls`",
        ),
        (swap("\"read\"", "\"\""), "calls[0] (): call: is empty"),
        (
            swap("12", "18446744073709551615"),
            "calls.calls: add up to 2^64 or more",
        ),
        (
            swap("12", "12, \"errors\": {\"\": 1}"),
            "calls[0] (read): errors: is empty",
        ),
        (
            swap("12", "12, \"class\": {\"descriptor\": \"door\"}"),
            "unknown variant `door`",
        ),
        (
            swap(
                "\"calls\": [",
                "\"durations\": {\"read\": [[2048, 1]]}, \"calls\": [",
            ),
            "durations.read: bucket 2048 is beyond",
        ),
        (
            swap(
                "\"calls\": [",
                "\"processes\": [{\"name\": \"a\"}, {\"name\": \"a\"}], \"calls\": [",
            ),
            "'a' occurs twice",
        ),
        (
            swap(
                "\"calls\": [",
                "\"tracer\": {\"added_per_call_ns\": -1}, \"calls\": [",
            ),
            "tracer.added_per_call_ns: is -1.0, must be a number from 0 to 2^64",
        ),
        (
            swap(
                "\"calls\": [",
                "\"tracer\": {\"added_per_call_ns\": 1e308}, \"calls\": [",
            ),
            "tracer.added_per_call_ns: is 1e308, must be a number from 0 to 2^64",
        ),
        (
            swap(
                "12",
                "12, \"on_cpu_ns\": 9223372036854775808, \"blocked_ns\": 9223372036854775808",
            ),
            "calls: on_cpu_ns, blocked_ns, runnable_ns and elapsed_ns together: add up to 2^64 or more",
        ),
    ];
    for (bytes, expected) in cases {
        let message = read_bytes(bytes.as_bytes()).unwrap_err();
        assert!(
            message.contains(expected),
            "\n{message}\ndoes not contain\n{expected}"
        );
    }
    for end in 1..hand_written().len() {
        let message = read_bytes(&hand_written().as_bytes()[..end]).unwrap_err();
        assert!(message.contains("is incomplete"), "{end}: {message}");
    }
}

#[test]
fn blocked_time_of_version_1_goes_on_until_the_thread_ran() {
    let text = |blocked: u64| {
        let times = format!(r#""blocked_ns": {blocked}, "woken_ns": 30, "preempted_ns": 5"#);
        let calls = format!(r#"[{{"name": "read", "calls": 1, {times}}}]"#);
        format!(
            r#"{{"schema": "syscost.profile/1", "calls": {calls}, "repeats": [{{"calls": {calls}}}],
            "stacks": [{{"call": "read", "frames": [], "calls": 1, {times}}}],
            "slowest": [{{"call": "read", "elapsed_ns": 1, {times}}}],
            "objects": [{{"kind": "path", "name": "/x", "call": "read", "calls": 1, {times}}}]}}"#
        )
    };
    let profile = read_bytes(text(100).as_bytes()).unwrap();
    let counts = [
        &profile.groups[0].calls[0],
        &profile.repeats[0].calls[0],
        &profile.objects[0].count,
    ];
    for count in counts {
        assert_eq!(
            (count.blocked_ns, count.woken_ns, count.runnable_ns),
            (Some(70), Some(30), Some(35))
        );
    }
    assert_eq!(
        (profile.stacks[0].blocked_ns, profile.slowest[0].blocked_ns),
        (Some(70), Some(70))
    );
    let again = json(&profile);
    assert!(
        again.contains("\"syscost.profile/2\"") && !again.contains("preempted_ns"),
        "{again}"
    );
    assert_eq!(read_bytes(again.as_bytes()).unwrap(), profile);
    assert!(
        read_bytes(text(20).as_bytes())
            .unwrap_err()
            .contains("woken_ns: is more than blocked_ns")
    );
}

#[test]
fn what_cannot_be_written_is_told_and_leaves_nothing() {
    let profile = read_bytes(hand_written().as_bytes()).unwrap();
    let error = store::write(&profile, Path::new("/"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("is a directory: name a profile"), "{error}");
    let mut nan = profile.clone();
    nan.tracer.added_per_call_ns = Some(f64::NAN);
    let place = tempfile::tempdir().unwrap();
    let error = store::write(&nan, &place.path().join("p.json"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("not written, since no profile may have this: tracer.added_per_call_ns"),
        "{error}"
    );
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn show_tells_profiles_and_runs_apart() {
    let place = Place::new();
    place.write("p.json", hand_written());
    let run = file("tests/golden/run.json");
    let of_profile: [(&str, i32, &str); 5] = [
        (
            "--sort cost",
            2,
            "--only and --sort are for result files, p.json is a profile",
        ),
        (
            "--format go-benchmark",
            2,
            "--format go-benchmark and rows are for result files: choose text, markdown, csv or json",
        ),
        (
            "--view bars",
            2,
            "choose --view table, latency, slowest or stacks",
        ),
        (
            "--view slowest --by call",
            2,
            "--by is for the table of a profile",
        ),
        ("--weight blocked", 2, "--weight is for --view stacks"),
    ];
    place.refuses("show p.json", &of_profile);
    let of_run: [(&str, i32, &str); 2] = [
        (
            "--by class",
            2,
            "--by, --weight and --no-arguments are for profiles",
        ),
        ("--view stacks", 2, "this --view is for profiles"),
    ];
    place.refuses(&format!("show {}", run), &of_run);
    assert!(stdout(&place.run(&["show", "p.json"])).contains("total"));
}

#[test]
fn a_traced_profile_is_shown_in_each_format() {
    let path = fixture("traced.json");
    expect_file(
        fixture("traced.json"),
        &json(&read_bytes(text("traced.json").as_bytes()).unwrap()),
    );
    for by in ["call", "class", "process"] {
        let table = printed(&["show", &path, "--by", by]);
        assert!(
            table.lines().all(|line| line.chars().count() <= 80),
            "{table}"
        );
        expect_file(fixture(&format!("show-{by}.golden")), &table);
    }
    for format in ["markdown", "csv", "json"] {
        expect_file(
            fixture(&format!("show-{format}.golden")),
            &printed(&["show", &path, "--format", format]),
        );
    }
    expect_valid(
        "profile-summary-3",
        &printed(&["show", &path, "--format", "json"]),
    );
}

/// A profile with what tracers collect only when asked; the figures are made up.
#[test]
fn a_detailed_profile_has_more_views() {
    let path = fixture("detailed.json");
    expect_file(
        fixture("detailed.json"),
        &json(&read_bytes(text("detailed.json").as_bytes()).unwrap()),
    );
    for view in ["latency", "slowest", "stacks"] {
        let shown = printed(&["show", &path, "--view", view]);
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80) || view == "stacks",
            "{shown}"
        );
        expect_file(fixture(&format!("view-{view}.golden")), &shown);
        let csv = printed(&["show", &path, "--view", view, "--format", "csv"]);
        expect_file(fixture(&format!("view-{view}-csv.golden")), &csv);
        assert!(
            printed(&["show", &path, "--view", view, "--format", "markdown"]).contains("| --"),
            "{view}"
        );
        expect_valid(
            "profile-summary-3",
            &printed(&["show", &path, "--view", view, "--format", "json"]),
        );
    }
    for by in ["process", "cgroup", "error", "path", "descriptor"] {
        expect_file(
            fixture(&format!("detailed-{by}.golden")),
            &printed(&["show", &path, "--by", by]),
        );
    }
}

#[test]
fn sampled_profiles_are_shares_of_time() {
    let path = fixture("sampled.json");
    expect_file(fixture("sampled.golden"), &printed(&["show", &path]));
    expect_file(
        fixture("sampled-process.golden"),
        &printed(&["show", &path, "--by", "process"]),
    );
    expect_file(
        fixture("sampled-csv.golden"),
        &printed(&["show", &path, "--format", "csv"]),
    );
    let page = printed(&["report", &path, "-o", "-"]);
    assert!(
        page.contains(">total</th>")
            && page.contains(">300</td>")
            && page.contains("user mode 0.1760 s"),
        "{page}"
    );
}

#[test]
fn stacks_are_weighed_as_asked() {
    let path = fixture("detailed.json");
    let blocked = printed(&["show", &path, "--view", "stacks", "--weight", "blocked"]);
    assert!(
        blocked.contains("store;main;import_orders;commit;sync_file;fdatasync 1250000000\n"),
        "{blocked}"
    );
    assert!(
        !blocked.contains("newfstatat"),
        "it was never blocked: {blocked}"
    );
}

#[test]
fn what_a_profile_does_not_hold_is_said() {
    let place = Place::new();
    place.write("p.json", hand_written());
    for (option, value, words) in [
        ("--view", "latency", "This profile has no latencies"),
        ("--view", "slowest", "This profile has no slowest calls"),
        ("--by", "path", "This profile has no paths"),
        ("--by", "descriptor", "This profile has no descriptors"),
        ("--view", "stacks", "This profile has no stacks"),
    ] {
        let output = place.run(&["show", "p.json", option, value]);
        assert!(
            stdout(&output).contains(words),
            "{value}: {}",
            stdout(&output)
        );
    }
}

#[test]
fn a_profile_is_shown_without_arguments() {
    let path = fixture("detailed.json");
    let without = printed(&["show", &path, "--format", "json", "--no-arguments"]);
    assert!(
        without.contains("\"store\"")
            && !without.contains("hunter2")
            && without.contains("orders.db")
    );
}

#[test]
fn shipped_profiles_are_sound() {
    let path = root().join("studies/mercurial.profile.json");
    expect_valid("profile-2", &fs::read_to_string(&path).unwrap());
    assert_eq!(
        store::read_profile(&path).unwrap().all_calls().calls,
        60_397_978
    );
    assert!(
        store::read(&path)
            .unwrap_err()
            .to_string()
            .contains("not a result file")
    );
}
