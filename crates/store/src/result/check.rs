//! Refuses values that have the right type but make no sense, on reading and before writing: everything written can be read
//! again.

use super::repeats::{ONE_OF_THREE, check_number, check_results, in_repeat};
use crate::rules::{Checked, all_positive, histogram, name, names, positive, wrong};
use model::clean::excerpt;
use model::{
    Counted, Counters, Figure, Host, Label, Measurement, Outcome, Record, Run, Scale, SingleCalls,
    StudyView, TimesOrError,
};

/// A long run has some thousands.
const MAX_SAMPLES: usize = 10_000_000;

const MOST_ENTRIES: f64 = 1e9;

/// Names the record and field of the first wrong value.
pub fn run(run: &Run) -> Checked {
    name("tool.name", &run.tool.name)?;
    names(
        "source.title",
        run.source.iter().map(|source| &source.title),
    )?;
    run.study.iter().try_for_each(study)?;
    names(
        "environments.name",
        run.environments.iter().map(|facts| &facts.name),
    )?;
    run.labels.iter().try_for_each(label)?;
    positive("plan.budget_s", run.plan.budget_s)?;
    all_positive(&[("plan.whole_s", run.plan.whole_s)])?;
    positive("plan.precision_percent", run.plan.precision_percent)?;
    conditions(run)?;
    for (i, one) in run.records.iter().enumerate() {
        record(one).map_err(|error| error.within(&format!("{}: ", place(one, i))))?;
    }
    check_number(run, run.repeats.len())?;
    for (i, again) in run.repeats.iter().enumerate() {
        repeat(again, run.records.len()).map_err(in_repeat(i))?;
    }
    Ok(())
}

fn repeat(run: &Run, records: usize) -> Checked {
    conditions(run)?;
    check_results(run.records.len(), records)?;
    for (i, record) in run.records.iter().enumerate() {
        let place = format!("results[{i}]");
        match &record.outcome {
            Outcome::Published(_) => wrong(&place, ONE_OF_THREE)?,
            result => outcome(result).map_err(|error| error.within(&format!("{place}.")))?,
        }
    }
    Ok(())
}

fn conditions(run: &Run) -> Checked {
    positive("elapsed_s", run.elapsed_s)?;
    host(&run.host)
}

fn place(record: &Record, index: usize) -> String {
    let mut place = format!("records[{index}] ({}", record.case.label());
    place.extend(
        record
            .case
            .params
            .iter()
            .map(|(name, value)| format!(" {name}={value}")),
    );
    excerpt(&place, 120) + ")"
}

fn study(study: &StudyView) -> Checked {
    name("study.name", &study.name)?;
    names(
        "study.derived.name",
        study.derived.iter().map(|derived| &derived.name),
    )?;
    study.scales.iter().try_for_each(|scale| {
        match (scale.calls, Scale::units().contains(&scale.unit.as_str())) {
            (0, _) => wrong("study.scales.calls", "is 0, must be at least 1"),
            (_, false) => wrong(
                "study.scales.unit",
                &format!("is none of {}", Scale::units().join(", ")),
            ),
            _ => Ok(()),
        }
    })
}

fn label(entry: (&String, &String)) -> Checked {
    let (key, text) = entry;

    Label::check_key(key)
        .or_else(|what| wrong("labels", &format!("has the key {key:?}: it {what}")))?;
    Label::check_value(text).or_else(|what| wrong(&format!("labels.{key}"), &what))
}

fn host(host: &Host) -> Checked {
    all_positive(&[
        ("host.clock_cost_ns", host.clock_cost_ns),
        ("host.clock_step_ns", host.clock_step_ns),
        ("host.frequency_mhz", host.frequency_mhz),
        ("host.load_1min", host.load_1min),
        ("host.steal_percent", host.steal_percent),
    ])
}

fn record(record: &Record) -> Checked {
    let case = &record.case;
    // A snippet's body may be empty (the bare loop) and as long as code is.
    if case.language.is_none() {
        name("operation", &case.operation)?;
    }
    name("environment", &case.environment)?;
    names("name", &case.name)?;
    names("language", &case.language)?;
    names("params", case.params.keys())?;
    names("defaults", case.defaults.keys())?;
    for (call, count) in record.entries.iter().flat_map(|entries| entries.iter()) {
        name("entries", call)?;
        if !(0.0..=MOST_ENTRIES).contains(&count) {
            return wrong(
                &format!("entries.{call}"),
                &format!("is {count:?}, must be a number from 0 to 10^9"),
            );
        }
    }
    record.counters.iter().try_for_each(counters)?;
    if let Some(TimesOrError::Times(calls)) = &record.latency {
        latency(calls)?;
    }
    outcome(&record.outcome)
}

