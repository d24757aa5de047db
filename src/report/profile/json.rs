//! A profile in figures as one JSON document, schema `syscost.profile-summary/1`. FORMAT.md documents it; fields are only
//! ever added. It sums over processes; the profile file has them apart.

use crate::model::{By, CallCount, Ending, Host, Profile, Total};
use crate::report::profile::class as class_words;
use crate::report::profile::notes as profile_words;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// What `--format json` prints of a profile.
#[derive(Serialize, JsonSchema)]
struct ProfileDocument {
    /// `syscost.profile-summary/1`
    schema: &'static str,
    /// The command with its arguments; empty where that is not known.
    command: Vec<String>,
    /// The machine that the workload ran on.
    host: Host,
    /// Seconds since 1970-01-01 UTC; 0 where that is not known.
    started_unix_s: u64,
    /// False where tracing ended before the workload, or data was lost.
    complete: bool,
    /// Exit status of the command; null where it did not exit.
    exit_status: Option<i32>,
    /// The signal that ended the command; null where none did.
    signal: Option<i32>,
    tracer: TracerDocument,
    usage: UsageDocument,
    /// All calls together.
    total: Counts,
    /// One a system call, the dearest first.
    calls: Vec<CallDocument>,
    /// One a process name, in the order of the profile.
    processes: Vec<ProcessDocument>,
    /// In words.
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct TracerDocument {
    /// `bpf`, `ptrace`, `seccomp`, `perf`, or what was imported; empty where nobody traced.
    kind: String,
    /// How it was set up.
    detail: String,
    /// What it adds to each call.
    added_per_call_ns: Option<f64>,
    /// What of a null call's measured time is not its own: taken off all times here.
    offset_per_call_ns: Option<f64>,
    /// Calls times that.
    added_ns: Option<f64>,
    /// Events that were seen and could not be counted.
    lost: u64,
}

/// The kernel's accounting; null where it is not known.
#[derive(Serialize, JsonSchema)]
struct UsageDocument {
    wall_ns: Option<u64>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    peak_rss_kib: Option<u64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    voluntary_switches: Option<u64>,
    involuntary_switches: Option<u64>,
    processes: Option<u64>,
    threads: Option<u64>,
    peak_concurrency: Option<u64>,
    cpus: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct CallDocument {
    /// The system call's name.
    name: String,
    #[serde(flatten)]
    counts: Counts,
    /// Median of the elapsed time per call; null where it is not known.
    p50_ns: Option<f64>,
    /// Its 99th percentile.
    p99_ns: Option<f64>,
    /// The same counts by class, the dearest first.
    classes: Vec<ClassDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ClassDocument {
    /// In words; empty where nothing is known.
    class: String,
    /// Kind of the descriptor, as in the profile file but short.
    descriptor: Option<&'static str>,
    size: Option<u64>,
    depth: Option<u64>,
    operation: Option<String>,
    set: Option<u64>,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize, JsonSchema)]
struct ProcessDocument {
    name: String,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    #[serde(flatten)]
    counts: Counts,
}

/// Counts and times; a time is null where it is not known.
#[derive(Serialize, JsonSchema)]
struct Counts {
    calls: u64,
    unfinished: u64,
    /// Failures by errno name.
    errors: BTreeMap<String, u64>,
    on_cpu_ns: Option<u64>,
    blocked_ns: Option<u64>,
    preempted_ns: Option<u64>,
    /// Between entry and return: the sum of the three above, or known as a whole only.
    elapsed_ns: Option<u64>,
    /// Elapsed time per call.
    mean_ns: Option<f64>,
    bytes: Option<u64>,
    /// Elapsed time as a share of wall time; above 1 where threads overlap.
    wall_share: Option<f64>,
}

/// Writes the document of `profile`.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(profile))?;
    Ok(writeln!(out)?)
}

/// The JSON Schema of the document.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ProfileDocument).to_value()
}

fn document(profile: &Profile) -> ProfileDocument {
    let all = profile.all_calls();
    let classes = profile.totals(By::Class);
    ProfileDocument {
        schema: "syscost.profile-summary/1",
        command: profile.command.clone(),
        host: profile.host.clone(),
        started_unix_s: profile.started_unix_s,
        complete: profile.complete,
        exit_status: profile.ending.and_then(|e| if let Ending::Exited(status) = e { Some(status) } else { None }),
        signal: profile.ending.and_then(|e| if let Ending::Signalled(signal) = e { Some(signal) } else { None }),
        tracer: tracer(profile, all.calls),
        usage: usage(profile),
        total: counts(profile, &all),
        calls: profile.totals(By::Call).iter().map(|total| call(profile, total, &classes)).collect(),
        processes: processes(profile),
        warnings: profile.warnings.iter().cloned().chain(profile_words::doubts(profile)).collect(),
    }
}

fn tracer(profile: &Profile, calls: u64) -> TracerDocument {
    let facts = &profile.tracer;
    TracerDocument {
        kind: facts.kind.clone(),
        detail: facts.detail.clone(),
        added_per_call_ns: facts.added_per_call_ns,
        offset_per_call_ns: facts.offset_per_call_ns,
        added_ns: facts.added_per_call_ns.map(|ns| ns * calls as f64),
        lost: facts.lost,
    }
}

fn usage(profile: &Profile) -> UsageDocument {
    let usage = &profile.usage;
    UsageDocument {
        wall_ns: usage.wall_ns,
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        peak_rss_kib: usage.peak_rss_kib,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        processes: usage.processes,
        threads: usage.threads,
        peak_concurrency: usage.peak_concurrency,
        cpus: usage.cpus,
    }
}

fn call(profile: &Profile, total: &Total, classes: &[Total]) -> CallDocument {
    let name = &total.count.call;
    let quantile = |share| profile.duration_ns(name, share);
    let own = classes.iter().map(|class| &class.count).filter(|count| count.call == *name);
    CallDocument {
        name: name.clone(),
        counts: counts(profile, &total.count),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        classes: own.map(|count| class(profile, count)).collect(),
    }
}

fn class(profile: &Profile, count: &CallCount) -> ClassDocument {
    ClassDocument {
        class: class_words::class(&count.class),
        descriptor: count.class.descriptor.map(class_words::descriptor),
        size: count.class.size,
        depth: count.class.depth,
        operation: count.class.operation.clone(),
        set: count.class.set,
        counts: counts(profile, count),
    }
}

fn processes(profile: &Profile) -> Vec<ProcessDocument> {
    let totals = profile.totals(By::Process);
    let document = |group: &crate::model::ProcessGroup| {
        let mut sum = CallCount::default();
        totals.iter().filter(|total| total.process == group.name).for_each(|total| sum.add(&total.count));
        ProcessDocument {
            name: group.name.clone(),
            user_ns: group.user_ns,
            system_ns: group.system_ns,
            counts: counts(profile, &sum),
        }
    };
    profile.groups.iter().map(document).collect()
}

fn counts(profile: &Profile, count: &CallCount) -> Counts {
    let wall = profile.usage.wall_ns.filter(|wall| *wall > 0);
    Counts {
        calls: count.calls,
        unfinished: count.unfinished,
        errors: count.errors.clone(),
        on_cpu_ns: count.on_cpu_ns,
        blocked_ns: count.blocked_ns,
        preempted_ns: count.preempted_ns,
        elapsed_ns: count.elapsed_ns(),
        mean_ns: count.mean_ns(),
        bytes: count.bytes,
        wall_share: count.elapsed_ns().zip(wall).map(|(elapsed, wall)| elapsed as f64 / wall as f64),
    }
}
