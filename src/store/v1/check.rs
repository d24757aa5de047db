//! Refuses values that have the right type but make no sense, on reading and before writing, so that everything written can
//! be read again.

use super::{EntriesStatus, Record, ResultFile};
use crate::model::{Counted, Counters, Figure, Host, Label, Measurement};
use crate::store::error::Invalid;
use crate::store::rules::{Checked, name, positive, wrong};

/// Most samples in a record; a long run has some thousands.
const MAX_SAMPLES: usize = 10_000_000;

/// Checks a result file. Errors: the first value that makes no sense.
pub fn file(file: &ResultFile) -> Checked {
    name("tool.name", &file.tool.name)?;
    file.source.iter().try_for_each(|source| name("source.title", &source.title))?;
    file.study.iter().try_for_each(super::study::check)?;
    file.environments.iter().try_for_each(|facts| name("environments.name", &facts.name))?;
    host(&file.host)?;
    file.labels.iter().try_for_each(label)?;
    positive("plan.budget_s", file.plan.budget_s)?;
    positive("plan.precision_percent", file.plan.precision_percent)?;
    positive("elapsed_s", file.elapsed_s)?;
    file.records.iter().enumerate().try_for_each(|(i, r)| {
        let found = record(r);
        found.map_err(|e| Invalid { place: format!("{}: {}", r.place(i), e.place), what: e.what })
    })
}

fn label((key, text): (&String, &String)) -> Checked {
    Label::check_key(key).or_else(|what| wrong("labels", &format!("has the key {key:?}: it {what}")))?;
    Label::check_value(text).or_else(|what| wrong(&format!("labels.{key}"), &what))
}

pub(super) fn host(host: &Host) -> Checked {
    let numbers = [
        ("host.clock_cost_ns", host.clock_cost_ns),
        ("host.clock_step_ns", host.clock_step_ns),
        ("host.frequency_mhz", host.frequency_mhz),
        ("host.load_1min", host.load_1min),
        ("host.steal_percent", host.steal_percent),
    ];
    numbers.into_iter().try_for_each(|(place, number)| number.map_or(Ok(()), |n| positive(place, n)))
}

fn record(record: &Record) -> Checked {
    // A snippet's body may be empty (the bare loop) and as long as code is.
    if record.language.is_none() {
        name("operation", &record.operation)?;
    }
    name("environment", &record.environment)?;
    record.name.iter().try_for_each(|text| name("name", text))?;
    record.language.iter().try_for_each(|text| name("language", text))?;
    record.params.keys().try_for_each(|key| name("params", key))?;
    record.defaults.keys().try_for_each(|key| name("defaults", key))?;
    entries(record)?;
    record.counters.iter().try_for_each(counters)?;
    record.samples.iter().try_for_each(samples)?;
    record.latency.iter().try_for_each(super::latency::check)?;
    record.counted.iter().try_for_each(counted)?;
    record.figure.iter().try_for_each(figure)
}

pub(super) fn counted(counted: &Counted) -> Checked {
    if counted.fewer == 0 {
        return wrong("counted.fewer", "is 0, must be at least 1");
    }
    if counted.more <= counted.fewer {
        return wrong("counted.more", &format!("is {}, must be more than {}", counted.more, counted.fewer));
    }
    match counted.batches.len() {
        1..=MAX_SAMPLES => Ok(()),
        count => wrong("counted.batches", &format!("are {count}, must be from 1 to {MAX_SAMPLES}")),
    }
}

fn entries(record: &Record) -> Checked {
    for (call, count) in record.entries.iter().flatten() {
        name("entries", call)?;
        positive(&format!("entries.{call}"), *count)?;
    }
    match (record.entries_status, &record.entries_reason) {
        (EntriesStatus::Unverified, None) => wrong("entries_reason", "must say why they are unverified"),
        (EntriesStatus::Verified, Some(_)) => wrong("entries_reason", "must be null where they are verified"),
        _ => Ok(()),
    }
}

fn counters(counters: &Counters) -> Checked {
    for (event, launches) in counters {
        name("counters", event)?;
        launches.iter().try_for_each(|count| positive(&format!("counters.{event}"), count.abs()))?;
    }
    Ok(())
}

pub(super) fn samples(samples: &Measurement) -> Checked {
    if samples.iterations == 0 {
        return wrong("samples.iterations", "is 0, must be at least 1");
    }
    samples.clock_step_ns.iter().try_for_each(|step| positive("samples.clock_step_ns", *step))?;
    let slots = samples.blocks.iter().flat_map(|block| &block.slots);
    let count = slots.map(Vec::len).sum::<usize>() + samples.preempted_ns.len();
    if count > MAX_SAMPLES { wrong("samples", &format!("are {count}, more than {MAX_SAMPLES}")) } else { Ok(()) }
}

fn figure(figure: &Figure) -> Checked {
    positive("figure.ns_per_op", figure.time.0)?;
    if figure.count == Some(0) {
        return wrong("figure.count", "is 0, must be at least 1 or null");
    }
    match figure.user_share {
        Some(share) if !(0.0..=1.0).contains(&share) => {
            wrong("figure.user_share", &format!("is {share}, must be from 0 to 1"))
        }
        _ => Ok(()),
    }
}
