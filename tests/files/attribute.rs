//! `syscost attribute` from the command line: the arithmetic of a published article, an account that adds up, ranges, advice,
//! and errors of one line. Nothing is measured here.
//!
//! `SNAPSHOTS=overwrite cargo test --test files attribute` rewrites tests/attribute/*.golden.

use crate::common::{Place, expect_file, expect_valid, file, json, stderr};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use syscost::attribute::units;
use syscost::model::*;
use syscost::store;

fn expect_golden(name: &str, actual: &str) {
    expect_file(format!("tests/attribute/{name}.golden"), actual);
}

fn record(operation: &str, params: &[(&str, u64)], ns: f64, entries: &[&str]) -> Record {
    let mut case = Case::native(operation);
    case.params = params.iter().map(|(name, value)| (name.to_string(), *value)).collect::<BTreeMap<_, _>>();
    let figure = Figure { time: Nanos(ns), as_printed: format!("{ns} ns"), ..Figure::default() };
    Record {
        entries: Some(entries.iter().map(|name| (name.to_string(), 1.0)).collect()),
        entries_status: EntriesStatus::Verified,
        ..Record::new(case, Outcome::Published(figure))
    }
}

/// Made-up unit costs, each multiplied by `factor`.
fn costs(factor: f64, title: &str) -> Run {
    let r = |op, params: &[(&str, u64)], ns: f64, call| record(op, params, ns * factor, &[call]);
    let records = vec![
        r("id.getppid", &[], 50.0, "getppid"),
        r("socket.send_recv", &[], 700.0, "sendto"),
        r("io.read_file", &[("size", 1)], 100.0, "read"),
        r("io.read_file", &[("size", 4096)], 500.0, "read"),
        r("file.stat", &[("depth", 1), ("entries", 0)], 400.0, "newfstatat"),
        r("file.stat", &[("depth", 4), ("entries", 0)], 800.0, "newfstatat"),
        r("file.stat_absent", &[], 300.0, "newfstatat"),
        r("file.open_close", &[("depth", 1), ("entries", 0)], 900.0, "openat"),
        r("file.open_close", &[("depth", 8), ("entries", 0)], 1600.0, "openat"),
        r("fd.close", &[], 100.0, "close"),
        r("mem.mmap_munmap", &[("size", 4096)], 1000.0, "mmap"),
        r("mem.mmap_munmap", &[("size", 1 << 20)], 1200.0, "mmap"),
        r("process.fork_wait", &[("rss", 0)], 100_000.0, "clone"),
        r("process.vfork_wait", &[("rss", 0)], 40_000.0, "vfork"),
        r("process.fork_exec_dynamic", &[], 600_000.0, "execve"),
        record("mem.fault_anonymous", &[], 500.0 * factor, &[]),
    ];
    let source = Some(Source { title: title.into(), note: String::new() });
    Run { complete: true, records, source, ..Run::default() }
}

