//! From the model to the wire types and back. In the file the calls of all processes stand in one list, so that one who
//! writes a profile by hand needs no processes.

use super::{Bucket, Call, Class, Descriptor, Ending, Process, ProfileFile, SCHEMA, Source, Tool, Tracer, Usage};
use crate::model::{self, CallCount, Histogram, ProcessGroup, Profile};
use indexmap::IndexMap;

impl From<&Profile> for ProfileFile {
    fn from(profile: &Profile) -> ProfileFile {
        let timeless = |group: &ProcessGroup| group.user_ns.or(group.system_ns).is_none();
        let bare = |group: &ProcessGroup| group.name.is_empty() && timeless(group) && !group.calls.is_empty();
        let nameless = profile.groups.len() == 1 && profile.groups.iter().all(bare);
        let calls = profile.groups.iter().flat_map(|group| group.calls.iter().map(|count| call(&group.name, count)));
        ProfileFile {
            schema: SCHEMA.to_string(),
            tool: profile.tool.as_ref().map(tool),
            source: profile.source.as_ref().map(|s| Source { title: s.title.clone(), note: s.note.clone() }),
            host: profile.host.clone(),
            started_unix_s: profile.started_unix_s,
            command: profile.command.clone(),
            tracer: tracer(&profile.tracer),
            complete: profile.complete,
            ending: profile.ending.map(Ending::from),
            usage: (&profile.usage).into(),
            processes: if nameless { vec![] } else { profile.groups.iter().map(process).collect() },
            calls: calls.collect(),
            latencies: profile.latencies.iter().map(|(name, counts)| (name.clone(), buckets(counts))).collect(),
            warnings: profile.warnings.clone(),
        }
    }
}

impl From<ProfileFile> for Profile {
    fn from(file: ProfileFile) -> Profile {
        Profile {
            groups: groups(file.processes, file.calls),
            tool: file.tool.map(|t| model::Tool { name: t.name, version: t.version, compiler: t.compiler }),
            host: file.host,
            started_unix_s: file.started_unix_s,
            command: file.command,
            tracer: file.tracer.into(),
            source: file.source.map(|s| model::Source { title: s.title, note: s.note }),
            complete: file.complete,
            ending: file.ending.map(Into::into),
            usage: file.usage.into(),
            latencies: file.latencies.into_iter().map(|(name, buckets)| (name, histogram(&buckets))).collect(),
            warnings: file.warnings,
        }
    }
}

/// The processes in their order, then those that only calls name.
fn groups(processes: Vec<Process>, calls: Vec<Call>) -> Vec<ProcessGroup> {
    let mut groups: IndexMap<String, ProcessGroup> = IndexMap::new();
    for p in processes {
        let group = ProcessGroup { name: p.name.clone(), user_ns: p.user_ns, system_ns: p.system_ns, calls: vec![] };
        groups.insert(p.name, group);
    }
    for call in calls {
        let name = call.process.clone();
        let group = groups.entry(name.clone()).or_insert_with(|| ProcessGroup { name, ..ProcessGroup::default() });
        group.calls.push(call.into());
    }
    groups.into_values().collect()
}

fn process(group: &ProcessGroup) -> Process {
    Process { name: group.name.clone(), user_ns: group.user_ns, system_ns: group.system_ns }
}

fn tool(tool: &model::Tool) -> Tool {
    Tool { name: tool.name.clone(), version: tool.version.clone(), compiler: tool.compiler.clone() }
}

fn tracer(facts: &model::TracerFacts) -> Tracer {
    Tracer {
        kind: facts.kind.clone(),
        detail: facts.detail.clone(),
        added_per_call_ns: facts.added_per_call_ns,
        adds_system_time: Some(facts.adds_system_time),
        offset_per_call_ns: facts.offset_per_call_ns,
        lost: facts.lost,
    }
}

