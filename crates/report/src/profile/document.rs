//! A profile as a JSON document, with its sums.

use crate::profile::latency::Latency;
use crate::profile::notes;
use model::{
    By, CallCount, Class, Ending, Host, JsonDocument, ObjectCount, ProcessGroup, ProcessPath,
    Profile, Section, SlowCall, Source, StackCount, Tool, TracerFacts, Usage,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// The output of `syscost trace` and `syscost show PROFILE`: sums over a profile, which itself counts by process, call and class.
/// Unknown times are null.
#[derive(Serialize, JsonSchema)]
pub struct ProfileDocument<'a> {
    /// The program that wrote the profile.
    tool: Option<&'a Tool>,
    host: &'a Host,
    /// When tracing began, in seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    /// The command with its arguments; empty if the target was already running.
    command: &'a [String],
    /// The target, if it is not a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    tracer: &'a TracerFacts,
    /// Where the profile comes from, if this tool did not trace it.
    source: Option<&'a Source>,
    /// False if tracing ended before the workload did, or if data was lost.
    complete: bool,
    /// How the command ended; null if that is not known.
    ending: Option<Ending>,
    usage: &'a Usage,
    /// The tree of processes by name, if the tracer recorded it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tree: &'a [ProcessPath],
    /// The sections that the program marked.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sections: &'a [Section],
    /// Warnings in the profile.
    warnings: &'a [String],
    /// The sum over all calls.
    total: Sum,
    /// One per system call, the most expensive first.
    calls: Vec<Call>,
    /// One per process name, or process, in the order of the profile.
    processes: Vec<Process<'a>>,
    /// Calls by path and descriptor, if the tracer was asked for them: those with the most calls first.
    objects: &'a [ObjectCount],
    /// Calls not attributed to an object because the table was full; null if none were counted.
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
    /// The call's name; absent in the sum over several.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(flatten)]
    class: Class,
    /// `elapsed_ns` is there whether its split is known or not.
    #[serde(flatten)]
    count: CallCount,
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
    #[serde(flatten)]
    latency: Latency,
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
    /// Computes all sums. A profile is large, so its own data is borrowed.
    pub fn new(profile: &'a Profile) -> ProfileDocument<'a> {
        let sums = |by| {
            profile
                .totals(by)
                .into_iter()
                .map(|total| Sum::new(profile, total.count))
        };
        // Grouped once: searching all classes for each call would take quadratic time.
        let mut classes: HashMap<String, Vec<Sum>> = HashMap::new();
        sums(By::Class).for_each(|sum| classes.entry(sum.name.clone()).or_default().push(sum));
        let ranges = profile.ranges();
        ProfileDocument {
            tool: profile.tool.as_ref(),
            host: &profile.host,
            started_unix_s: profile.started_unix_s,
            command: &profile.command,
            scope: profile.scope.as_deref(),
            tracer: &profile.tracer,
            source: profile.source.as_ref(),
            complete: profile.complete,
            ending: profile.ending,
            usage: &profile.usage,
            tree: &profile.tree,
            sections: &profile.sections,
            warnings: &profile.warnings,
            total: Sum::new(profile, profile.all_calls()),
            calls: sums(By::Call)
                .map(|sum| Call {
                    latency: Latency::new(profile, &sum.name).unwrap_or_default(),
                    calls_range: ranges.get(&sum.name).copied(),
                    classes: classes.remove(&sum.name).unwrap_or_default(),
                    sum,
                })
                .collect(),
            processes: profile
                .groups
                .iter()
                .map(|group| Process {
                    group,
                    sum: Sum::new(profile, group.calls.iter().sum()),
                })
                .collect(),
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
    fn new(profile: &Profile, mut count: CallCount) -> Sum {
        let wall = profile.usage.wall_ns.filter(|wall| *wall > 0);
        let (mean_ns, mean_on_cpu_ns) = (count.mean_ns(), count.mean_on_cpu_ns());
        count.elapsed_ns = count.elapsed_ns();
        let wall_share = count
            .elapsed_ns
            .zip(wall)
            .map(|(elapsed, wall)| elapsed as f64 / wall as f64);
        let (name, class) = (
            std::mem::take(&mut count.call),
            std::mem::take(&mut count.class),
        );
        Sum {
            name,
            class,
            mean_ns,
            mean_on_cpu_ns,
            wall_share,
            count,
        }
    }
}
