//! Result files for the tests of `compare`: made here, so that every number in the golden output is known.

use crate::common::*;
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

fn record(operation: &str, entries: Value) -> Value {
    json!({
        "operation": operation, "name": null, "language": null, "environment": "native", "params": {}, "defaults": {},
        "role": "asked", "entries": entries, "entries_status": "verified", "entries_reason": null, "mode_samples": null,
        "warnings": [],
    })
}

/// A record of three launches of four blocks, whose launches lie 0.2% apart; `ns` for one iteration.
pub fn measured(operation: &str, entries: Value, ns: f64) -> Value {
    let mut record = record(operation, entries);
    let batch = |launch: i32, i: i32| {
        (1000.0 * ns * (1.0 + 0.002 * f64::from(launch - 1) + 1e-4 * f64::from(i))) as u64
    };
    let block = |i: i32| json!({"launch": i / 4, "slots": [[batch(i / 4, 0), batch(i / 4, 1)], [batch(i / 4, i % 4)]]});
    record["samples"] = json!({
        "iterations": 1000, "blocks": (0..12).map(block).collect::<Vec<_>>(),
        "cpu": {"user_ns": 1, "system_ns": 1, "wall_ns": 2}, "preempted_ns": [], "minor_faults": 0, "major_faults": 0,
        "switches": false,
    });
    record
}

pub fn failed(operation: &str, message: &str) -> Value {
    let mut record = record(operation, json!({}));
    record["error"] = json!({"kind": "failed", "message": message});
    record
}

pub fn write(directory: &Path, name: &str, run: &Value) {
    fs::write(directory.join(name), run.to_string()).unwrap();
}
