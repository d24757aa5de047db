//! Conversion between the wire types and the model. In the file, the calls of all processes are in one list, so that a profile
//! written by hand needs no processes.

use super::{
    Bucket, Call, Class, Descriptor, Ending, KIND, Process, ProfileFile, SCHEMA, Source, Tool, Tracer, Usage, check,
};
use crate::model::{self, CallCount, Histogram, ProcessGroup, Profile};
use crate::store::error::{FileKind, Invalid};
use crate::store::parse::Wire;
use crate::store::rules::Checked;
use indexmap::IndexMap;

same_fields!(model::Tool, Tool: name, version, compiler);
same_fields!(model::Source, Source: title, note);
same_fields!(model::Usage, Usage: wall_ns, user_ns, system_ns, peak_rss_kib, minor_faults, major_faults,
    voluntary_switches, involuntary_switches, processes, threads, peak_concurrency, cpus);
same_variants!(model::Ending, Ending: Exited(status), Signalled(signal));
same_fields!(model::Class, Class: size, depth, operation, set; maybe descriptor);
same_variants!(model::DescriptorKind, Descriptor: File, Directory, Pipe, Socket, Terminal, Device, Event, None);

impl Wire<Profile> for ProfileFile {
    const KIND: &'static FileKind = &KIND;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Checked {
        check::file(self)
    }

    fn from_model(profile: &Profile) -> ProfileFile {
        let profile = profile.clone();
        let timeless = |group: &ProcessGroup| group.user_ns.or(group.system_ns).is_none();
        let bare = |group: &ProcessGroup| group.name.is_empty() && timeless(group) && !group.calls.is_empty();
        let nameless = profile.groups.len() == 1 && profile.groups.iter().all(bare);
        let processes = if nameless { vec![] } else { profile.groups.iter().map(process).collect() };
        ProfileFile {
            schema: SCHEMA.to_string(),
            tool: profile.tool.map(Into::into),
            source: profile.source.map(Into::into),
            host: profile.host,
            started_unix_s: profile.started_unix_s,
            command: profile.command,
            tracer: profile.tracer.into(),
            complete: profile.complete,
            ending: profile.ending.map(Into::into),
            usage: profile.usage.into(),
            processes,
            calls: profile.groups.into_iter().flat_map(calls).collect(),
            latencies: profile.latencies.iter().map(|(name, counts)| (name.clone(), buckets(counts))).collect(),
            warnings: profile.warnings,
        }
    }

    fn into_model(self) -> Result<Profile, Invalid> {
        self.check()?;
        Ok(Profile {
            groups: groups(self.processes, self.calls),
            tool: self.tool.map(Into::into),
            host: self.host,
            started_unix_s: self.started_unix_s,
            command: self.command,
            tracer: self.tracer.into(),
            source: self.source.map(Into::into),
            complete: self.complete,
            ending: self.ending.map(Into::into),
            usage: self.usage.into(),
            latencies: self.latencies.into_iter().map(|(name, buckets)| (name, histogram(&buckets))).collect(),
            warnings: self.warnings,
        })
    }
}

/// The processes in their order, then those that only occur in calls.
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

impl From<model::TracerFacts> for Tracer {
    fn from(facts: model::TracerFacts) -> Tracer {
        Tracer {
            kind: facts.kind,
            detail: facts.detail,
            added_per_call_ns: facts.added_per_call_ns,
            adds_system_time: Some(facts.adds_system_time),
            offset_per_call_ns: facts.offset_per_call_ns,
            lost: facts.lost,
        }
    }
}

impl From<Tracer> for model::TracerFacts {
    fn from(file: Tracer) -> model::TracerFacts {
        // For files from before the field existed.
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

fn calls(group: ProcessGroup) -> impl Iterator<Item = Call> {
    group.calls.into_iter().map(move |count| Call {
        process: group.name.clone(),
        name: count.call,
        class: count.class.into(),
        calls: count.calls,
        unfinished: count.unfinished,
        errors: count.errors,
        on_cpu_ns: count.on_cpu_ns,
        blocked_ns: count.blocked_ns,
        preempted_ns: count.preempted_ns,
        elapsed_ns: count.elapsed_ns,
        bytes: count.bytes,
    })
}

impl From<Call> for CallCount {
    fn from(call: Call) -> CallCount {
        CallCount {
            call: call.name,
            class: call.class.into(),
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
