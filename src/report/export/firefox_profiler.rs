//! The stacks of a profile for the Firefox Profiler (<https://profiler.firefox.com>), in its processed format: one thread of samples
//! for each weight that is known. Samples have no times of their own: they stand one after the other.

use super::exported::ExportFormat;
use super::stacks::{Weighed, name, weighed};
use crate::model::Profile;
use anyhow::Result;
use indexmap::IndexSet;
use serde_json::{Value, json};
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "firefox-profiler",
    what: "The stacks of a profile, for the Firefox Profiler",
    write: None,
    write_profile: Some(write),
    holds_instructions: false,
};

/// The version of the processed format that is written; the Firefox Profiler upgrades files of older ones.
const PROCESSED_VERSION: u32 = 49;
/// The version of Gecko's format that belongs to it.
const GECKO_VERSION: u32 = 29;

fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let threads: Vec<Value> = weighed(profile)?.iter().enumerate().map(|(i, of)| thread(profile, i, of)).collect();
    let document = json!({
        "meta": meta(profile),
        "libs": [],
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "threads": threads,
    });
    serde_json::to_writer(&mut *out, &document)?;
    Ok(writeln!(out)?)
}

fn meta(profile: &Profile) -> Value {
    let category = |name, color| json!({"name": name, "color": color, "subcategories": ["Other"]});
    json!({
        "preprocessedProfileVersion": PROCESSED_VERSION,
        "version": GECKO_VERSION,
        "product": name(profile),
        "interval": 1,
        "startTime": profile.started_unix_s.saturating_mul(1000),
        "processType": 0,
        "stackwalk": 1,
        "debug": false,
        "symbolicated": true,
        "presymbolicated": true,
        "usesOnlyOneStackType": true,
        "doesNotUseFrameImplementation": true,
        "sourceCodeIsNotOnSearchfox": true,
        "categories": [category("Function", "blue"), category("System call", "orange")],
        "markerSchema": [],
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
    })
}

/// The category of a frame: the innermost of each stack is the call.
fn category(depth: usize, frames: usize) -> usize {
    usize::from(depth + 1 == frames)
}

/// Names, and stacks as pairs of the stack above and a name.
#[derive(Default)]
struct Tables {
    names: IndexSet<String>,
    stacks: IndexSet<(Option<usize>, usize, usize)>,
}

impl Tables {
    fn stack(&mut self, path: &[String]) -> Option<usize> {
        let mut above = None;
        for (depth, name) in path.iter().enumerate() {
            let frame = self.names.insert_full(name.clone()).0;
            above = Some(self.stacks.insert_full((above, frame, category(depth, path.len()))).0);
        }
        above
    }
}

fn thread(profile: &Profile, number: usize, of: &Weighed) -> Value {
    let mut tables = Tables::default();
    let stacks: Vec<Option<usize>> = of.stacks.iter().map(|(path, _)| tables.stack(path)).collect();
    // Milliseconds for times, which the Profiler shows as such.
    let weights: Vec<Value> =
        of.stacks.iter().map(|(_, w)| if of.is_time { json!(*w as f64 / 1e6) } else { json!(w) }).collect();
    json!({
        "name": of.what,
        "processName": name(profile),
        "processType": "default",
        "isMainThread": number == 0,
        "pid": "1",
        "tid": number + 1,
        "registerTime": 0,
        "unregisterTime": null,
        "processStartupTime": 0,
        "processShutdownTime": null,
        "pausedRanges": [],
        "samples": {
            "length": stacks.len(),
            "stack": stacks,
            "time": (0..stacks.len()).collect::<Vec<_>>(),
            "weight": weights,
            "weightType": if of.is_time { "tracing-ms" } else { "samples" },
        },
        "stackTable": stack_table(&tables),
        "frameTable": frame_table(tables.names.len()),
        "funcTable": function_table(tables.names.len()),
        "stringArray": tables.names,
        "markers": {"length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": []},
        "nativeSymbols": {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
        "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
    })
}

fn stack_table(tables: &Tables) -> Value {
    let column = |of: fn(&(Option<usize>, usize, usize)) -> Value| tables.stacks.iter().map(of).collect::<Vec<_>>();
    json!({
        "length": tables.stacks.len(),
        "prefix": column(|stack| json!(stack.0)),
        "frame": column(|stack| json!(stack.1)),
        "category": column(|stack| json!(stack.2)),
        "subcategory": column(|_| json!(0)),
    })
}

/// One frame for each function, of which only the name is known.
fn frame_table(length: usize) -> Value {
    let all = |value: Value| vec![value; length];
    let numbers: Vec<usize> = (0..length).collect();
    json!({
        "length": length,
        "func": numbers,
        "address": all(json!(-1)),
        "inlineDepth": all(json!(0)),
        "category": all(json!(0)),
        "subcategory": all(json!(0)),
        "nativeSymbol": all(Value::Null),
        "innerWindowID": all(Value::Null),
        "implementation": all(Value::Null),
        "line": all(Value::Null),
        "column": all(Value::Null),
    })
}

fn function_table(length: usize) -> Value {
    let all = |value: Value| vec![value; length];
    let numbers: Vec<usize> = (0..length).collect();
    json!({
        "length": length,
        "name": numbers,
        "isJS": all(json!(false)),
        "relevantForJS": all(json!(false)),
        "resource": all(json!(-1)),
        "fileName": all(Value::Null),
        "lineNumber": all(Value::Null),
        "columnNumber": all(Value::Null),
    })
}
