//! Who started whom, by names: a shim that starts helpers and executes what it stands for, by both tracers.

use crate::common::*;
fn script(place: &Place, name: &str, lines: &str) {
    write_program(&place.path().join(name), &format!("#!/bin/sh\n{lines}\n"));
}

/// The names and processes of each path of the profile, and how many calls there are in all.
fn paths(profile: &Value) -> (Value, u64) {
    let rows = list(&profile["tree"]);
    let paths = rows
        .iter()
        .map(|row| json!([row["names"], row["processes"]]))
        .collect();
    (
        Value::Array(paths),
        rows.iter().map(|row| row["calls"].as_u64().unwrap()).sum(),
    )
}

#[test]
fn a_shim_is_shown_with_what_it_starts() {
    let place = Place::new();
    script(
        &place,
        "shim",
        "/bin/cat shim >/dev/null; /bin/cat shim >/dev/null; (exit 3); exec ./helper",
    );
    script(
        &place,
        "helper",
        "/bin/sleep 0; /bin/cat shim >/dev/null; exit 0",
    );
    let mut tracers = vec!["ptrace"];
    match sys::bpf::available() {
        Ok(()) => tracers.push("bpf"),
        Err(why) => skip(&why),
    }
    for tracer in tracers {
        let ran = place.run(format!(
            "trace --tracer {tracer} -o p.json --report table -- ./shim"
        ));
        expect_status(&ran, 0);
        let profile: Value = place.parsed("p.json");
        let (found, calls) = paths(&profile);
        let expected = json!([
            // The subshell executes nothing: it has its parent's name.
            [["shim"], 2],
            [["shim", "cat"], 2],
            [["shim", "helper"], 1],
            [["shim", "helper", "cat"], 1],
            [["shim", "helper", "sleep"], 1],
        ]);
        assert_eq!(found, expected, "{tracer}");
        let summary = place.document("show p.json");
        assert_eq!(
            (&summary["total"]["calls"], &summary["tree"]),
            (&calls.into(), &profile["tree"]),
            "{tracer}"
        );
        let usage = [
            &summary["usage"]["processes"],
            &summary["usage"]["programs"],
        ];
        assert_eq!(usage, [6, 6], "{tracer}");
        let table = place.read("table");
        let lines = table.replace("\n  ", " ");
        expect_in(
            &lines,
            ["Processes: ", "shim > cat x2: ", "shim > helper: "],
        );
    }
}
