//! Result files for the tests of `compare`: made here, so that every number in the golden output is known.

use serde_json::{Value, json};
use std::path::Path;

/// A run with these records on a machine that is the same unless a test changes it.
pub fn run(name: &str, started_unix_s: u64, records: Vec<Value>) -> Value {
    json!({
        "schema": "syscost.result/1",
        "tool": {"name": "syscost", "version": "0.1.0", "compiler": "cc 12.2.0"},
        "source": null,
        "host": {
            "name": name, "system": "Linux", "kernel": "6.1.0", "cpu": "EPYC 9354", "architecture": "x86_64",
            "hypervisor": "kvm", "clock_source": "tsc", "libc": "glibc-2.36", "mitigations": ["spectre_v2: IBRS"],
        },
        "plan": {"seed": started_unix_s, "budget_s": 4.0, "precision_percent": 1.0},
        "started_unix_s": started_unix_s,
        "elapsed_s": 4.0,
        "complete": true,
        "warnings": [],
        "records": records,
    })
}

fn record(operation: &str, name: Option<&str>, entries: Option<Value>) -> Value {
    let reason = if entries.is_some() { Value::Null } else { json!("not stated by the source") };
    let status = if entries.is_some() { "verified" } else { "unverified" };
    json!({
        "operation": operation, "name": name, "language": null, "environment": "native", "params": {}, "defaults": {},
        "role": "asked", "entries": entries, "entries_status": status, "entries_reason": reason, "mode_samples": null,
        "warnings": [],
    })
}

/// A record of three launches of four blocks, whose launches lie 0.2% apart; `ns` for one iteration.
pub fn measured(operation: &str, entries: Value, ns: f64) -> Value {
    let mut record = record(operation, None, Some(entries));
    let batch =
        |launch: i32, i: i32| (1000.0 * ns * (1.0 + 0.002 * f64::from(launch - 1) + 1e-4 * f64::from(i))) as u64;
    let block = |i: i32| json!({"launch": i / 4, "slots": [[batch(i / 4, 0), batch(i / 4, 1)], [batch(i / 4, i % 4)]]});
    record["samples"] = json!({
        "iterations": 1000, "blocks": (0..12).map(block).collect::<Vec<_>>(),
        "cpu": {"user_ns": 1, "system_ns": 1, "wall_ns": 2}, "preempted_ns": [], "minor_faults": 0, "major_faults": 0,
        "switches": false,
    });
    record
}

/// A record that failed.
pub fn failed(operation: &str, message: &str) -> Value {
    let mut record = record(operation, None, Some(json!({})));
    record["error"] = json!({"kind": "failed", "message": message});
    record
}

/// A figure of an article: so many seconds for so many calls.
pub fn published(name: &str, seconds: f64, calls: u64, entries: Option<Value>) -> Value {
    let mut record = record(name, Some(name), entries);
    let figure =
        json!({"ns_per_op": seconds * 1e9 / calls as f64, "as_printed": format!("{seconds} s"), "count": calls});
    record["figure"] = figure;
    record
}

/// An article's run.
pub fn article(system: &str, kernel: &str, records: Vec<Value>) -> Value {
    let mut run = run("", 0, records);
    run["source"] = json!({"title": "One call at a time", "note": ""});
    run["host"] = json!({"system": system, "kernel": kernel});
    run
}

/// The figures of the article about calls across operating systems, as seconds; `None` where there is none.
pub fn os_calls(column: usize) -> Value {
    const MANY: u64 = 0x400_0000;
    const FEW: u64 = 0x1_0000;
    let table: [(&str, u64, [Option<f64>; 3]); 9] = [
        ("fstat", MANY, [Some(31.12), Some(8.36), Some(62.13)]),
        ("lstat", MANY, [Some(51.18), Some(27.41), Some(165.26)]),
        ("time", MANY, [Some(13.30), Some(243.82), Some(26.39)]),
        ("gettimeofday", MANY, [Some(2.86), Some(250.78), Some(32.94)]),
        ("umask", MANY, [Some(11.61), Some(3.61), Some(23.70)]),
        ("getpid", MANY, [None, None, Some(21.78)]),
        ("fork+wait", FEW, [Some(27.36), Some(9.35), Some(24.32)]),
        ("vfork+wait", FEW, [Some(0.52), Some(6.03), Some(5.68)]),
        ("unrelated", MANY, [Some(1.0), Some(1.0), Some(1.0)]),
    ];
    let record = |(name, calls, seconds): &(&str, u64, [Option<f64>; 3])| {
        let entries = match *name {
            "gettimeofday" => [json!({}), json!({"gettimeofday": 1}), json!({"gettimeofday": 1})][column].clone(),
            _ => json!({*name: 1}),
        };
        Some(published(name, seconds[column]?, *calls, Some(entries)))
    };
    let (system, kernel) = [("Mac OS X", "10.7.5"), ("Linux", "2.6.32"), ("SunOS", "5.11")][column];
    article(system, kernel, table.iter().filter_map(record).collect())
}

pub fn write(directory: &Path, name: &str, run: &Value) {
    std::fs::write(directory.join(name), run.to_string()).unwrap();
}
