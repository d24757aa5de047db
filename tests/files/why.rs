//! `syscost why` of a kept profile: parts that add up, the arithmetic of a published article, and errors of one line. Nothing is
//! measured here.

use crate::common::*;
use analysis::attribute::units;
use model::*;

fn record(operation: &str, params: &[(&str, u64)], ns: f64, entries: &[&str]) -> Record {
    let mut case = Case::native(operation);
    case.params = params
        .iter()
        .map(|(name, value)| (name.to_string(), *value))
        .collect::<BTreeMap<_, _>>();
    let figure = Figure {
        time: Nanos(ns),
        as_printed: format!("{ns} ns"),
        ..Figure::default()
    };
    Record {
        entries: Some(entries.iter().map(|name| (name.to_string(), 1.0)).collect()),
        entries_status: EntriesStatus::Verified,
        ..Record::new(case, Outcome::Published(figure))
    }
}

fn costs(factor: f64, title: &str) -> Run {
    let r = |op, params: &[(&str, u64)], ns: f64, call| record(op, params, ns * factor, &[call]);
    let records = vec![
        r("id.getppid", &[], 50.0, "getppid"),
        r("socket.send_recv", &[], 700.0, "sendto"),
        r("io.read_file", &[("size", 1)], 100.0, "read"),
        r("io.read_file", &[("size", 4096)], 500.0, "read"),
        r(
            "file.stat",
            &[("depth", 1), ("entries", 0)],
            400.0,
            "newfstatat",
        ),
        r(
            "file.stat",
            &[("depth", 4), ("entries", 0)],
            800.0,
            "newfstatat",
        ),
        r("file.stat_absent", &[], 300.0, "newfstatat"),
        r(
            "file.open_close",
            &[("depth", 1), ("entries", 0)],
            900.0,
            "openat",
        ),
        r(
            "file.open_close",
            &[("depth", 8), ("entries", 0)],
            1600.0,
            "openat",
        ),
        r("fd.close", &[], 100.0, "close"),
        r("mem.mmap_munmap", &[("size", 4096)], 1000.0, "mmap"),
        r("mem.mmap_munmap", &[("size", 1 << 20)], 1200.0, "mmap"),
        r("process.fork_wait", &[("rss", 0)], 100_000.0, "clone"),
        r("process.vfork_wait", &[("rss", 0)], 40_000.0, "vfork"),
        r("process.fork_exec_dynamic", &[], 600_000.0, "execve"),
        record("mem.fault_anonymous", &[], 500.0 * factor, &[]),
    ];
    let source = Some(Source {
        title: title.into(),
        note: String::new(),
    });
    Run {
        tool: assets::tool(),
        complete: true,
        records,
        source,
        ..Run::default()
    }
}