/// Writes q.json, a profile with this usage and these calls (JSON).
fn write_profile(place: &Place, usage: &str, calls: &str) {
    let profile = format!(r#"{{"schema": "syscost.profile/1", "usage": {{{usage}}}, "calls": [{calls}]}}"#);
    fs::write(place.path().join("q.json"), profile).unwrap();
}

/// A place with unit costs of here and there, the traced profile, and profiles to be written.
fn place() -> Place {
    let place = Place::new();
    store::write(&costs(1.0, "a made-up machine"), &place.path().join("here.json")).unwrap();
    store::write(&costs(2.0, "a machine half as fast"), &place.path().join("there.json")).unwrap();
    fs::copy(file("tests/profile/traced.json"), place.path().join("p.json")).unwrap();
    place
}

const FULL: [&str; 6] = ["attribute", "p.json", "--costs", "here.json", "--versus", "there.json"];

#[test]
fn the_articles_question_is_answered_with_its_figures() {
    let (linux, mac) = (file("published/linux-2.6.32.json"), file("published/macosx-10.7.json"));
    let profile = file("studies/mercurial.profile.json");
    let arguments = ["attribute", &profile, "--costs", &linux, "--versus", &mac];
    let place = Place::new();
    let text = place.printed(&arguments);
    expect_golden("mercurial", &text);
    assert!(text.contains("The stat family: 4.55 s more there"), "{text}");
    assert!(text.contains("The bare calls: 7.20 s more there, so at most 8 s."), "{text}");
    assert!(text.contains("these calls do not explain a\n  difference of minutes."), "{text}");
    let document = place.document(&arguments);
    let versus = &document["versus"][0];
    let change = |line: &Value| line["change_s"]["value"].as_f64().unwrap();
    // The article: (31.12 - 8.36) x 0.2 and (11.61 - 3.61) x 0.9.
    assert!((change(&versus["families"][0]) - (31.12 - 8.36) * 0.2).abs() < 0.001, "{document:#}");
    assert!((change(&versus["crossings"]) - (11.61 - 3.61) * 0.9).abs() < 0.001, "{document:#}");
}

#[test]
fn a_profile_is_attributed_in_each_format() {
    let place = place();
    let text = place.printed(&FULL);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    expect_golden("full", &text);
    let by_class = place.printed(&["attribute", "p.json", "--costs", "here.json", "--by", "class", "--top", "3"]);
    assert!(by_class.lines().all(|line| line.chars().count() <= 80), "{by_class}");
    expect_golden("class", &by_class);
    expect_golden("bare", &place.printed(&["attribute", "p.json"]));
    for format in ["markdown", "csv", "json"] {
        expect_golden(format, &place.printed(&[&FULL[..], &["--format", format]].concat()));
    }
}

#[test]
fn the_account_adds_up_to_wall_time_times_processors() {
    let place = place();
    for arguments in [&FULL[..], &["attribute", "p.json"]] {
        let document = place.document(arguments);
        let account = &document["here"]["account"];
        let parts = account["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["seconds"]["value"].as_f64().unwrap()).sum();
        // 4 s of wall time; 8 processors, of which 5 s + 1 s of CPU time could use all.
        assert_eq!((account["whole_s"].as_f64(), account["cpus"].as_u64()), (Some(32.0), Some(8)));
        assert!((sum - 32.0).abs() < 1e-9, "{account:#}");
        for part in parts {
            let end = |name: &str| part["seconds"][name].as_f64().unwrap();
            assert!(end("low") <= end("value") && end("value") <= end("high"), "{part:#}");
        }
    }
}

/// The account of a profile with this usage (JSON) and one read that ran for 2 s.
fn account_of(usage: &str) -> Value {
    let place = place();
    let read =
        r#"{"name": "read", "class": {"size": 1}, "calls": 1000, "on_cpu_ns": 2000000000, "blocked_ns": 500000000}"#;
    write_profile(&place, usage, read);
    place.document(&["attribute", "q.json", "--costs", "here.json"])["here"]["account"].clone()
}

fn sum(account: &Value) -> f64 {
    account["parts"].as_array().unwrap().iter().map(|part| part["seconds"]["value"].as_f64().unwrap()).sum()
}

fn part<'a>(account: &'a Value, kind: &str) -> &'a Value {
    let find = |list: &str| account[list].as_array().unwrap().iter().find(|part| part["kind"] == kind);
    find("parts").or_else(|| find("beside")).map_or(&Value::Null, |part| &part["seconds"])
}

