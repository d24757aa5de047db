//! All sums over a profile must fit into 64 bits, so that everything that reads one can add without checking.

use crate::rules::{Checked, MAX_NAME, all_positive, fits, histogram, name, names, wrong};
use model::{CallCount, Concurrency, Outside, ProcessGroup, Profile, Section};
use std::collections::BTreeSet;

pub fn profile(file: &Profile) -> Checked {
    names("tool.name", file.tool.iter().map(|tool| &tool.name))?;
    names(
        "source.title",
        file.source.iter().map(|source| &source.title),
    )?;
    // An offset is negative if the tracer measures less than the whole call.
    let offset = file.tracer.offset_per_call_ns.map(f64::abs);
    all_positive(&[
        ("tracer.added_per_call_ns", file.tracer.added_per_call_ns),
        ("tracer.offset_per_call_ns", offset),
    ])?;
    processes(&file.groups)?;
    calls(file.groups.iter().flat_map(|group| &group.calls))?;
    for (i, repeat) in file.repeats.iter().enumerate() {
        calls(repeat.calls.iter()).map_err(|error| error.within(&format!("repeats[{i}].")))?;
    }
    for (call, times) in &file.latencies {
        name("durations", call)?;
        histogram(&format!("durations.{call}"), times)?;
    }
    sections(&file.sections)?;
    file.repeats
        .iter()
        .try_for_each(|run| sections(&run.sections))?;
    all_positive(&[("null_call_ns", file.null_call_ns)])?;
    details(file)
}

fn sections(all: &[Section]) -> Checked {
    names("sections.name", all.iter().map(|section| &section.name))?;
    for (name, of) in [
        (
            "iterations",
            (|section| section.iterations) as fn(&Section) -> u64,
        ),
        ("processes", |section| section.processes),
        ("programs", |section| section.programs),
    ] {
        fits(&format!("sections.{name}"), all.iter().map(of))?;
    }
    calls(all.iter().flat_map(|section| &section.calls)).map_err(|error| error.within("sections: "))
}

pub fn calls<'a>(calls: impl Iterator<Item = &'a CallCount> + Clone) -> Checked {
    for (i, own) in calls.clone().enumerate() {
        call(own).map_err(|error| error.within(&format!("calls[{i}] ({}): ", own.call)))?;
    }
    sums(calls)
}

/// What is only there if it was asked for: names that can be shown, and sums that fit.
fn details(file: &Profile) -> Checked {
    let objects = file.objects.iter().map(|object| &object.count);
    let (waits, stacks, tree) = (file.waits.iter(), file.stacks.iter(), file.tree.iter());
    names("objects.call", objects.clone().map(|count| &count.call))?;
    names("waits.call", waits.clone().map(|wait| &wait.call))?;
    fits(
        "waits.blocked_ns",
        waits.clone().map(|wait| wait.blocked_ns),
    )?;
    fits("waits.stalled_ns", waits.filter_map(|wait| wait.stalled_ns))?;
    names("stacks.call", stacks.clone().map(|stack| &stack.call))?;
    names("slowest.call", file.slowest.iter().map(|slow| &slow.call))?;
    fits(
        "objects.calls",
        objects.map(|count| count.calls).chain(file.objects_dropped),
    )?;
    fits("tree.calls", tree.clone().map(|path| path.calls))?;
    fits("tree.processes", tree.map(|path| path.processes))?;
    fits("stacks.calls", stacks.map(|stack| stack.calls))?;
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
    names(
        "usage.outside.functions.name",
        outside.functions.iter().map(|function| &function.name),
    )
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
    names("class.operation", &call.class.operation)?;
    if call.runnable_ns.is_some() && call.woken_ns > call.runnable_ns {
        return wrong(
            "woken_ns",
            "is more than runnable_ns, which it is a part of",
        );
    }
    names("errors", call.errors.keys())
}

/// 0 if unknown.
type Column = fn(&CallCount) -> u64;

fn sums<'a>(calls: impl Iterator<Item = &'a CallCount> + Clone) -> Checked {
    let columns: [(&str, Column); 10] = [
        ("calls", |c| c.calls),
        ("samples", |c| c.samples.unwrap_or(0)),
        ("unfinished", |c| c.unfinished),
        ("untimed", |c| c.untimed),
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