/// Writes q.json, a profile with this usage and these calls (JSON).
fn write_profile(place: &Place, usage: &str, calls: &str) {
    let profile =
        format!(r#"{{"schema": "syscost.profile/1", "usage": {{{usage}}}, "calls": [{calls}]}}"#);
    place.write("q.json", profile);
}

fn place() -> Place {
    let place = Place::new();
    for (name, factor, title) in [
        ("here.json", 1.0, "a made-up machine"),
        ("there.json", 2.0, "a machine half as fast"),
    ] {
        store::write(&costs(factor, title), &place.path().join(name)).unwrap();
    }
    fs::copy(
        file("tests/profile/traced.json"),
        place.path().join("p.json"),
    )
    .unwrap();
    place
}

const FULL: &str = "why p.json --costs here.json --versus there.json";

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Fails unless both are equal but for what rounding leaves.
fn expect_near(value: &Value, expected: f64, most: f64) {
    assert!(
        (number(value) - expected).abs() < most,
        "{value} {expected}"
    );
}

#[test]
fn the_articles_question_is_answered_with_its_figures() {
    let line = format!(
        "why {} --costs {} --versus {}",
        file("studies/mercurial.profile.json"),
        file("published/linux-2.6.32.json"),
        file("published/macosx-10.7.json")
    );
    let place = Place::new();
    place.prints("tests/why/*.golden", &[("mercurial", 80, &line)]);
    let parts = &place.document(&line)["elsewhere"][0]["parts"];
    // The article: (31.12 - 8.36) x 0.2 and (11.61 - 3.61) x 0.9.
    expect_near(&parts[0]["change_s"], (31.12 - 8.36) * 0.2, 0.001);
    expect_near(&parts[1]["change_s"], (11.61 - 3.61) * 0.9, 0.001);
}

#[test]
fn a_profile_is_answered_in_each_format() {
    let place = place();
    for (name, format) in [
        ("full", "text"),
        ("markdown", "markdown"),
        ("csv", "csv"),
        ("json", "json"),
    ] {
        let line = format!("{FULL} --format {format}");
        place.prints("tests/why/*.golden", &[(name, 80, &line)]);
    }
    for line in [FULL, "why p.json"] {
        expect_valid("why-1", &place.document(line));
    }
    assert_eq!(place.printed("why --report answer.txt p.json"), "");
    expect_in(place.read("answer.txt"), "is user mode, not system calls");
}

#[test]
fn parts_add_up_whatever_is_known() {
    let place = place();
    let outside = r#""outside": {"user_ns": 300000000, "page_faults_ns": 600000000, "interrupts_ns": 50000000, "kernel_ns": 50000000, "samples": 900}"#;
    let one = r#""wall_ns": 4000000000, "user_ns": 1000000000, "system_ns": 2000000000, "processes": 1, "threads": 0"#;
    let states = r#""wall_ns": 4000000000, "user_ns": 1000000000, "system_ns": 2000000000, "concurrency": {"on_cpu_ns": [1000000000, 1000000000], "waiting_ns": 200000000, "blocked_ns": 1500000000}"#;
    let read = r#"{"name": "read", "class": {"size": 1}, "calls": 1000, "on_cpu_ns": 2000000000, "blocked_ns": 450000000}"#;
    let cases = [
        (
            format!("{one}, {outside}"),
            "calls page_faults rest blocked user_mode interrupts kernel",
            Some(4.0),
            Some(3.0),
        ),
        (
            one.to_string(),
            "calls user_mode rest blocked",
            Some(4.0),
            Some(3.0),
        ),
        (
            states.to_string(),
            "blocked_outside calls user_mode rest waiting_for_cpu",
            Some(4.0),
            Some(3.0),
        ),
        (
            r#""user_ns": 1810000, "system_ns": 0"#.to_string(),
            "calls",
            None,
            Some(2.0),
        ),
        (r#""wall_ns": 9"#.to_string(), "calls", None, None),
    ];
    for (usage, kinds, wall_s, cpu_s) in cases {
        write_profile(&place, &usage, read);
        let time = &place.document("why q.json")["time"];
        let parts = list(&time["parts"]);
        let found: Vec<&str> = parts
            .iter()
            .map(|part| part["kind"].as_str().unwrap())
            .collect();
        assert_eq!(found.join(" "), kinds, "{usage}");
        for (field, whole) in [("wall_s", wall_s), ("cpu_s", cpu_s)] {
            let sum: f64 = parts.iter().filter_map(|part| part[field].as_f64()).sum();
            let near = |found: Option<f64>| {
                whole
                    .zip(found)
                    .is_none_or(|(whole, found)| (found - whole).abs() < 1e-9)
            };
            assert!(
                near(Some(sum)) && near(time[field].as_f64()),
                "{usage}: {time:#}"
            );
            assert_eq!(time[field].is_null(), whole.is_none(), "{usage}: {time:#}");
        }
    }
}

#[test]
fn entering_the_kernel_is_priced_by_a_null_call() {
    let place = place();
    let usage = r#""wall_ns": 1000000000, "user_ns": 500000000, "system_ns": 500000000, "processes": 1, "threads": 0"#;
    write_profile(
        &place,
        usage,
        r#"{"name": "read", "calls": 1000000, "on_cpu_ns": 400000000}"#,
    );
    assert!(place.document("why q.json")["entering"].is_null());
    // 1,000,000 x 50 ns of 1 s.
    let document = place.document(FULL.replace("p.json", "q.json"));
    expect_near(&document["entering"]["share"], 0.05, 1e-9);
}

#[test]
fn calls_are_multiplied_by_the_difference_of_their_costs() {
    let place = place();
    let calls = r#"{"name": "read", "class": {"size": 1}, "calls": 1000, "on_cpu_ns": 300000}, {"name": "keyctl", "calls": 10}, {"name": "vfork", "calls": 3}, {"name": "fsync", "calls": 7, "blocked_ns": 9000}"#;
    write_profile(&place, "", calls);
    let document = place.document(FULL.replace("p.json", "q.json"));
    let found = &document["elsewhere"][0];
    // 1,000 x (200 - 100) ns, and 20 bare crossings x (100 - 50) ns.
    expect_near(&found["calls"][0]["change_s"], 1e-4, 1e-12);
    expect_near(&found["total_s"], 1.01e-4, 1e-12);
    let left_out = list(&found["left_out"]).iter();
    let left_out: BTreeSet<(&str, &str)> = left_out
        .map(|own| (own["name"].as_str().unwrap(), own["why"].as_str().unwrap()))
        .collect();
    let expected = [
        ("fsync", "waits"),
        ("fsync", "unpriced"),
        ("keyctl", "unpriced"),
        ("vfork", "creates"),
    ];
    assert!(
        expected.iter().all(|one| left_out.contains(one)) || !left_out.contains(&expected[0]),
        "{left_out:?}"
    );
    let several = place.document((FULL, "--versus here.json"));
    let names: Vec<&Value> = list(&several["elsewhere"])
        .iter()
        .map(|own| &own["there"])
        .collect();
    assert_eq!(names, ["a machine half as fast", "a made-up machine"]);
}

#[test]
fn what_the_user_can_mend_is_named() {
    let place = place();
    place.refusals(
        "why",
        "why",
        &[
            "nosuch.json",
            "here.json",
            "p.json --costs p.json --versus p.json",
            "p.json --costs nosuch.json --versus here.json",
            "p.json --versus there.json",
            "p.json --costs here.json@gvisor --versus here.json",
            "p.json --nosuch",
            "-o x.json p.json",
            "--costs here.json --versus there.json true",
        ],
    );
}

#[test]
fn empty_and_hostile_profiles_are_borne() {
    let place = place();
    let huge = "9000000000000000000";
    let usage = [
        "wall_ns",
        "user_ns",
        "system_ns",
        "processes",
        "threads",
        "minor_faults",
        "major_faults",
    ];
    let usage =
        usage.map(|name| format!("\"{name}\": {}", if name == "wall_ns" { "0" } else { huge }));
    let read = format!(
        r#"{{"name": "read", "calls": 0, "on_cpu_ns": {huge}, "errors": {{"EIO": 9000000000000000}}, "class": {{"size": {huge}, "set": {huge}, "depth": {huge}}}}}"#
    );
    for (usage, calls) in [
        ("", ""),
        (&format!("\"cpus\": 0, {}", usage.join(", ")), &read),
    ] {
        write_profile(&place, usage, calls);
        for format in ["text", "csv", "json"] {
            place.printed(format!(
                "why q.json --costs here.json --versus there.json --format {format}"
            ));
        }
    }
}

#[test]
fn every_operation_of_the_tables_is_in_the_catalogue() {
    let list = Place::new().printed("list --format csv");
    let known: BTreeSet<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    let of_units = units::UNITS
        .iter()
        .flat_map(|unit| unit.operations().chain(unit.less_operations()));
    let compared = analysis::fit::SAME_WORK
        .iter()
        .flat_map(|line| line.split(' '));
    let all = of_units.chain(units::NULL_CALLS.split(' ')).chain(compared);
    // What a system lacks is missing in its list.
    let missing: Vec<&str> = all.filter(|operation| !known.contains(operation)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn advice_names_only_calls_that_are_made_as_often() {
    let place = Place::new();
    let calls = [
        ("openat", 20_000),
        ("read", 20_000),
        ("close", 20_000),
        ("getdents64", 2),
    ];
    let calls = calls.map(|(call, calls)| {
        format!(r#"{{"call": "{call}", "calls": {calls}, "on_cpu_ns": {}, "class": {{"descriptor": "file"}}}}"#, calls * 1000)
    });
    let opens = r#"{"kind": "path", "name": "/x", "call": "openat", "calls": 19999, "on_cpu_ns": 19999000}"#;
    let profile = format!(
        r#"{{"schema": "syscost.profile/2", "usage": {{"wall_ns": 100000000}}, "objects": [{opens}], "calls": [{}]}}"#,
        calls.join(", ")
    );
    place.write("q.json", profile);
    let text = place.printed("why q.json");
    expect_in(&text, "/x opened again 19,998 times (openat+close): ");
}

/// Calls that are advice each, among many others.
const CALLS: &str = "openat close read getpid getppid getuid poll fsync write lseek mprotect fcntl futex sched_yield newfstatat access \
                     brk mmap munmap madvise ioctl fstat getcwd getrandom sendto recvfrom epoll_wait pread64 unlink rename";

#[test]
fn a_screen_about_one_process_has_at_most_24_lines_and_all_of_it_more() {
    let place = Place::new();
    let calls = CALLS.split_whitespace().map(|call| {
        format!(
            r#"{{"call": "{call}", "calls": 100000, "on_cpu_ns": 90000000, "blocked_ns": 9000000}}"#
        )
    });
    let usage = r#""wall_ns": 9000000000, "user_ns": 3000000000, "system_ns": 4000000000, "processes": 1, "threads": 0"#;
    let outside = r#""outside": {"user_ns": 3000000000, "page_faults_ns": 900000000, "interrupts_ns": 50000000, "kernel_ns": 350000000, "samples": 90}"#;
    let paths = (0..9).map(|n| format!(r#"{{"kind": "path", "name": "/a/directory/of/a/program/with/a/long/name/{n}.h", "call": "openat", "calls": 10000, "on_cpu_ns": 9000000}}"#));
    place.write(
        "q.json",
        format!(
            r#"{{"schema": "syscost.profile/2", "command": ["./app"], "null_call_ns": 100, "usage": {{{usage}, {outside}}}, "objects": [{}], "calls": [{}]}}"#,
            paths.collect::<Vec<_>>().join(", "),
            calls.collect::<Vec<_>>().join(", ")
        ),
    );
    let lines = |line: &str, columns: &str| {
        let output = place
            .command(line)
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        expect_status(&output, 0);
        stdout(&output)
    };
    for columns in ["80", "120"] {
        let screen = lines("why q.json", columns);
        assert!(screen.lines().count() <= 24, "{columns}: {screen}");
        let answer = screen.lines().nth(1).unwrap_or_default();
        assert!(answer.starts_with("400,000 getpid"), "{screen}");
    }
    let all = lines("why q.json --view all", "80");
    assert!(
        all.lines().count() > 40 && all.contains("epoll_wait"),
        "{all}"
    );
}

/// Each call enters the kernel, so entering never takes longer than the mean call.
#[test]
fn a_null_call_that_was_slowed_down_is_an_upper_bound() {
    let place = Place::new();
    place.write(
        "slowed.json",
        r#"{"schema": "syscost.profile/2", "null_call_ns": 900, "usage": {"wall_ns": 1000000, "user_ns": 300000, "system_ns": 400000, "processes": 1, "threads": 0}, "calls": [{"call": "read", "calls": 1000, "on_cpu_ns": 200000}]}"#,
    );
    let screen = place.printed("why slowed.json");
    expect_in(
        &screen,
        "Entering the kernel: at most 20% of the wall time (1,000 calls x 200 ns).",
    );
    let entering = &place.document("why slowed.json")["entering"];
    assert_eq!(entering["upper_bound"], true);
}
