//! What the tests of `syscost trace` share: the program of tests/trace/tree.c, and ways to run it traced.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use crate::common::{Place, stderr};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Every tracer that this machine allows, as arguments.
pub const TRACERS: [&[&str]; 2] = [&["--tracer", "ptrace"], &["--tracer", "ptrace", "--counts"]];

/// The program of tests/trace/tree.c in `place`.
pub fn helper(place: &Place) -> PathBuf {
    build(place, "tree", &[]).expect("cc builds tests/trace/tree.c")
}

pub fn build(place: &Place, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let (program, source) = (
        place.tmp().join(name),
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/tree.c"),
    );
    let mut command = Command::new("cc");
    command
        .args(flags)
        .args(["-O1", "-w", "-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .stderr(Stdio::null());
    command.status().unwrap().success().then_some(program)
}

/// Runs `words` under the tracer of `options`, with the table as JSON in a file, which is returned beside the output.
pub fn trace(place: &Place, options: &[&str], words: &[&str]) -> (Output, Value) {
    let report = place.path().join("report.json");
    let arguments = arguments(options, &report, words);
    let output = place.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let text = fs::read(&report).unwrap_or_default();
    let document =
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    (output, document)
}

pub fn arguments(options: &[&str], report: &Path, words: &[&str]) -> Vec<String> {
    let report = ["--format", "json", "--report", report.to_str().unwrap()];
    let all = ["trace"]
        .iter()
        .chain(options)
        .chain(&report)
        .chain(&["--"])
        .chain(words);
    all.map(|word| (*word).to_string()).collect()
}

pub fn call<'a>(document: &'a Value, name: &str) -> &'a Value {
    let calls = document["calls"].as_array().unwrap();
    calls
        .iter()
        .find(|call| call["name"] == name)
        .unwrap_or(&Value::Null)
}

pub fn count(document: &Value, name: &str) -> u64 {
    call(document, name)["calls"].as_u64().unwrap_or(0)
}
