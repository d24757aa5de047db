//! A profile as a JSON document, with its sums.

use crate::model::{By, CallCount, ObjectCount, ProcessGroup, Profile, SlowCall, StackCount};
use crate::report::profile::latency::Latency;
use crate::report::profile::notes;
use crate::write::JsonDocument;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

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