impl From<Tracer> for model::TracerFacts {
    fn from(file: Tracer) -> model::TracerFacts {
        // Files from before the field was there.
        let known = matches!(file.kind.as_str(), "bpf" | "perf");
        model::TracerFacts {
            adds_system_time: file.adds_system_time.unwrap_or(known),
            kind: file.kind,
            detail: file.detail,
            added_per_call_ns: file.added_per_call_ns,
            offset_per_call_ns: file.offset_per_call_ns,
            lost: file.lost,
        }
    }
}

fn buckets(histogram: &Histogram) -> Vec<Bucket> {
    histogram.0.iter().map(|(bucket, count)| Bucket(*bucket, *count)).collect()
}

fn histogram(buckets: &[Bucket]) -> Histogram {
    let mut histogram = Histogram::default();
    buckets.iter().for_each(|bucket| histogram.add(bucket.0, bucket.1));
    histogram
}

fn call(process: &str, count: &CallCount) -> Call {
    let class = &count.class;
    Call {
        process: process.to_string(),
        name: count.call.clone(),
        class: Class {
            descriptor: class.descriptor.map(Into::into),
            size: class.size,
            depth: class.depth,
            operation: class.operation.clone(),
            set: class.set,
        },
        calls: count.calls,
        unfinished: count.unfinished,
        errors: count.errors.clone(),
        on_cpu_ns: count.on_cpu_ns,
        blocked_ns: count.blocked_ns,
        preempted_ns: count.preempted_ns,
        elapsed_ns: count.elapsed_ns,
        bytes: count.bytes,
    }
}

impl From<Call> for CallCount {
    fn from(call: Call) -> CallCount {
        let class = call.class;
        CallCount {
            call: call.name,
            class: model::Class {
                descriptor: class.descriptor.map(Into::into),
                size: class.size,
                depth: class.depth,
                operation: class.operation,
                set: class.set,
            },
            calls: call.calls,
            unfinished: call.unfinished,
            errors: call.errors,
            on_cpu_ns: call.on_cpu_ns,
            blocked_ns: call.blocked_ns,
            preempted_ns: call.preempted_ns,
            elapsed_ns: call.elapsed_ns,
            bytes: call.bytes,
        }
    }
}

/// Conversions both ways between two types with the same fields.
macro_rules! same_fields {
    ($ours:ty, $theirs:ty: $($field:ident),+) => {
        impl From<&$ours> for $theirs {
            fn from(value: &$ours) -> Self {
                Self { $($field: value.$field),+ }
            }
        }
        impl From<$theirs> for $ours {
            fn from(value: $theirs) -> Self {
                Self { $($field: value.$field),+ }
            }
        }
    };
}

same_fields!(model::Usage, Usage: wall_ns, user_ns, system_ns, peak_rss_kib, minor_faults, major_faults,
    voluntary_switches, involuntary_switches, processes, threads, peak_concurrency, cpus);

impl From<model::Ending> for Ending {
    fn from(ending: model::Ending) -> Ending {
        match ending {
            model::Ending::Exited(status) => Ending::Exited(status),
            model::Ending::Signalled(signal) => Ending::Signalled(signal),
        }
    }
}

impl From<Ending> for model::Ending {
    fn from(ending: Ending) -> model::Ending {
        match ending {
            Ending::Exited(status) => model::Ending::Exited(status),
            Ending::Signalled(signal) => model::Ending::Signalled(signal),
        }
    }
}

/// Conversions both ways between two enums with the same variants.
macro_rules! same_variants {
    ($ours:ty, $theirs:ty: $($variant:ident),+) => {
        impl From<$ours> for $theirs {
            fn from(value: $ours) -> Self {
                match value { $(<$ours>::$variant => Self::$variant),+ }
            }
        }
        impl From<$theirs> for $ours {
            fn from(value: $theirs) -> Self {
                match value { $(<$theirs>::$variant => Self::$variant),+ }
            }
        }
    };
}

same_variants!(model::DescriptorKind, Descriptor: File, Directory, Pipe, Socket, Terminal, Device, Event, None);
