//! What the tests of `syscost trace` share: the program of tests/trace/tree.c, and ways to run it traced.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use crate::common::*;
/// Every tracer that this machine allows, as arguments.
pub const TRACERS: [&str; 2] = ["--tracer ptrace", "--tracer ptrace --counts"];

pub fn helper(place: &Place) -> PathBuf {
    build(place, "tree", "").expect("cc builds tests/trace/tree.c")
}

pub fn build(place: &Place, name: &str, flags: &str) -> Option<PathBuf> {
    let program = place.tmp().join(name);
    let line = format!(
        "{flags} -O1 -w -pthread -o {} tests/trace/tree.c",
        program.display()
    );
    cc(line).then_some(program)
}

/// Runs `words` under the tracer of `options`, with the table as JSON in a file, which is returned beside the output.
pub fn trace(place: &Place, options: impl Line, words: impl Line) -> (Output, Value) {
    let report = place.path().join("report.json");
    let written = format!("trace --format json --report {}", report.display());
    let output = place.run((written, options, ("--", words)));
    let text = fs::read(&report).unwrap_or_default();
    let document =
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    (output, document)
}

pub fn call<'a>(document: &'a Value, name: &str) -> &'a Value {
    let calls = list(&document["calls"]);
    calls
        .iter()
        .find(|call| call["name"] == name)
        .unwrap_or(&Value::Null)
}

pub fn count(document: &Value, name: &str) -> u64 {
    call(document, name)["calls"].as_u64().unwrap_or(0)
}