#[test]
fn accounts_hold_whatever_is_known() {
    let full = account_of(
        r#""wall_ns": 6000000000, "user_ns": 1000000000, "system_ns": 3000000000, "minor_faults": 4000000, "processes": 1"#,
    );
    assert!((sum(&full) - 6.0).abs() < 1e-9 && full["cpus"] == 1, "one process has one processor: {full:#}");
    // 4,000,000 faults at 500 ns would be 2 s; calls leave 1 s of system time.
    assert_eq!(part(&full, "faults")["value"], 1.0);
    assert_eq!(part(&full, "unexplained_system")["value"], 0.0);
    assert_eq!(
        (&part(&full, "off_cpu")["value"], &part(&full, "blocked")["value"]),
        (&Value::from(2.0), &Value::from(0.5))
    );
    let over = account_of(r#""wall_ns": 6000000000, "user_ns": 1000000000, "system_ns": 1500000000, "processes": 1"#);
    assert!((sum(&over) - 6.0).abs() < 1e-9, "{over:#}");
    // Calls are system time, whatever the ticks found: of 2.5 s, 0.5 s are left for user mode.
    assert_eq!(
        (&part(&over, "user_mode")["value"], &part(&over, "unexplained_system")["value"]),
        (&0.5.into(), &0.0.into())
    );
    assert_eq!(over["notes"][0]["kind"], "exceeds_accounting", "{over:#}");
    let no_wall = account_of(r#""user_ns": 1000000000, "system_ns": 3000000000"#);
    assert!((sum(&no_wall) - 4.0).abs() < 1e-9 && no_wall["whole_s"] == 4.0, "CPU time is the whole: {no_wall:#}");
    let nothing = account_of("");
    assert_eq!((&nothing["whole_s"], &nothing["cpus"]), (&Value::Null, &Value::Null));
    assert_eq!(nothing["notes"][0]["kind"], "no_whole", "{nothing:#}");
}

#[test]
fn unit_costs_twice_as_high_double_what_they_price() {
    let document = place().document(&FULL);
    let versus = &document["versus"][0];
    for call in versus["calls"].as_array().unwrap() {
        let change = &call["change_s"];
        let (value, here) = (change["value"].as_f64().unwrap(), call["here_s"].as_f64().unwrap());
        assert!((value - here).abs() < 1e-9 && (call["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9, "{call:#}");
        // A null call has no model error: of the work it is half or twice.
        let crossing = (call["calls"].as_f64().unwrap() * 50e-9).min(here);
        let (low, half) = (change["low"].as_f64().unwrap(), crossing + (here - crossing) / 2.0);
        // It takes ten times its operation, so most of it may stay as it is.
        let unlike = call["name"] == "exit_group";
        assert!(if unlike { low < half } else { (low - half).abs() < 1e-9 }, "{call:#}");
        assert!((change["high"].as_f64().unwrap() - (crossing + (here - crossing) * 2.0)).abs() < 1e-9, "{call:#}");
    }
    let unpriced: Vec<&str> =
        versus["unpriced"].as_array().unwrap().iter().map(|u| u["name"].as_str().unwrap()).collect();
    assert_eq!(unpriced, ["keyctl"]);
    let kinds: Vec<&str> = versus["lines"].as_array().unwrap().iter().map(|l| l["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["calls", "creation", "faults", "unpriced"]);
    let total = &versus["total"]["change_s"];
    let relative = |end: &str| total[end].as_f64().unwrap() / total["value"].as_f64().unwrap();
    assert!(relative("low") > 0.5 && relative("high") < 2.0, "a total is known better than its parts: {total:#}");
    // 400,012 faults at 500 ns are 0.2 s: under the 0.83 s that calls leave of the system time.
    let faults = versus["lines"][2]["here_s"].as_f64().unwrap();
    assert!((faults - 0.200006).abs() < 1e-9, "{faults}");
}

/// A tracer that adds 5 us to every call, whatever it does: to one that takes 25 times its operation's time as well.
#[test]
fn what_every_crossing_costs_more_is_added_not_multiplied() {
    let place = place();
    let mut slower = costs(1.0, "traced");
    for record in &mut slower.records {
        let entries = record.entries.as_ref().map_or(0.0, |entries| entries.total());
        let Outcome::Published(figure) = &mut record.outcome else { panic!() };
        figure.time.0 += 5000.0 * entries;
    }
    store::write(&slower, &place.path().join("slower.json")).unwrap();
    let stat = r#"{"name": "newfstatat", "class": {"depth": 1}, "calls": 1000, "on_cpu_ns": 10000000}"#;
    let getpid = r#"{"name": "getpid", "calls": 1000, "on_cpu_ns": 30000}, {"name": "keyctl", "calls": 1000, "on_cpu_ns": 30000}"#;
    write_profile(&place, "", &format!("{stat}, {getpid}"));
    let document = place.document(&["attribute", "q.json", "--costs", "here.json", "--versus", "slower.json"]);
    let versus = &document["versus"][0];
    let total = &versus["total"]["change_s"];
    for end in ["value", "low", "high"] {
        assert!((total[end].as_f64().unwrap() - 3000.0 * 5e-6).abs() < 1e-9, "{versus:#}");
    }
}

/// Work that takes a hundred times as long is not just a slower machine: up to four times it is multiplied, the rest is added.
#[test]
fn much_slower_work_is_added_to_each_call() {
    let place = place();
    let mut slower = costs(1.0, "slower");
    for record in slower.records.iter_mut().filter(|record| record.case.operation == "file.stat") {
        let Outcome::Published(figure) = &mut record.outcome else { panic!() };
        figure.time.0 += 35_000.0;
    }
    store::write(&slower, &place.path().join("slower.json")).unwrap();
    // Of 10 us a call the crossing is 50 ns; the operation's work is 350 ns here and 35,350 ns there.
    let stat = r#"{"name": "newfstatat", "class": {"depth": 1}, "calls": 1000, "on_cpu_ns": 10000000}"#;
    write_profile(&place, "", stat);
    let document = place.document(&["attribute", "q.json", "--costs", "here.json", "--versus", "slower.json"]);
    let change = document["versus"][0]["calls"][0]["change_s"]["value"].as_f64().unwrap();
    let expected = 9_950e-6 * 3.0 + (35_350.0 - 4.0 * 350.0) * 1e-6;
    assert!((change - expected).abs() < 1e-9, "{change} {expected}");
}

/// A row by class is priced by its own class, also where the profile does not know the class.
#[test]
fn calls_of_no_known_class_are_priced_alone() {
    let place = place();
    let reads = r#"{"name": "read", "calls": 1000}, {"name": "read", "class": {"size": 4096}, "calls": 2000}"#;
    write_profile(&place, "", reads);
    let seconds = |by: &str| -> Vec<f64> {
        let document = place.document(&["attribute", "q.json", "--costs", "here.json", "--by", by]);
        let rows = document["here"]["calls"].as_array().unwrap().clone();
        rows.iter().map(|row| (row["by_unit_cost_s"]["value"].as_f64().unwrap() * 1e9).round()).collect()
    };
    assert_eq!(seconds("class"), [1_000_000.0, 100_000.0]);
    assert_eq!(seconds("call"), [1_100_000.0]);
}

/// An operation of many calls prices one of them: the others are counted where the traced program makes them.
#[test]
fn calls_inside_an_operation_are_not_counted_twice() {
    let place = place();
    let mut run_of_costs = costs(1.0, "loader");
    let exec = run_of_costs.records.iter_mut().find(|r| r.case.operation == "process.fork_exec_dynamic").unwrap();
    let inner = [("clone", 1.0), ("execve", 1.0), ("mmap", 20.0)];
    exec.entries = Some(inner.iter().map(|(name, count)| (name.to_string(), *count)).collect());
    store::write(&run_of_costs, &place.path().join("loader.json")).unwrap();
    write_profile(&place, "", r#"{"name": "execve", "calls": 1000}"#);
    let document = place.document(&["attribute", "q.json", "--costs", "loader.json"]);
    // 600 us less a fork of 100 us, less 20 bare crossings of 50 ns.
    let priced = document["here"]["calls"][0]["by_unit_cost_s"]["value"].as_f64().unwrap();
    assert!((priced - 1000.0 * (500_000.0 - 20.0 * 50.0) / 1e9).abs() < 1e-9, "{priced}");
}

/// The document of a profile with this usage and these calls (JSON), with unit costs and others twice as high.
fn attributed(place: &Place, usage: &str, calls: &str) -> (Value, String) {
    write_profile(place, usage, calls);
    let arguments = ["attribute", "q.json", "--costs", "here.json", "--versus", "there.json"];
    let document = place.document(&arguments);
    (document, place.printed(&arguments))
}

/// A second of one thread: 0.2 s on a CPU, 0.7 s in fsync.
const SYNCS: (&str, &str) = (
    r#""wall_ns": 1000000000, "user_ns": 150000000, "system_ns": 50000000, "processes": 1, "threads": 0"#,
    r#"{"name": "fsync", "class": {"descriptor": "file"}, "calls": 700, "on_cpu_ns": 50000000, "blocked_ns": 700000000}"#,
);

#[test]
fn the_path_of_one_thread_is_its_wall_time() {
    let (document, text) = attributed(&place(), SYNCS.0, SYNCS.1);
    let path = &document["here"]["path"];
    let parts: Vec<(&str, f64)> = path["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["kind"].as_str().unwrap(), (part["seconds"].as_f64().unwrap() * 1e6).round()))
        .collect();
    assert_eq!(parts, [("on_cpu", 200_000.0), ("blocked", 700_000.0), ("rest", 100_000.0)]);
    assert_eq!((&path["parts"][1]["reason"], &path["serial"]), (&"disk".into(), &true.into()), "{path:#}");
    assert!(text.starts_with("Where the wall time went: 1.00 s") && text.contains("blocked: disk"), "{text}");
    // The account is of CPU time then.
    assert_eq!(document["here"]["account"]["whole_s"], 0.2);
}

#[test]
fn waits_for_the_disk_need_a_unit_cost_and_have_one() {
    let place = place();
    let (document, text) = attributed(&place, SYNCS.0, SYNCS.1);
    let wall = &document["versus"][0]["wall"];
    assert_eq!((&wall["there_s"], &wall["unpriced_waits"][0]["name"]), (&Value::Null, &"fsync".into()), "{wall:#}");
    let text = text.replace("\n  ", " ");
    assert!(
        text.contains("it cannot be predicted without a unit cost of the waits in fsync (0.7000 s): measure io.fsync"),
        "{text}"
    );
    assert!(!text.contains("do not explain"), "{text}");
    for (file, ns) in [("here.json", 1_000_000.0), ("there.json", 1_000.0)] {
        let mut with_sync = costs(1.0, file);
        with_sync.records.push(record("io.fsync", &[], ns, &["fsync"]));
        store::write(&with_sync, &place.path().join(file)).unwrap();
    }
    let (document, _) = attributed(&place, SYNCS.0, SYNCS.1);
    let there = &document["versus"][0]["wall"]["there_s"];
    // 0.75 s in fsync become 0.75 ms, but for the crossings that stay.
    assert!((there["value"].as_f64().unwrap() - 0.25075).abs() < 0.0005, "{there:#}");
    assert!(there["low"].as_f64().unwrap() >= 0.23 && there["high"].as_f64().unwrap() < 0.7, "{there:#}");
}

#[test]
fn a_change_of_parallel_threads_is_not_added_whole() {
    let usage = r#""wall_ns": 2000000000, "user_ns": 1000000000, "system_ns": 2000000000, "processes": 1, "threads": 1,
        "concurrency": {"on_cpu_ns": [1000000000, 1000000000], "waiting_ns": 0, "blocked_ns": 0}"#;
    let reads = r#"{"name": "read", "class": {"size": 1}, "calls": 1000000, "on_cpu_ns": 1500000000, "blocked_ns": 0}"#;
    let (document, _) = attributed(&place(), usage, reads);
    let (total, wall) = (&document["versus"][0]["total"]["change_s"], &document["versus"][0]["wall"]);
    let end = |of: &Value, name: &str| of[name].as_f64().unwrap();
    let change = |name: &str| end(&wall["parts"][0]["change_s"], name);
    assert_eq!(wall["parts"][0]["mean"], 1.5);
    assert!((change("value") - end(total, "value") / 1.5).abs() < 1e-9, "{wall:#}");
    assert!((change("low") - end(total, "low") / 2.0).abs() < 1e-9, "two threads share all of it: {wall:#}");
    assert!((change("high") - end(total, "high")).abs() < 1e-9, "one thread has all of it: {wall:#}");
    let shown: Vec<&Value> =
        document["here"]["path"]["parts"].as_array().unwrap().iter().map(|p| &p["threads"]).collect();
    assert_eq!(shown, [1, 2]);
}

#[test]
fn what_calls_without_a_unit_cost_take_is_always_said() {
    let place = place();
    let calls = r#"{"name": "read", "class": {"size": 1}, "calls": 1000, "on_cpu_ns": 3000000}, {"name": "keyctl", "calls": 10, "on_cpu_ns": 1000000}"#;
    let (document, text) = attributed(&place, "", calls);
    assert_eq!(
        (&document["here"]["unpriced"]["share"], &document["versus"][0]["unpriced_share"]),
        (&0.25.into(), &0.25.into())
    );
    assert!(text.contains("Without a unit cost: 25% of the calls' CPU time (keyctl)."), "{text}");
    // Its work may double as that of the reads does, or stay.
    let line =
        document["versus"][0]["lines"].as_array().unwrap().iter().find(|line| line["kind"] == "unpriced").unwrap();
    let end = |name: &str| line["change_s"][name].as_f64().unwrap();
    assert!((end("low") - end("value")).abs() < 1e-12 && end("high") > 0.0009, "{line:#}");
    let bare = place.printed(&["attribute", "q.json"]);
    assert!(bare.contains("Without a unit cost: 100% of the calls' CPU time"), "{bare}");
}

#[test]
fn no_part_is_negative_however_short_the_program() {
    let read = r#"{"name": "read", "class": {"size": 1}, "calls": 3000, "on_cpu_ns": 1500000, "blocked_ns": 0}"#;
    for (user, system) in [(0, 1_680_000), (1_810_000, 0), (0, 0), (300_000, 1_000_000)] {
        let usage = format!(
            r#""wall_ns": 1500000, "user_ns": {user}, "system_ns": {system}, "processes": 1, "minor_faults": 90"#
        );
        let (document, text) = attributed(&place(), &usage, read);
        let account = &document["here"]["account"];
        for part in account["parts"].as_array().unwrap() {
            let ends = ["value", "low", "high"].map(|end| part["seconds"][end].as_f64().unwrap());
            assert!(ends.iter().all(|end| *end >= 0.0), "{account:#}");
        }
        let kinds: Vec<&Value> = account["notes"].as_array().unwrap().iter().map(|note| &note["kind"]).collect();
        assert!(kinds.contains(&&"few_ticks".into()), "{account:#}");
        assert!((sum(account) - account["whole_s"].as_f64().unwrap()).abs() < 1e-9, "{account:#}");
        assert!(text.replace("\n  ", " ").contains("too few here to tell them apart"), "{text}");
    }
}

#[test]
fn several_comparisons_are_shown_one_after_the_other() {
    let document = place().document(&[&FULL[..], &["here.json"]].concat());
    let names: Vec<&Value> = document["versus"].as_array().unwrap().iter().map(|v| &v["costs"]).collect();
    assert_eq!(names, ["a machine half as fast", "a made-up machine"]);
}

#[test]
fn advice_has_calls_seconds_and_savings() {
    let place = place();
    // Of 4 s of wall time, 4 ms would not be worth a line.
    let shorter = fs::read_to_string(file("tests/profile/traced.json")).unwrap().replace("4000000000,", "100000000,");
    fs::write(place.path().join("p.json"), shorter).unwrap();
    let document = place.document(&FULL);
    let advice = document["advice"].as_array().unwrap();
    let find = |rule: &str| advice.iter().find(|a| a["rule"] == rule).unwrap_or(&Value::Null);
    let reads = find("small-transfers");
    // 20,000 reads of one byte took 4 ms; 5 reads of 4 KiB take their place.
    let saved = reads["saved_s"]["value"].as_f64().unwrap_or_else(|| panic!("{document:#}"));
    assert!((saved - 0.004).abs() < 1e-5, "{reads:#}");
    assert_eq!(reads["calls"], 20_000, "{reads:#}");
    assert_eq!(self::place().document(&FULL)["advice"], Value::Array(vec![]));
    assert_eq!(find("fork-for-exec"), &Value::Null, "vfork was used");
}

#[test]
fn concurrency_beyond_the_unit_costs_is_said() {
    let document = place().document(&FULL);
    let said = serde_json::json!({"kind": "concurrency", "peak": 2, "costs": "a made-up machine", "measured_with": 1});
    assert!(document["warnings"].as_array().unwrap().contains(&said), "{document:#}");
}

#[test]
fn what_the_user_can_mend_is_named() {
    let place = place();
    place.refuses(
        &["attribute"],
        &[
            (&["nosuch.json"], 1, "nosuch.json: there is no such file"),
            (&["here.json"], 1, "is \"syscost.result/1\", not a profile: use the profile"),
            (&["p.json", "--costs", "p.json"], 2, "--costs p.json: is a profile, which has no unit costs"),
            (&["p.json", "--costs", "nosuch.json"], 1, "nosuch.json: there is no such file"),
            (&["p.json", "--versus", "there.json"], 2, "--versus without --costs: a ratio needs both sides"),
            (&["p.json", "--costs", "here.json@gvisor"], 2, "it has no environment 'gvisor', only native"),
            (&["p.json", "--format", "go-benchmark"], 2, "invalid value 'go-benchmark'"),
        ],
    );
    let native = place.run(&["attribute", "p.json", "--costs", "here.json@native"]);
    assert!(native.status.success(), "{}", stderr(&native));
}

#[test]
fn empty_and_hostile_profiles_are_borne() {
    let place = place();
    let huge = "9000000000000000000";
    let usage = ["wall_ns", "user_ns", "system_ns", "processes", "threads", "minor_faults", "major_faults"];
    let usage = usage.map(|name| format!("\"{name}\": {}", if name == "wall_ns" { "0" } else { huge }));
    let read = format!(
        r#"{{"name": "read", "calls": 0, "on_cpu_ns": {huge}, "errors": {{"EIO": {huge}}}, "class": {{"size": {huge}, "set": {huge}, "depth": {huge}}}}}"#
    );
    for (usage, calls) in [("", ""), (&format!("\"cpus\": 0, {}", usage.join(", ")), &read)] {
        write_profile(&place, usage, calls);
        for format in ["text", "csv", "json"] {
            place.printed(&[
                "attribute",
                "q.json",
                "--costs",
                "here.json",
                "--versus",
                "there.json",
                "--format",
                format,
            ]);
        }
    }
}

#[test]
fn the_document_is_valid_by_its_schema() {
    let place = place();
    for arguments in [&FULL[..], &["attribute", "p.json"]] {
        let document = place.document(arguments);
        expect_valid("attribution-3", &document);
    }
}

/// What a profile needs is measured in one command, and prices it.
#[test]
fn a_run_for_a_profile_has_its_unit_costs() {
    let place = Place::new();
    let profile = &file("tests/profile/traced.json");
    let quick = ["--time", "1", "--no-verify", "--out", "here.json", "--format", "json"];
    let output = place.run(&[&["run", "--profile", profile], &quick[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("15 cases price >99% of the time of its calls"), "{said}");
    assert!(said.contains("No operation is like keyctl (<0.1%)."), "{said}");
    let asked: BTreeSet<String> = json(&output)["records"].as_array().unwrap().iter().map(name_of).collect();
    for case in ["id.getppid", "mem.fault_anonymous", "file.open_close depth=5", "io.pipe_write_read size=64"] {
        assert!(asked.contains(case), "{case}: {asked:?}");
    }
    let document = place.document(&["attribute", profile, "--costs", "here.json", "--by", "class"]);
    let calls = document["here"]["calls"].as_array().unwrap();
    let unpriced: Vec<&Value> =
        calls.iter().filter(|row| row["by_unit_cost_s"].is_null()).map(|row| &row["name"]).collect();
    assert_eq!(unpriced, ["keyctl"]);
}

fn name_of(record: &Value) -> String {
    let params = record["params"].as_object().unwrap().iter();
    let given = params.filter(|(name, _)| ["size", "depth"].contains(&name.as_str()));
    given.fold(record["operation"].as_str().unwrap().to_string(), |name, (key, value)| format!("{name} {key}={value}"))
}

#[test]
fn a_profile_takes_the_place_of_patterns() {
    let place = Place::new();
    let profile = &file("tests/profile/traced.json");
    place.refuses(
        &["run", "--profile", profile],
        &[&["id.getppid"][..], &["--all"], &["--study", "perl-ops"], &["--param", "size=1"], &["--cold"]]
            .map(|other| (other, 2, "cannot be used with")),
    );
    write_profile(&place, "", "");
    let run = &file("tests/golden/run.json");
    place.refuses(
        &["run", "--profile"],
        &[
            (&["missing.json"], 1, "syscost: missing.json"),
            (&[run], 1, "not a profile"),
            (&["q.json"], 2, "q.json: the profile has no calls"),
        ],
    );
}

/// The table of unit costs names operations that the probe has.
#[test]
fn every_operation_of_the_table_is_in_the_catalogue() {
    let list = Place::new().printed(&["list", "--format", "csv"]);
    let known: BTreeSet<&str> = list.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let of_units = units::UNITS.iter().flat_map(|unit| unit.operations.iter().chain(unit.less));
    let all = of_units.chain(units::NULL_CALLS).chain(units::FAULTS);
    // What a system lacks is missing in its list.
    let missing: Vec<&&str> = all.filter(|operation| !known.contains(**operation)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
