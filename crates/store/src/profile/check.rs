//! All sums over a profile must fit into 64 bits, so that everything that reads one can add without checking.

use crate::rules::{Checked, MAX_NAME, all_positive, counts, fits, histogram, name, names, wrong};
use model::{CallCount, Outside, ProcessGroup, Profile, Section};
use std::collections::{BTreeMap, BTreeSet};

/// Checks all of a profile but the uniqueness of its processes and calls, which only files can violate.
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
    for (name, number) in [
        (
            "iterations",
            (|section| section.iterations) as fn(&Section) -> u64,
        ),
        ("processes", |section| section.processes),
        ("programs", |section| section.programs),
    ] {
        counts(&format!("sections.{name}"), all.iter().map(number))?;
    }
    calls(all.iter().flat_map(|section| &section.calls)).map_err(|error| error.within("sections: "))
}

/// Contradictions that no tracer writes, and that an edited file may contain.
pub fn edited(file: &Profile) -> Checked {
    for group in &file.groups {
        let mut seen = BTreeSet::new();
        let mut calls = group.calls.iter();
        if let Some(count) = calls.find(|count| !seen.insert((&count.call, &count.class))) {
            let place = format!("calls: {} of '{}'", count.call, group.name);
            return wrong(&place, "appears twice with the same class");
        }
    }
    durations(file)?;
    wall(file)
}

/// As many as there are calls of the name at most.
fn durations(file: &Profile) -> Checked {
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    for count in file.calls() {
        *calls.entry(&count.call).or_default() += count.calls;
    }
    for (call, times) in &file.latencies {
        // Durations under a name without counts cannot be checked.
        let Some(known) = calls.get(call.as_str()).copied() else {
            continue;
        };
        let timed = times
            .counts
            .values()
            .fold(0, |sum: u64, more| sum.saturating_add(*more));
        if timed > known {
            let what = format!("has {timed} durations of {known} calls");
            return wrong(&format!("durations.{call}"), &what);
        }
    }
    Ok(())
}

/// How often the wall time its threads or CPUs may seem to have been busy: clocks differ, and calls begin before tracing does.
const TOLERANCE: f64 = 2.0;
const TOLERANCE_NS: f64 = 1e9;

fn wall(file: &Profile) -> Checked {
    let (usage, all) = (&file.usage, file.all_calls());
    let Some(wall_ns) = usage.wall_ns.filter(|ns| *ns > 0) else {
        return Ok(());
    };
    // If the target ran before tracing began, not all of its threads are known.
    let threads = if file.scope.is_none() {
        usage.processes.zip(usage.threads)
    } else {
        None
    };
    let threads = threads.map(|(processes, threads)| processes.saturating_add(threads));
    let sums = [
        ("calls.on_cpu_ns", all.on_cpu_ns, usage.cpus, "CPUs"),
        (
            "calls: times of entry to return",
            all.elapsed_ns(),
            threads,
            "threads",
        ),
    ];
    for (place, ns, side_by_side, what) in sums {
        let (Some(ns), Some(number)) = (ns, side_by_side) else {
            continue;
        };
        if ns as f64 > TOLERANCE * wall_ns as f64 * number.max(1) as f64 + TOLERANCE_NS {
            let what = format!("are {ns} ns in {wall_ns} ns of wall time with {number} {what}");
            return wrong(place, &what);
        }
    }
    Ok(())
}

/// Checks each call, named by its place in the file, and that their sums fit into 64 bits.
pub fn calls<'a>(calls: impl Iterator<Item = &'a CallCount> + Clone) -> Checked {
    for (i, count) in calls.clone().enumerate() {
        call(count).map_err(|error| error.within(&format!("calls[{i}] ({}): ", count.call)))?;
    }
    sums(calls)
}

/// Names that can be shown, and sums that fit into 64 bits.
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
    let times = file.threads.iter().map(|thread| thread.time);
    let times = times.chain(file.requests.iter().map(|requests| requests.time));
    let times = times.chain(file.usage.thread_time);
    let parts = times.flat_map(|time| [time.ran_ns, time.runnable_ns, time.blocked_ns]);
    fits("threads", parts)?;
    counts(
        "requests",
        file.requests.iter().map(|requests| requests.requests),
    )?;
    let open = file
        .threads
        .iter()
        .filter_map(|thread| thread.open.as_ref());
    names("threads.open.call", open.map(|open| &open.call))?;
    let throttled = file.usage.throttled.iter();
    counts(
        "usage.throttled.periods",
        throttled.clone().map(|throttled| throttled.periods),
    )?;
    counts(
        "usage.throttled.throttled",
        throttled.map(|limits| limits.throttled),
    )?;
    let locks = file.locks.iter();
    counts("locks.waits", locks.clone().map(|lock| lock.waits))?;
    fits("locks.waited_ns", locks.map(|lock| lock.waited_ns))?;
    names("stacks.call", stacks.clone().map(|stack| &stack.call))?;
    names("slowest.call", file.slowest.iter().map(|slow| &slow.call))?;
    counts(
        "objects.calls",
        objects.map(|count| count.calls).chain(file.objects_dropped),
    )?;
    counts("tree.calls", tree.clone().map(|path| path.calls))?;
    counts("tree.processes", tree.map(|path| path.processes))?;
    counts("stacks.calls", stacks.map(|stack| stack.calls))?;
    file.usage
        .concurrency
        .as_ref()
        .map_or(Ok(()), |concurrency| {
            let ends = [concurrency.waiting_ns, concurrency.blocked_ns];
            fits(
                "usage.concurrency",
                concurrency.on_cpu_ns.iter().copied().chain(ends),
            )
        })?;
    if let Some(gap) = &file.usage.longest_gap {
        names("usage.longest_gap", [&gap.after, &gap.before])?;
    }
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

/// Refuses processes that appear twice, and names that are too long.
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

type Column = fn(&CallCount) -> u64;

fn sums<'a>(calls: impl Iterator<Item = &'a CallCount> + Clone) -> Checked {
    let counted: [(&str, Column); 4] = [
        ("calls", |c| c.calls),
        ("samples", |c| c.samples.unwrap_or(0)),
        ("unfinished", |c| c.unfinished),
        ("untimed", |c| c.untimed),
    ];
    for (name, column) in counted {
        counts(&format!("calls.{name}"), calls.clone().map(column))?;
    }
    let columns: [(&str, Column); 6] = [
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
    fits(
        "calls: on_cpu_ns, blocked_ns, runnable_ns and elapsed_ns together",
        calls.clone().flat_map(|c| {
            [c.on_cpu_ns, c.blocked_ns, c.runnable_ns, c.elapsed_ns]
                .into_iter()
                .flatten()
        }),
    )?;
    counts(
        "calls.errors",
        calls.flat_map(|c| c.errors.values().copied()),
    )
}
