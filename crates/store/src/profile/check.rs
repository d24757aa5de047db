//! All sums over a profile must fit into 64 bits, so that everything that reads one can add without checking.

use crate::error::Invalid;
use crate::rules::{Checked, MAX_NAME, fits, histogram, name, positive, wrong};
use model::{CallCount, Concurrency, Outside, ProcessGroup, Profile};
use std::collections::BTreeSet;

pub fn profile(file: &Profile) -> Checked {
    file.tool
        .iter()
        .try_for_each(|tool| name("tool.name", &tool.name))?;
    file.source
        .iter()
        .try_for_each(|source| name("source.title", &source.title))?;
    file.tracer
        .added_per_call_ns
        .map_or(Ok(()), |ns| positive("tracer.added_per_call_ns", ns))?;
    // Negative if the tracer measures less than the whole call.
    file.tracer
        .offset_per_call_ns
        .map_or(Ok(()), |ns| positive("tracer.offset_per_call_ns", ns.abs()))?;
    processes(&file.groups)?;
    calls(file.groups.iter().flat_map(|group| &group.calls))?;
    for (i, repeat) in file.repeats.iter().enumerate() {
        calls(repeat.calls.iter()).map_err(|e| Invalid {
            place: format!("repeats[{i}].{}", e.place),
            what: e.what,
        })?;
    }
    for (call, times) in &file.latencies {
        name("durations", call)?;
        histogram(&format!("durations.{call}"), times)?;
    }
    file.null_call_ns
        .map_or(Ok(()), |ns| positive("null_call_ns", ns))?;
    details(file)
}

pub fn calls<'a>(calls: impl Iterator<Item = &'a CallCount> + Clone) -> Checked {
    calls.clone().enumerate().try_for_each(|(i, c)| {
        call(c).map_err(|e| Invalid {
            place: format!("calls[{i}] ({}): {}", c.call, e.place),
            what: e.what,
        })
    })?;
    sums(calls)
}

fn details(file: &Profile) -> Checked {
    file.objects
        .iter()
        .try_for_each(|object| name("objects.call", &object.count.call))?;
    file.waits
        .iter()
        .try_for_each(|wait| name("waits.call", &wait.call))?;
    fits(
        "waits.blocked_ns",
        file.waits.iter().map(|wait| wait.blocked_ns),
    )?;
    fits(
        "waits.stalled_ns",
        file.waits.iter().filter_map(|wait| wait.stalled_ns),
    )?;
    file.stacks
        .iter()
        .try_for_each(|stack| name("stacks.call", &stack.call))?;
    file.slowest
        .iter()
        .try_for_each(|slow| name("slowest.call", &slow.call))?;
    fits(
        "objects.calls",
        file.objects
            .iter()
            .map(|object| object.count.calls)
            .chain(file.objects_dropped),
    )?;
    fits("tree.calls", file.tree.iter().map(|path| path.calls))?;
    fits(
        "tree.processes",
        file.tree.iter().map(|path| path.processes),
    )?;
    fits("stacks.calls", file.stacks.iter().map(|stack| stack.calls))?;
    let times = |concurrency: &Concurrency| {
        let ends = [concurrency.waiting_ns, concurrency.blocked_ns];
        fits(
            "usage.concurrency",
            concurrency.on_cpu_ns.iter().copied().chain(ends),
        )
    };
    file.usage.concurrency.as_ref().map_or(Ok(()), times)?;
    file.usage.outside.as_ref().map_or(Ok(()), outside)
}

fn outside(outside: &Outside) -> Checked {
    let Outside {
        user_ns,
        page_faults_ns,
        interrupts_ns,
        kernel_ns,
        ..
    } = *outside;
    fits(
        "usage.outside",
        [user_ns, page_faults_ns, interrupts_ns, kernel_ns].into_iter(),
    )?;
    outside
        .functions
        .iter()
        .try_for_each(|function| name("usage.outside.functions.name", &function.name))
}

pub fn processes(groups: &[ProcessGroup]) -> Checked {
    let mut seen = BTreeSet::new();
    groups.iter().try_for_each(|process| {
        match seen.insert((&process.name, process.pid, &process.cgroup)) {
            true if process.name.len() <= MAX_NAME => Ok(()),
            true => wrong(
                "processes.name",
                &format!(
                    "has {} bytes, a name may have {MAX_NAME}",
                    process.name.len()
                ),
            ),
            false => wrong(
                "processes.name",
                &format!("'{}' occurs twice", process.name),
            ),
        }
    })
}

fn call(call: &CallCount) -> Checked {
    name("call", &call.call)?;
    call.class
        .operation
        .iter()
        .try_for_each(|text| name("class.operation", text))?;
    if call.runnable_ns.is_some() && call.woken_ns > call.runnable_ns {
        return wrong(
            "woken_ns",
            "is more than runnable_ns, which it is a part of",
        );
    }
    call.errors.keys().try_for_each(|text| name("errors", text))
}

/// 0 if unknown.
type Column = fn(&CallCount) -> u64;

fn sums<'a>(calls: impl Iterator<Item = &'a CallCount> + Clone) -> Checked {
    let columns: [(&str, Column); 9] = [
        ("calls", |c| c.calls),
        ("samples", |c| c.samples.unwrap_or(0)),
        ("unfinished", |c| c.unfinished),
        ("on_cpu_ns", |c| c.on_cpu_ns.unwrap_or(0)),
        ("blocked_ns", |c| c.blocked_ns.unwrap_or(0)),
        ("stalled_ns", |c| c.stalled_ns.unwrap_or(0)),
        ("runnable_ns", |c| c.runnable_ns.unwrap_or(0)),
        ("elapsed_ns", |c| c.elapsed_ns.unwrap_or(0)),
        ("bytes", |c| c.bytes.unwrap_or(0)),
    ];
    for (name, column) in columns {
        fits(&format!("calls.{name}"), calls.clone().map(column))?;
    }
    let times = |c: &CallCount| {
        [c.on_cpu_ns, c.blocked_ns, c.runnable_ns, c.elapsed_ns]
            .into_iter()
            .flatten()
    };
    fits(
        "calls: on_cpu_ns, blocked_ns, runnable_ns and elapsed_ns together",
        calls.clone().flat_map(times),
    )?;
    fits(
        "calls.errors",
        calls.flat_map(|c| c.errors.values().copied()),
    )
}
