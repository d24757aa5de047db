//! Conversion between the wire types and the model. In the file, the calls of all processes are in one list, so that a profile
//! written by hand needs no processes.

use super::detail::{Object, SlowCall};
use super::{Call, KIND, ProfileFile, Repeat, SCHEMA, check};
use crate::model::{self, CallCount, Histogram, ProcessGroup, Profile, StackCount, TracerFacts};
use crate::store::buckets::{histogram, pairs};
use crate::store::error::{FileKind, Invalid};
use crate::store::parse::Wire;
use crate::store::rules::Checked;
use indexmap::IndexMap;

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
        let mut processes = profile.groups;
        let calls = processes.iter_mut().flat_map(calls).collect();
        processes.retain(|_| !nameless);
        ProfileFile {
            schema: SCHEMA.to_string(),
            tool: profile.tool,
            source: profile.source,
            host: profile.host,
            started_unix_s: profile.started_unix_s,
            command: profile.command,
            tracer: with_place(profile.tracer),
            complete: profile.complete,
            ending: profile.ending,
            usage: profile.usage,
            processes,
            calls,
            tree: profile.tree,
            durations: profile.latencies.iter().map(|(call, own)| (call.clone(), pairs(own))).collect(),
            scope: profile.scope,
            objects: profile.objects.into_iter().map(Into::into).collect(),
            objects_dropped: profile.objects_dropped,
            waits: profile.waits,
            stacks: profile
                .stacks
                .into_iter()
                .map(|own| StackCount { blocked_ns: in_file(own.blocked_ns, own.woken_ns), ..own })
                .collect(),
            stacks_sampled: profile.stacks_sampled,
            slowest: profile.slowest.into_iter().map(Into::into).collect(),
            repeats: profile.repeats.into_iter().map(Into::into).collect(),
            null_call_ns: profile.null_call_ns,
            warnings: profile.warnings,
        }
    }

    fn into_model(self) -> Result<Profile, Invalid> {
        Ok(Profile {
            groups: groups(self.processes, self.calls),
            tree: self.tree,
            tool: self.tool,
            host: self.host,
            started_unix_s: self.started_unix_s,
            command: self.command,
            tracer: with_place(self.tracer),
            source: self.source,
            complete: self.complete,
            ending: self.ending,
            usage: self.usage,
            latencies: self
                .durations
                .iter()
                .map(|(call, own)| (call.clone(), histogram(Histogram::TRACED, own)))
                .collect(),
            scope: self.scope,
            objects: self.objects.into_iter().map(Into::into).collect(),
            objects_dropped: self.objects_dropped,
            waits: self.waits,
            stacks: self
                .stacks
                .into_iter()
                .map(|own| StackCount { blocked_ns: until_woken(own.blocked_ns, own.woken_ns), ..own })
                .collect(),
            stacks_sampled: self.stacks_sampled,
            slowest: self.slowest.into_iter().map(Into::into).collect(),
            repeats: self.repeats.into_iter().map(Into::into).collect(),
            null_call_ns: self.null_call_ns,
            warnings: self.warnings,
        })
    }
}

/// The processes in their order, then those that only occur in calls.
fn groups(processes: Vec<ProcessGroup>, calls: Vec<Call>) -> Vec<ProcessGroup> {
    let mut groups: IndexMap<(String, Option<u32>, Option<String>), ProcessGroup> = IndexMap::new();
    for group in processes {
        groups.insert((group.name.clone(), group.pid, group.cgroup.clone()), group);
    }
    for call in calls {
        let (name, pid, cgroup) = (call.process.clone(), call.pid, call.cgroup.clone());
        let empty = ProcessGroup { name: name.clone(), pid, cgroup: cgroup.clone(), ..ProcessGroup::default() };
        groups.entry((name, pid, cgroup)).or_insert(empty).calls.push(call.into());
    }
    groups.into_values().collect()
}

impl From<model::ProfileRun> for Repeat {
    fn from(run: model::ProfileRun) -> Repeat {
        let mut group = ProcessGroup { calls: run.calls, ..ProcessGroup::default() };
        Repeat { calls: calls(&mut group), usage: run.usage }
    }
}

impl From<Repeat> for model::ProfileRun {
    fn from(file: Repeat) -> model::ProfileRun {
        model::ProfileRun { calls: file.calls.into_iter().map(Into::into).collect(), usage: file.usage }
    }
}

