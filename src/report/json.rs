//! JSON documents: analysis types with the name of their schema. FORMAT.md documents them; within a version, fields are
//! only added. Files have separate types in `store`.

use crate::attribute::Attribution;
use crate::compare::history::Machine;
use crate::compare::{Comparison, Plan};
use crate::fit::{Family, families};
use crate::fleet::FleetCheck;
use crate::model::{By, CallCount, ObjectCount, ProcessGroup, Profile, Run, SlowCall, StackCount};
use crate::report::profile::latency::Latency;
use crate::report::profile::notes;
use crate::summary::Summary;
use anyhow::Result;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use std::collections::HashMap;
use std::io::Write;

/// What is printed as JSON.
pub trait JsonDocument: Serialize {
    /// Name and version: `syscost.summary/2`.
    const SCHEMA: &'static str;
}

#[derive(Serialize)]
struct Named<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

/// Writes `document`.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json<T: JsonDocument>(document: &T, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Named { schema: T::SCHEMA, document })?;
    Ok(writeln!(out)?)
}

/// Writes `document` on one line, as one of many.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json_line<T: JsonDocument>(document: &T, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, &Named { schema: T::SCHEMA, document })?;
    Ok(writeln!(out)?)
}

/// The JSON Schema of what [`write_json`] writes for a `T`.
pub fn json_schema<T: JsonDocument + JsonSchema>() -> serde_json::Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["properties"]["schema"] = serde_json::json!({"const": T::SCHEMA});
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("schema".into());
    }
    schema
}

/// The results of a run, without its samples.
#[derive(Serialize, JsonSchema)]
pub struct SummaryDocument<'a> {
    #[serde(flatten)]
    run: &'a Run,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Cost as a function of each parameter that was measured at two or more values.
    fits: Vec<Family<'a>>,
}

impl<'a> SummaryDocument<'a> {
    /// The document of `run`; `summary` must be that of `run`.
    pub fn new(run: &'a Run, summary: &'a Summary) -> SummaryDocument<'a> {
        SummaryDocument { run, summary, fits: families(run) }
    }
}

impl JsonDocument for SummaryDocument<'_> {
    const SCHEMA: &'static str = "syscost.summary/2";
}

impl JsonDocument for Comparison {
    const SCHEMA: &'static str = "syscost.comparison/2";
}

/// Machines over time.
#[derive(Serialize, JsonSchema)]
pub struct HistoryDocument<'a> {
    /// Changes of up to this share are ignored.
    pub margin: f64,
    /// By host name.
    pub machines: &'a [Machine],
}

impl JsonDocument for Plan {
    const SCHEMA: &'static str = "syscost.comparison-plan/1";
}

impl JsonDocument for FleetCheck {
    const SCHEMA: &'static str = "syscost.fleet-check/1";
}

impl JsonDocument for HistoryDocument<'_> {
    const SCHEMA: &'static str = "syscost.history/2";
}

/// The sums over a profile, which itself counts by process, call and class.
#[derive(Serialize, JsonSchema)]
pub struct ProfileDocument<'a> {
    #[serde(flatten)]
    profile: &'a Profile,
    /// The sum over all calls.
    total: Sum,
    /// One per system call, the most expensive first.
    calls: Vec<Call>,
    /// One per process name, or process, in the order of the profile.
    processes: Vec<Process<'a>>,
    /// Calls by path and descriptor, if the tracer was asked for them: those with the most calls first.
    objects: &'a [ObjectCount],
    /// Calls on objects that there was no room to count; null if none were counted.
    objects_dropped: Option<u64>,
    /// The slowest calls, if the tracer was asked for them.
    slowest: &'a [SlowCall],
    /// Calls by user stack, if the tracer was asked for them.
    stacks: &'a [StackCount],
    /// Calls whose stacks were recorded, if that was a sample of them: the others are divided as these are.
    stacks_sampled: Option<u64>,
    /// How often the command was run: everything but `calls_range` is of the first run.
    runs: usize,
    /// Counts that contradict each other.
    doubts: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    #[serde(flatten)]
    count: CallCount,
    /// Between entry and return, whether its split is known or not.
    elapsed_ns: Option<u64>,
    /// Elapsed time per call.
    mean_ns: Option<f64>,
    /// Time on a CPU per call.
    mean_on_cpu_ns: Option<f64>,
    /// Elapsed time as a share of wall time; above 1 if threads overlap.
    wall_share: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct Call {
    #[serde(flatten)]
    sum: Sum,
    /// Median of the elapsed time per call. Each percentile is null where fewer than ten calls took longer.
    p50_ns: Option<f64>,
    p90_ns: Option<f64>,
    /// The 99th percentile.
    p99_ns: Option<f64>,
    p99_9_ns: Option<f64>,
    /// The longest one.
    max_ns: Option<f64>,
    /// How wide the buckets are that these times come from, as a share of the time.
    resolution: Option<f64>,
    /// The least and the most calls over the runs; null if the command was run once.
    calls_range: Option<(u64, u64)>,
    /// The same by class, the most expensive first.
    classes: Vec<Sum>,
}

