//! Conversion between the wire types and the model. In the file, the calls of all processes are in one list, so that a profile
//! written by hand needs no processes.

use super::check::in_costs;
use super::detail::{Object, SlowCall, Stack};
use super::{Call, KIND, Process, ProfileFile, Repeat, ResultFile, SCHEMA, Tracer, check};
use crate::model::{self, CallCount, Histogram, ProcessGroup, Profile};
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
        let processes = if nameless { vec![] } else { profile.groups.iter().map(process).collect() };
        ProfileFile {
            schema: SCHEMA.to_string(),
            tool: profile.tool,
            source: profile.source,
            host: profile.host,
            started_unix_s: profile.started_unix_s,
            command: profile.command,
            tracer: profile.tracer.into(),
            complete: profile.complete,
            ending: profile.ending,
            usage: profile.usage,
            processes,
            calls: profile.groups.into_iter().flat_map(calls).collect(),
            tree: profile.tree,
            durations: profile.latencies.iter().map(|(call, own)| (call.clone(), pairs(own))).collect(),
            scope: profile.scope,
            objects: profile.objects.into_iter().map(Into::into).collect(),
            objects_dropped: profile.objects_dropped,
            stacks: profile.stacks.into_iter().map(Into::into).collect(),
            stacks_sampled: profile.stacks_sampled,
            slowest: profile.slowest.into_iter().map(Into::into).collect(),
            repeats: profile.repeats.into_iter().map(Into::into).collect(),
            unit_costs: profile.unit_costs.map(|run| Box::new(ResultFile::from_model(&run))),
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
            tracer: self.tracer.into(),
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
            stacks: self.stacks.into_iter().map(Into::into).collect(),
            stacks_sampled: self.stacks_sampled,
            slowest: self.slowest.into_iter().map(Into::into).collect(),
            repeats: self.repeats.into_iter().map(Into::into).collect(),
            unit_costs: self.unit_costs.map(|run| run.into_model()).transpose().map_err(in_costs)?.map(Box::new),
            warnings: self.warnings,
        })
    }
}

/// The processes in their order, then those that only occur in calls.
fn groups(processes: Vec<Process>, calls: Vec<Call>) -> Vec<ProcessGroup> {
    let mut groups: IndexMap<(String, Option<u32>, Option<String>), ProcessGroup> = IndexMap::new();
    for p in processes {
        let group = ProcessGroup::from(p);
        groups.insert((group.name.clone(), group.pid, group.cgroup.clone()), group);
    }
    for call in calls {
        let (name, pid, cgroup) = (call.process.clone(), call.pid, call.cgroup.clone());
        let empty = ProcessGroup { name: name.clone(), pid, cgroup: cgroup.clone(), ..ProcessGroup::default() };
        groups.entry((name, pid, cgroup)).or_insert(empty).calls.push(call.into());
    }
    groups.into_values().collect()
}

impl From<Process> for ProcessGroup {
    fn from(process: Process) -> ProcessGroup {
        let Process { name, pid, cgroup, user_ns, system_ns } = process;
        ProcessGroup { name, pid, cgroup, user_ns, system_ns, calls: vec![] }
    }
}

impl From<model::ProfileRun> for Repeat {
    fn from(run: model::ProfileRun) -> Repeat {
        let group = ProcessGroup { calls: run.calls, ..ProcessGroup::default() };
        Repeat { calls: calls(group).collect(), usage: run.usage }
    }
}

impl From<Repeat> for model::ProfileRun {
    fn from(file: Repeat) -> model::ProfileRun {
        model::ProfileRun { calls: file.calls.into_iter().map(Into::into).collect(), usage: file.usage }
    }
}

fn process(group: &ProcessGroup) -> Process {
    let ProcessGroup { name, pid, cgroup, user_ns, system_ns, .. } = group.clone();
    Process { name, pid, cgroup, user_ns, system_ns }
}

impl From<model::TracerFacts> for Tracer {
    fn from(facts: model::TracerFacts) -> Tracer {
        Tracer {
            kind: facts.kind,
            detail: facts.detail,
            added_per_call_ns: facts.added_per_call_ns,
            added_total_ns: facts.added_total_ns,
            adds_system_time: Some(facts.adds_system_time),
            sampled_hz: facts.sampled_hz,
            offset_per_call_ns: facts.offset_per_call_ns,
            added_range_ns: facts.added_range_ns,
            offset_range_ns: facts.offset_range_ns,
            lost: facts.lost,
        }
    }
}

impl From<Tracer> for model::TracerFacts {
    fn from(file: Tracer) -> model::TracerFacts {
        // For files from before the field existed.
        let known = file.kind == "bpf";
        model::TracerFacts {
            adds_system_time: file.adds_system_time.unwrap_or(known),
            sampled_hz: file.sampled_hz,
            kind: file.kind,
            detail: file.detail,
            added_per_call_ns: file.added_per_call_ns,
            added_total_ns: file.added_total_ns,
            offset_per_call_ns: file.offset_per_call_ns,
            added_range_ns: file.added_range_ns,
            offset_range_ns: file.offset_range_ns,
            lost: file.lost,
        }
    }
}

fn calls(group: ProcessGroup) -> impl Iterator<Item = Call> {
    group.calls.into_iter().map(move |count| Call {
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
    })
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

impl From<model::StackCount> for Stack {
    fn from(stack: model::StackCount) -> Stack {
        let blocked_ns = in_file(stack.blocked_ns, stack.woken_ns);
        let model::StackCount { process, call, frames, calls, on_cpu_ns, woken_ns, .. } = stack;
        Stack { process, call, frames, calls, on_cpu_ns, blocked_ns, woken_ns }
    }
}

impl From<Stack> for model::StackCount {
    fn from(file: Stack) -> model::StackCount {
        let blocked_ns = until_woken(file.blocked_ns, file.woken_ns);
        let Stack { process, call, frames, calls, on_cpu_ns, woken_ns, .. } = file;
        model::StackCount { process, call, frames, calls, on_cpu_ns, blocked_ns, woken_ns }
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
