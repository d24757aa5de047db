//! In a file, the calls of all processes are in one list, so that a profile written by hand needs no processes.

mod check;

use super::document::Document;
use super::error::FileKind;
use super::rules::{Checked, wrong};
use indexmap::IndexMap;
use model::{CallCount, ProcessGroup, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const KIND: FileKind = FileKind {
    family: "syscost.profile/",
    version: 2,
    noun: "profile",
    origin: "a trace",
    again: "trace again",
    smaller: "trace for a shorter time",
};

#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// One entry for each process name, system call and class.
    calls: Vec<Call>,
}

/// The calls of one kind of the processes of one name.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Call {
    /// Name of the processes; absent if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    process: String,
    /// The process, if processes of the same name are distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// The control group, if they are distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    #[serde(flatten)]
    count: CallCount,
}

impl Document for Profile {
    const KIND: &'static FileKind = &KIND;
    type Head = Calls;

    fn head(&self) -> Calls {
        fn call(group: &ProcessGroup, count: &CallCount) -> Call {
            Call {
                process: group.name.clone(),
                pid: group.pid,
                cgroup: group.cgroup.clone(),
                count: count.clone(),
            }
        }

        let calls = self
            .groups
            .iter()
            .flat_map(|group| group.calls.iter().map(move |count| call(group, count)));
        Calls {
            calls: calls.collect(),
        }
    }

    fn complete(&mut self, mut head: Calls, schema: &str) -> Checked {
        // Before the checks, which are those of the current version.
        if schema.ends_with("/1") {
            upgrade(self, &mut head.calls)?;
        }
        // Their places in the file are known here only.
        check::processes(&self.groups)?;
        check::calls(head.calls.iter().map(|call| &call.count))?;
        self.groups = groups(std::mem::take(&mut self.groups), head.calls);
        // The eBPF tracer is the only one of ours that works inside of the calls.
        self.tracer
            .adds_system_time
            .get_or_insert(self.tracer.kind == "bpf");
        check::edited(self)
    }

    fn check(&self) -> Checked {
        check::profile(self)
    }
}

/// Then those that only occur in calls.
fn groups(processes: Vec<ProcessGroup>, calls: Vec<Call>) -> Vec<ProcessGroup> {
    fn key(group: &ProcessGroup) -> (String, Option<u32>, Option<String>) {
        (group.name.clone(), group.pid, group.cgroup.clone())
    }

    let mut groups: IndexMap<_, _> = processes
        .into_iter()
        .map(|group| (key(&group), group))
        .collect();
    for Call {
        process,
        pid,
        cgroup,
        count,
    } in calls
    {
        let group = ProcessGroup {
            name: process,
            pid,
            cgroup,
            ..ProcessGroup::default()
        };
        groups.entry(key(&group)).or_insert(group).calls.push(count);
    }
    groups.into_values().collect()
}

/// In version 1, `blocked_ns` lasts until the thread ran again, and `preempted_ns` is without the time after a wake-up.
fn upgrade(profile: &mut Profile, calls: &mut [Call]) -> Checked {
    fn until_woken(
        place: &str,
        blocked_ns: &mut Option<u64>,
        woken_ns: Option<u64>,
    ) -> Result<(), crate::error::Invalid> {
        if woken_ns > *blocked_ns {
            return wrong(place, "is more than blocked_ns, which it is a part of");
        }
        *blocked_ns = blocked_ns.map(|ns| ns - woken_ns.unwrap_or(0));
        Ok(())
    }

    // Counts occur in four places of a file, which all changed their meaning.
    let again = profile.repeats.iter_mut().flat_map(|run| &mut run.calls);
    let of_objects = profile.objects.iter_mut().map(|object| &mut object.count);
    for count in calls
        .iter_mut()
        .map(|call| &mut call.count)
        .chain(again)
        .chain(of_objects)
    {
        until_woken(
            &format!("{}: woken_ns", count.call),
            &mut count.blocked_ns,
            count.woken_ns,
        )?;
        count.runnable_ns = count
            .runnable_ns
            .map(|ns| ns.saturating_add(count.woken_ns.unwrap_or(0)));
    }
    profile.stacks.iter_mut().try_for_each(|stack| {
        until_woken("stacks.woken_ns", &mut stack.blocked_ns, stack.woken_ns)
    })?;
    profile
        .slowest
        .iter_mut()
        .try_for_each(|slow| until_woken("slowest.woken_ns", &mut slow.blocked_ns, slow.woken_ns))
}