#[derive(Serialize, JsonSchema)]
struct Process<'a> {
    #[serde(flatten)]
    group: &'a ProcessGroup,
    #[serde(flatten)]
    sum: Sum,
}

impl JsonDocument for ProfileDocument<'_> {
    const SCHEMA: &'static str = "syscost.profile-summary/3";
}

impl<'a> ProfileDocument<'a> {
    /// The document of `profile`.
    pub fn new(profile: &'a Profile) -> ProfileDocument<'a> {
        let sums = |by| profile.totals(by).into_iter().map(|total| Sum::new(profile, total.count));
        let mut classes: HashMap<String, Vec<Sum>> = HashMap::new();
        sums(By::Class).for_each(|sum| classes.entry(sum.count.call.clone()).or_default().push(sum));
        let ranges = profile.ranges();
        let mut call = |sum: Sum| {
            let latency = Latency::of(profile, &sum.count.call);
            let of = |which: fn(&Latency) -> Option<f64>| latency.as_ref().and_then(which);
            Call {
                p50_ns: of(|latency| latency.p50_ns),
                p90_ns: of(|latency| latency.p90_ns),
                p99_ns: of(|latency| latency.p99_ns),
                p99_9_ns: of(|latency| latency.p99_9_ns),
                max_ns: of(|latency| latency.max_ns),
                resolution: of(|latency| Some(latency.resolution)),
                calls_range: ranges.get(&sum.count.call).copied(),
                classes: classes.remove(&sum.count.call).unwrap_or_default(),
                sum,
            }
        };
        ProfileDocument {
            profile,
            total: Sum::new(profile, profile.all_calls()),
            calls: sums(By::Call).map(&mut call).collect(),
            processes: profile.groups.iter().map(|group| Process { group, sum: Sum::of(profile, group) }).collect(),
            objects: &profile.objects,
            objects_dropped: profile.objects_dropped,
            slowest: &profile.slowest,
            stacks: &profile.stacks,
            stacks_sampled: profile.stacks_sampled,
            runs: 1 + profile.repeats.len(),
            doubts: notes::doubts(profile),
        }
    }
}

impl Sum {
    fn new(profile: &Profile, count: CallCount) -> Sum {
        let wall = profile.usage.wall_ns.filter(|wall| *wall > 0);
        let elapsed_ns = count.elapsed_ns();
        let wall_share = elapsed_ns.zip(wall).map(|(elapsed, wall)| elapsed as f64 / wall as f64);
        Sum { elapsed_ns, mean_ns: count.mean_ns(), mean_on_cpu_ns: count.mean_on_cpu_ns(), wall_share, count }
    }

    fn of(profile: &Profile, group: &ProcessGroup) -> Sum {
        let mut all = CallCount::default();
        group.calls.iter().for_each(|count| all.add(count));
        Sum::new(profile, all)
    }
}

/// An attribution with its command.
#[derive(Serialize, JsonSchema)]
pub struct AttributionDocument<'a> {
    /// The profile's command; empty if it is not known.
    pub command: &'a [String],
    #[serde(flatten)]
    pub found: &'a Attribution,
}

impl JsonDocument for AttributionDocument<'_> {
    const SCHEMA: &'static str = "syscost.attribution/3";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::synthetic::{Noise, run};
    use crate::summary::summarize;
    use serde_json::{Value, json};

    #[test]
    fn the_document_holds_models_and_crossovers_and_keeps_its_schema() {
        let sizes = [1, 10, 1000];
        let run = run(&[("io.a", &sizes, &|_| 100.0), ("io.b", &sizes, &|x| x as f64)], 12, Noise::NONE);
        let mut text = Vec::new();
        write_json(&SummaryDocument::new(&run, &summarize(&run)), &mut text).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        assert!(jsonschema::is_valid(&json_schema::<SummaryDocument>(), &document));
        let fit = &document["fits"][0];
        assert_eq!((&fit["parameter"], &fit["strategies"][0]["operation"]), (&json!("size"), &json!("io.a")));
        assert_eq!(fit["strategies"][0]["fixed"]["ns"], 100.0);
        assert_eq!(fit["strategies"][0]["warnings"], json!([{"kind": "few_values", "values": 3}]));
        let crossing = &fit["comparisons"][0]["verdict"]["crossings"][0];
        assert_eq!((&crossing["faster_below"], &crossing["faster_above"]), (&json!(1), &json!(0)));
        assert!((crossing["at"].as_f64().unwrap() - 100.0).abs() < 1e-6, "{crossing}");
    }
}
