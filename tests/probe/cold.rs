//! Calls that are timed one by one after other work has displaced caches.

use crate::common::*;
fn document(place: &Place, arguments: impl Line) -> Value {
    let fixed = "--time 1 --quiet --format json";
    json(&place.run(("run", arguments, &fixed)))
}

fn records(document: &Value, of: &str) -> Vec<Value> {
    document[of].as_array().expect("a list").clone()
}

#[test]
fn cold_rows_follow_their_warm_one_and_are_relative_to_it() {
    let run = document(&Place::new(), "id.getppid --cold=0,32K");
    let rows = records(&run, "records");
    let sizes: Vec<&Value> = rows.iter().map(|row| &row["params"]["cold"]).collect();
    assert_eq!(sizes, [&Value::Null, &json!(0), &json!(32768)]);
    assert!(
        rows.iter()
            .all(|row| row["entries"] == rows[0]["entries"] && row["error"].is_null()),
        "{rows:?}"
    );
    assert!(rows[0]["cold_over_warm"].is_null() && rows[0]["times_getppid"].is_number());
    for row in &rows[1..] {
        assert!(
            row["net_ns"].is_number() && row["cold_over_warm"]["value"].is_number(),
            "{row}"
        );
        assert!(
            row["times_getppid"].is_null() && row["user_share"].is_null(),
            "{row}"
        );
    }
    let loops = records(&run, "baselines")
        .into_iter()
        .filter(|row| row["operation"] == "call.empty_loop");
    let sizes: Vec<Value> = loops.map(|row| row["params"]["cold"].clone()).collect();
    assert_eq!(sizes, [Value::Null, json!(0), json!(32768)]);
    assert!(
        list(&run["fits"]).is_empty(),
        "no cost is a line over what was displaced"
    );
}

/// Operations that prepare each batch, switch, have partners or children, or fault.
const ALL_KINDS: &str = "fd.close mem.madvise mem.fault_anonymous file.creat_unlink sync.cond_pingpong signal.pause_pingpong process.fork_wait process.fork_exec_static";

#[test]
fn all_kinds_of_operations_can_be_cold() {
    let place = Place::new();
    let run = document(&place, (ALL_KINDS, "--param cold=64K --no-verify"));
    let failed: Vec<Value> = records(&run, "records")
        .into_iter()
        .filter(|row| !row["error"].is_null())
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!((place.left_behind(), place.processes().len()), (vec![], 0));
}

#[test]
fn the_table_says_what_cold_costs_are() {
    let place = Place::new();
    let words = "run id.getppid --cold=0,32K --time 1 --no-verify --quiet --view wide";
    let output = place.command(words).env("COLUMNS", "300").output().unwrap();
    let text = stdout(&output);
    let row = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
            .to_string()
    };
    assert!(row("operation").contains("cold / warm"), "{text}");
    assert!(row("id.getppid cold=32K").contains("unverified"), "{text}");
    expect_in(
        &text,
        "\ncold=SIZE: single calls, each after SIZE of memory and 128K of code",
    );
}

/// Memory of 32 MiB is touched at each start, and walked before each call.
#[test]
fn cold_calls_that_take_longer_than_the_time_given_are_told_before() {
    let output = Place::new().run("run file.stat --no-verify --time 1 --cold=32M");
    expect_status(&output, 0);
    let told = stderr(&output);
    expect_in(&told, "--time 1: ");
    expect_in(&told, "baselines included, need about ");
}

#[test]
fn what_cannot_be_cold_says_why() {
    let place = Place::new();
    for (arguments, says) in [
        (
            "io.getc --param cold=32K",
            "only some iterations enter the kernel",
        ),
        (
            "id.getppid --param cold=5000",
            "parameter cold: a multiple of 4K",
        ),
        ("id.getppid --param cold=2G", "parameter cold: from 0 to 1G"),
    ] {
        let row = records(&document(&place, (arguments, "--no-verify")), "records").remove(0);
        expect_in(row["error"]["message"].to_string(), says);
    }
    place.refusals(
        "cold",
        "",
        &[
            "run perl:1 --cold",
            "run perl:1 --param cold=0",
            "run id.getppid --cold --param cold=0",
            "run id.getppid --cold=warm",
            "explain id.getppid --param cold=0",
        ],
    );
}