fn outcome(outcome: &Outcome) -> Checked {
    match outcome {
        Outcome::Measured(measurement) => samples(measurement),
        Outcome::Counted(measurement) => counted(measurement),
        Outcome::Published(measurement) => figure(measurement),
        Outcome::Failed(_) => Ok(()),
    }
}

fn counted(counted: &Counted) -> Checked {
    if counted.fewer == 0 {
        return wrong("counted.fewer", "is 0, must be at least 1");
    }
    if counted.more <= counted.fewer {
        return wrong(
            "counted.more",
            &format!("is {}, must be more than {}", counted.more, counted.fewer),
        );
    }
    match counted.batches.len() {
        1..=MAX_SAMPLES => Ok(()),
        count => wrong(
            "counted.batches",
            &format!("are {count}, must be from 1 to {MAX_SAMPLES}"),
        ),
    }
}

fn counters(counters: &Counters) -> Checked {
    for (event, launches) in counters {
        name("counters", event)?;
        launches
            .iter()
            .try_for_each(|count| positive(&format!("counters.{event}"), count.abs()))?;
    }
    Ok(())
}

fn samples(samples: &Measurement) -> Checked {
    if samples.iterations == 0 {
        return wrong("samples.iterations", "is 0, must be at least 1");
    }
    all_positive(&[("samples.clock_step_ns", samples.clock_step_ns)])?;
    let slots = samples.blocks.iter().flat_map(|block| &block.slots);
    let count = slots.map(Vec::len).sum::<usize>() + samples.preempted_ns.len();
    match count {
        1..=MAX_SAMPLES => Ok(()),
        _ => wrong(
            "samples",
            &format!("are {count}, must be from 1 to {MAX_SAMPLES}"),
        ),
    }
}

fn figure(figure: &Figure) -> Checked {
    positive("figure.ns_per_op", figure.time.0)?;
    if figure.count == Some(0) {
        return wrong("figure.count", "is 0, must be at least 1 or null");
    }
    match figure.user_share {
        Some(share) if !(0.0..=1.0).contains(&share) => wrong(
            "figure.user_share",
            &format!("is {share}, must be from 0 to 1"),
        ),
        _ => Ok(()),
    }
}

fn latency(calls: &SingleCalls) -> Checked {
    positive("latency.times.timer_ns", calls.timer.0)?;
    positive("latency.times.tick_ns", calls.tick.0)?;
    if calls.all.counts.is_empty() {
        return wrong("latency.times.all", "holds no call");
    }
    let parts = [
        ("all", Some(&calls.all)),
        ("preempted", calls.preempted.as_ref()),
        ("interrupted", calls.interrupted.as_ref()),
    ];
    for (name, part) in parts {
        let Some(part) = part else { continue };
        let place = format!("latency.times.{name}");
        histogram(&place, part)?;
        if let Some((bucket, _)) = part
            .counts
            .iter()
            .find(|(at, count)| calls.all.counts.get(at) < Some(count))
        {
            return wrong(
                &place,
                &format!("has more calls in bucket {bucket} than there are in all"),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Histogram;

    fn checked(all: &[(u16, u64)], preempted: &[(u16, u64)]) -> Result<(), String> {
        fn times(pairs: &[(u16, u64)]) -> Histogram {
            Histogram::from(pairs.to_vec()).for_single_calls()
        }

        let calls = SingleCalls {
            all: times(all),
            preempted: Some(times(preempted)),
            ..SingleCalls::default()
        };
        latency(&calls).map_err(|invalid| invalid.what)
    }

    #[test]
    fn parts_are_parts_of_the_whole_and_buckets_have_an_end() {
        assert_eq!(checked(&[(104, 90), (4099, 2)], &[(4099, 2)]), Ok(()));
        for wrong in [&[(4099, 3)], &[(105, 1)]] {
            assert!(
                checked(&[(104, 90), (4099, 2)], wrong)
                    .unwrap_err()
                    .contains("than there are in all")
            );
        }
        assert!(
            checked(&[(64 * 512, 1)], &[])
                .unwrap_err()
                .contains("is beyond")
        );
        assert_eq!(checked(&[], &[]), Err("holds no call".to_string()));
    }
}
