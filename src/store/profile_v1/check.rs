//! Refuses values that have the right type but make no sense, on reading and before writing.
//!
//! All sums over a profile must fit into 64 bits, so that everything that reads one can add without checking.

use super::{Call, ProfileFile};
use crate::store::error::Invalid;
use crate::store::rules::{Checked, MAX_NAME, name, positive, wrong};
use std::collections::BTreeSet;

/// The last bucket of durations: those of 2^63 (1 + 3/4) ns and more.
const LAST_BUCKET: u16 = 255;

/// Checks a profile.
///
/// # Errors
/// The first value that makes no sense.
pub fn file(file: &ProfileFile) -> Checked {
    file.tool.iter().try_for_each(|tool| name("tool.name", &tool.name))?;
    file.source.iter().try_for_each(|source| name("source.title", &source.title))?;
    file.tracer.added_per_call_ns.map_or(Ok(()), |ns| positive("tracer.added_per_call_ns", ns))?;
    // Negative if the tracer measures less than the whole call.
    file.tracer.offset_per_call_ns.map_or(Ok(()), |ns| positive("tracer.offset_per_call_ns", ns.abs()))?;
    processes(file)?;
    file.calls.iter().enumerate().try_for_each(|(i, c)| {
        call(c).map_err(|e| Invalid { place: format!("calls[{i}] ({}): {}", c.name, e.place), what: e.what })
    })?;
    sums(&file.calls)?;
    latencies(file)
}

fn processes(file: &ProfileFile) -> Checked {
    let mut seen = BTreeSet::new();
    file.processes.iter().try_for_each(|process| match seen.insert(&process.name) {
        true if process.name.len() <= MAX_NAME => Ok(()),
        true => wrong("processes.name", &format!("has {} bytes, a name may have {MAX_NAME}", process.name.len())),
        false => wrong("processes.name", &format!("'{}' occurs twice", process.name)),
    })
}

fn call(call: &Call) -> Checked {
    name("name", &call.name)?;
    if call.process.len() > MAX_NAME {
        return wrong("process", &format!("has {} bytes, a name may have {MAX_NAME}", call.process.len()));
    }
    call.class.operation.iter().try_for_each(|text| name("class.operation", text))?;
    call.errors.keys().try_for_each(|text| name("errors", text))
}

/// One number of a call; 0 if unknown.
type Column = fn(&Call) -> u64;

fn sums(calls: &[Call]) -> Checked {
    let columns: [(&str, Column); 7] = [
        ("calls", |c| c.calls),
        ("unfinished", |c| c.unfinished),
        ("on_cpu_ns", |c| c.on_cpu_ns.unwrap_or(0)),
        ("blocked_ns", |c| c.blocked_ns.unwrap_or(0)),
        ("preempted_ns", |c| c.preempted_ns.unwrap_or(0)),
        ("elapsed_ns", |c| c.elapsed_ns.unwrap_or(0)),
        ("bytes", |c| c.bytes.unwrap_or(0)),
    ];
    for (name, column) in columns {
        fits(&format!("calls.{name}"), calls.iter().map(column))?;
    }
    let times = |c: &Call| [c.on_cpu_ns, c.blocked_ns, c.preempted_ns, c.elapsed_ns].into_iter().flatten();
    fits("calls: on_cpu_ns, blocked_ns, preempted_ns and elapsed_ns together", calls.iter().flat_map(times))?;
    fits("calls.errors", calls.iter().flat_map(|c| c.errors.values().copied()))
}

fn latencies(file: &ProfileFile) -> Checked {
    for (call, buckets) in &file.latencies {
        name("latencies", call)?;
        if let Some(bucket) = buckets.iter().find(|bucket| bucket.0 > LAST_BUCKET) {
            return wrong(&format!("latencies.{call}"), &format!("bucket {} is beyond {LAST_BUCKET}", bucket.0));
        }
        fits(&format!("latencies.{call}"), buckets.iter().map(|bucket| bucket.1))?;
    }
    Ok(())
}

/// Checks that the sum fits into 64 bits.
fn fits(place: &str, mut numbers: impl Iterator<Item = u64>) -> Checked {
    match numbers.try_fold(0u64, u64::checked_add) {
        Some(_) => Ok(()),
        None => wrong(place, "add up to 2^64 or more"),
    }
}
