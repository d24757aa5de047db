//! Single calls from end to end: what is stored shows what was measured, and eBPF sees the same calls. No test asserts a time; percentiles must only be in order.

use crate::common::*;
use measure::runner::RunDirectory;

const RUN: &str =
    "run io.write_null file.open_close call.direct ipc.pipe c:getpid() --time 0.5 --view latency";

fn measured(place: &Place, more: impl Line) -> String {
    place.printed((RUN, "--latency=0.3 --quiet --out r.json", more))
}

fn record<'a>(run: &'a Value, operation: &str) -> &'a Value {
    list(&run["records"])
        .iter()
        .find(|record| record["operation"] == operation)
        .unwrap()
}

#[test]
fn percentiles_are_in_order_and_rows_without_them_say_why() {
    let place = Place::new();
    let printed: Value = serde_json::from_str(&measured(&place, "--format json")).unwrap();
    for operation in ["file.open_close", "ipc.pipe"] {
        let record = record(&printed, operation);
        let latency = &record["latency"];
        let calls = latency["calls"].as_u64().unwrap_or_default();
        assert!((1..=100_000).contains(&calls), "{record:.2000}");
        let ns =
            ["p50_ns", "p90_ns", "p99_ns", "max_ns"].map(|name| latency[name].as_f64().unwrap());
        assert!(ns.is_sorted(), "{latency}");
    }
    let files = &record(&printed, "file.open_close")["latency"];
    let count = |name: &str| files[name].as_u64().unwrap();
    assert!(
        count("preempted") + files["interrupted"].as_u64().unwrap_or(0) <= count("calls"),
        "{files}"
    );
    assert!(
        record(&printed, "ipc.pipe")["latency"]["preempted"].is_null(),
        "its switches are its own"
    );
    let short = &record(&printed, "call.direct")["latency"]["error"];
    assert_eq!(short["kind"], "too_short", "{short}");
    let snippet = &record(&printed, "getpid()")["latency"]["error"];
    assert!(
        snippet["message"]
            .as_str()
            .unwrap()
            .starts_with("single calls of snippets are not timed"),
        "{snippet}"
    );
}

#[test]
fn what_is_stored_shows_the_same_table_and_other_runs_say_how_to_have_one() {
    let place = Place::new();
    let table = measured(&place, "");
    // Long times elsewhere in the table wrap what follows the colon.
    expect_in(&table, ["too short:", "is subtracted"]);
    assert_eq!(place.printed("show r.json --view latency"), table);
    let drawn = place.printed("report r.json --format svg --figure latency -o -");
    expect_in(&drawn, ["share of the calls", "file.open_close"]);
    let page = place.printed("report r.json -o -");
    expect_in(&page, "<section id=\"latency\"");
    let golden = root().join("tests/golden/run.json");
    let without = place.printed(format!("show {} --view latency", golden.display()));
    expect_in(&without, "measure again with 'syscost run --latency'");
}

/// The probe's reply to a request for 5000 single calls, traced: the facts of its last line, and the profile.
fn traced(place: &Place, operation: &str) -> (String, Value) {
    let directory = RunDirectory::create().unwrap();
    let script = format!(
        "printf 'op {operation}\\nsingle 5000 10000\\n' | {}",
        directory.probe().display()
    );
    let line = "trace --tracer bpf -o p.json --report table.txt -- sh -c";
    let output = place.run((line, [&script]));
    expect_status(&output, 0);
    let facts = stdout(&output)
        .lines()
        .find(|line| line.starts_with("singles "))
        .unwrap()
        .to_string();
    (facts, place.parsed("p.json"))
}

#[test]
fn ebpf_sees_exactly_the_calls_that_were_timed() {
    if let Err(why) = sys::bpf::available() {
        return skip(&why);
    }
    let place = Place::new();
    for (operation, call) in [("id.getppid", "getppid"), ("fd.dup_close", "dup")] {
        let (facts, profile) = traced(&place, operation);
        let performed: u64 = facts.rsplit_once("performed=").unwrap().1.parse().unwrap();
        let calls = list(&profile["calls"]);
        let seen: u64 = calls
            .iter()
            .filter(|one| one["process"] == "probe" && one["call"] == call)
            .map(|one| one["calls"].as_u64().unwrap())
            .sum();
        assert_eq!(
            (seen, profile["tracer"]["lost"].as_u64()),
            (performed, Some(0)),
            "{facts}"
        );
        assert!(performed > 5000, "those that warm the caches too: {facts}");
    }
}

/// A probe whose CPU is not its own alone cannot tell whose interrupts it counts.
#[test]
fn interrupts_are_told_apart_on_a_cpu_of_ones_own_only() {
    if !Path::new("/proc/interrupts").exists()
        || std::thread::available_parallelism().is_ok_and(|n| n.get() < 2)
    {
        return skip("it takes two CPUs and /proc/interrupts");
    }
    let place = Place::new();
    let interrupted = |more: &str| -> Value {
        let text = place.printed((
            "run file.open_close --time 0.5 --quiet --view latency --format json",
            more,
        ));
        record(&serde_json::from_str(&text).unwrap(), "file.open_close")["latency"]["interrupted"]
            .clone()
    };
    assert!(interrupted("").is_u64());
    assert!(interrupted("--cpu none").is_null());
}