/// The facts with the one that older files lack: of our tracers, only that kind works inside of the calls.
fn with_place(facts: TracerFacts) -> TracerFacts {
    TracerFacts { adds_system_time: facts.adds_system_time.or(Some(facts.kind == "bpf")), ..facts }
}

/// Takes the calls out of `group`.
fn calls(group: &mut ProcessGroup) -> Vec<Call> {
    let counts = std::mem::take(&mut group.calls).into_iter();
    let call = |count: CallCount| Call {
        process: group.name.clone(),
        pid: group.pid,
        cgroup: group.cgroup.clone(),
        name: count.call,
        class: count.class,
        calls: count.calls,
        samples: count.samples,
        unfinished: count.unfinished,
        errors: count.errors,
        on_cpu_ns: count.on_cpu_ns,
        blocked_ns: in_file(count.blocked_ns, count.woken_ns),
        woken_ns: count.woken_ns,
        stalled_ns: count.stalled_ns,
        preempted_ns: count.runnable_ns.map(|ns| ns.saturating_sub(count.woken_ns.unwrap_or(0))),
        elapsed_ns: count.elapsed_ns,
        bytes: count.bytes,
    };
    counts.map(call).collect()
}

impl From<Call> for CallCount {
    fn from(call: Call) -> CallCount {
        CallCount {
            call: call.name,
            class: call.class,
            calls: call.calls,
            samples: call.samples,
            unfinished: call.unfinished,
            errors: call.errors,
            on_cpu_ns: call.on_cpu_ns,
            blocked_ns: until_woken(call.blocked_ns, call.woken_ns),
            woken_ns: call.woken_ns,
            stalled_ns: call.stalled_ns,
            runnable_ns: call.preempted_ns.map(|ns| ns.saturating_add(call.woken_ns.unwrap_or(0))),
            elapsed_ns: call.elapsed_ns,
            bytes: call.bytes,
        }
    }
}

impl From<model::SlowCall> for SlowCall {
    fn from(slow: model::SlowCall) -> SlowCall {
        let blocked_ns = in_file(slow.blocked_ns, slow.woken_ns);
        let model::SlowCall { process, pid, call, class, at_ns, elapsed_ns, woken_ns, frames, .. } = slow;
        SlowCall { process, pid, call, class, at_ns, elapsed_ns, blocked_ns, woken_ns, frames }
    }
}

impl From<SlowCall> for model::SlowCall {
    fn from(file: SlowCall) -> model::SlowCall {
        let blocked_ns = until_woken(file.blocked_ns, file.woken_ns);
        let SlowCall { process, pid, call, class, at_ns, elapsed_ns, woken_ns, frames, .. } = file;
        model::SlowCall { process, pid, call, class, at_ns, elapsed_ns, blocked_ns, woken_ns, frames }
    }
}

impl From<model::ObjectCount> for Object {
    fn from(object: model::ObjectCount) -> Object {
        let count = object.count;
        Object {
            kind: object.kind,
            name: object.name,
            process: object.process,
            directory: object.directory,
            call: count.call,
            calls: count.calls,
            errors: count.errors,
            on_cpu_ns: count.on_cpu_ns,
            blocked_ns: in_file(count.blocked_ns, count.woken_ns),
            woken_ns: count.woken_ns,
            bytes: count.bytes,
        }
    }
}

impl From<Object> for model::ObjectCount {
    fn from(file: Object) -> model::ObjectCount {
        let (kind, name, process, directory) = (file.kind, file.name, file.process, file.directory);
        let count = CallCount {
            call: file.call,
            calls: file.calls,
            errors: file.errors,
            on_cpu_ns: file.on_cpu_ns,
            blocked_ns: until_woken(file.blocked_ns, file.woken_ns),
            woken_ns: file.woken_ns,
            bytes: file.bytes,
            ..CallCount::default()
        };
        model::ObjectCount { kind, name, process, directory, count }
    }
}

/// What `blocked_ns` means in files: until the thread ran again, so the time from the wake-up is a part of it.
fn in_file(blocked_ns: Option<u64>, woken_ns: Option<u64>) -> Option<u64> {
    blocked_ns.map(|ns| ns.saturating_add(woken_ns.unwrap_or(0)))
}

/// The blocked time without the time from the wake-up on, as far as that is known.
fn until_woken(blocked_ns: Option<u64>, woken_ns: Option<u64>) -> Option<u64> {
    blocked_ns.map(|ns| ns.saturating_sub(woken_ns.unwrap_or(0)))
}
