//! Profiles as their users meet them: files written, by hand or by the store, read and shown; what cannot be read is explained in a line.

use crate::common::*;
use crate::shaken::Shaker;
use model::*;

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

pub fn read_bytes(bytes: &[u8]) -> Result<Profile, String> {
    read_as(bytes, store::read_profile)
}

fn printed(arguments: impl Line) -> String {
    Place::new().printed(arguments)
}

#[test]
fn every_profile_is_read_as_it_was_written() {
    let mut shaker = Shaker::new(1);
    for name in [
        "traced.json",
        "detailed.json",
        "sampled.json",
        "sections.json",
    ] {
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
        let step = if cfg!(feature = "heavy") { 1 } else { 3 };
        let sound = (2..122).step_by(step).filter(is_sound).count();
        assert!(sound > 3, "{name}: {sound}");
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

/// On CPUs for so long.
fn in_wall(usage: &str, ns: u64) -> String {
    let calls = format!(r#"[{{"call": "read", "calls": 1, "on_cpu_ns": {ns}}}]"#);
    format!(r#"{{"schema": "syscost.profile/2", "usage": {{{usage}}}, "calls": {calls}}}"#)
}

#[test]
fn each_mistake_has_its_own_message() {
    let swap = |from: &str, to: &str| hand_written().replacen(from, to, 1);
    let texts = [
        String::new(),
        "[1]".into(),
        swap("profile/2", "profile/3"),
        swap("profile/2", "result/1"),
        swap("12", "-12"),
        swap("12", "1.5"),
        swap("\"calls\": 12", "\"times\": 12"),
        swap("\"read\"", "\"\""),
        swap("12", "18446744073709551615"),
        swap("12", "12, \"errors\": {\"\": 1}"),
        swap("12", "12, \"class\": {\"descriptor\": \"door\"}"),
        swap(
            "\"calls\": [",
            "\"durations\": {\"read\": [[2048, 1]]}, \"calls\": [",
        ),
        swap(
            "\"calls\": [",
            "\"processes\": [{\"name\": \"a\"}, {\"name\": \"a\"}], \"calls\": [",
        ),
        swap(
            "\"calls\": [",
            "\"tracer\": {\"added_per_call_ns\": -1}, \"calls\": [",
        ),
        swap(
            "\"calls\": [",
            "\"tracer\": {\"added_per_call_ns\": 1e308}, \"calls\": [",
        ),
        swap(
            "12",
            "12, \"on_cpu_ns\": 9223372036854775808, \"blocked_ns\": 9223372036854775808",
        ),
        swap("12", "9007199254740993"),
        swap("12}", "12}, {\"call\": \"read\", \"calls\": 1}"),
        swap(
            "\"calls\": [",
            "\"durations\": {\"read\": [[100, 16]]}, \"calls\": [",
        ),
        in_wall(r#""wall_ns": 1000, "cpus": 8"#, 5_000_000_000),
        in_wall(
            r#""wall_ns": 1000000000, "processes": 2, "threads": 1"#,
            9_000_000_000,
        ),
    ];
    let messages = texts.map(|text| read_bytes(text.as_bytes()).unwrap_err());
    let parallel = r#""wall_ns": 1000000000, "processes": 2, "threads": 1, "cpus": 3"#;
    read_bytes(in_wall(parallel, 6_900_000_000).as_bytes()).unwrap();
    expect_mistakes("profile", &messages);
    for end in 1..hand_written().len() {
        let message = read_bytes(&hand_written().as_bytes()[..end]).unwrap_err();
        expect_in(&message, "is incomplete");
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
    expect_in(&again, "\"syscost.profile/2\"");
    expect_not_in(&again, "preempted_ns");
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
    expect_in(&error, "is a directory: name a profile");
    let mut nan = profile;
    nan.tracer.added_per_call_ns = Some(f64::NAN);
    let place = tempfile::tempdir().unwrap();
    let error = store::write(&nan, &place.path().join("p.json"))
        .unwrap_err()
        .to_string();
    expect_in(
        &error,
        "not written, because no profile may have this: tracer.added_per_call_ns",
    );
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn show_tells_profiles_and_runs_apart() {
    let place = Place::new();
    place.write("p.json", hand_written());
    let run = file("tests/golden/run.json");
    place.refusals(
        "show-profile",
        "show p.json",
        &[
            "--sort cost",
            "--format go-benchmark",
            "--view cmpthese",
            "--view slowest --by call",
            "--weight blocked",
        ],
    );
    place.refusals(
        "show-run",
        &format!("show {}", run),
        &["--by class", "--view stacks"],
    );
    assert!(stdout(&place.run("show p.json")).contains("total"));
}

#[test]
fn a_traced_profile_is_shown_in_each_format() {
    let path = fixture("traced.json");
    expect_file(
        fixture("traced.json"),
        &json(&read_bytes(text("traced.json").as_bytes()).unwrap()),
    );
    for by in ["call", "class", "process"] {
        let table = printed(format!("show {path} --by {by}"));
        expect_width(&table, 80);
        expect_file(fixture(&format!("show-{by}.golden")), &table);
    }
    for format in ["markdown", "csv", "json"] {
        expect_file(
            fixture(&format!("show-{format}.golden")),
            &printed(format!("show {path} --format {format}")),
        );
    }
    expect_valid(
        "profile-summary-3",
        &printed(format!("show {path} --format json")),
    );
}

#[test]
fn a_detailed_profile_has_more_views() {
    let path = fixture("detailed.json");
    expect_file(
        fixture("detailed.json"),
        &json(&read_bytes(text("detailed.json").as_bytes()).unwrap()),
    );
    for view in ["latency", "slowest", "stacks"] {
        let shown = printed(format!("show {path} --view {view}"));
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80) || view == "stacks",
            "{shown}"
        );
        expect_file(fixture(&format!("view-{view}.golden")), &shown);
        let csv = printed(format!("show {path} --view {view} --format csv"));
        expect_file(fixture(&format!("view-{view}-csv.golden")), &csv);
        assert!(
            printed(format!("show {path} --view {view} --format markdown")).contains("| --"),
            "{view}"
        );
        expect_valid(
            "profile-summary-3",
            &printed(format!("show {path} --view {view} --format json")),
        );
    }
    for by in ["process", "cgroup", "error", "path", "descriptor"] {
        expect_file(
            fixture(&format!("detailed-{by}.golden")),
            &printed(format!("show {path} --by {by}")),
        );
    }
}

#[test]
fn sampled_profiles_are_shares_of_time() {
    let path = fixture("sampled.json");
    expect_file(fixture("sampled.golden"), &printed(format!("show {path}")));
    expect_file(
        fixture("sampled-process.golden"),
        &printed(format!("show {path} --by process")),
    );
    expect_file(
        fixture("sampled-csv.golden"),
        &printed(format!("show {path} --format csv")),
    );
    let page = printed(format!("report {path} -o -"));
    expect_in(&page, [">total</th>", ">300</td>", "user mode 0.1760 s"]);
}

#[test]
fn sections_are_shown_and_compared_per_iteration() {
    let path = fixture("sections.json");
    let read = read_bytes(text("sections.json").as_bytes()).unwrap();
    expect_file(&path, &json(&read));
    let mut grown = read.clone();
    grown.sections[0].calls[0].calls += 1_000;
    grown.sections[0].processes += 2_000;
    grown.sections[2].name = "other".to_string();
    let place = Place::new();
    place.write("grown.json", json(&grown));
    place.write("none.json", hand_written());
    fs::copy(&path, place.path().join("sections.json")).unwrap();
    let cases = [
        ("text", 0, "show sections.json --by section"),
        ("csv", 0, "show sections.json --by section --format csv"),
        (
            "markdown",
            0,
            "show sections.json --by section --format markdown",
        ),
        (
            "compare",
            1,
            "compare sections.json grown.json --fail-on-entries",
        ),
        ("none", 0, "show none.json --by section"),
    ];
    for (name, status, line) in cases {
        let output = place.run(line);
        assert_eq!(output.status.code(), Some(status), "{line}");
        let shown = stdout(&output) + &stderr(&output);
        expect_file(fixture(&format!("sections-{name}.golden")), &shown);
    }
}

#[test]
fn stacks_are_weighed_as_asked() {
    let path = fixture("detailed.json");
    let blocked = printed(format!("show {path} --view stacks --weight blocked"));
    expect_in(
        &blocked,
        "store;main;import_orders;commit;sync_file;fdatasync 1250000000\n",
    );
    expect_not_in(&blocked, "newfstatat");
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
        let output = place.run(format!("show p.json {option} {value}"));
        expect_in(stdout(&output), words);
    }
}

#[test]
fn a_profile_is_shown_without_arguments() {
    let path = fixture("detailed.json");
    let without = printed(format!("show {path} --format json --no-arguments"));
    expect_in(&without, ["\"store\"", "orders.db"]);
    expect_not_in(&without, "hunter2");
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
