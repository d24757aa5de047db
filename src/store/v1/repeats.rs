//! Further runs in a result file: conversion and checks. On reading, each becomes a whole run of the model.

use super::check::{counted, host, samples};
use super::{Again, Record, Repeat, ResultFile};
use crate::model::{self, Outcome, Run};
use crate::store::error::Invalid;
use crate::store::rules::{Checked, positive, wrong};

/// Most further runs in a file.
const MAX_REPEATS: usize = 10_000;

/// Most bytes of names and code that reading may multiply: each run of the model has its own copy of every case.
const MAX_COPIED: usize = 1 << 28;

/// Checks the further runs of a file. Errors: the first value that makes no sense.
pub fn check(file: &ResultFile) -> Checked {
    let count = file.repeats.len();
    if count > MAX_REPEATS {
        return wrong("repeats", &format!("are {count}, more than {MAX_REPEATS}"));
    }
    let tool = file.tool.name.len() + file.tool.version.len() + file.tool.compiler.len();
    let copied = file.records.iter().map(weight).fold(tool, usize::saturating_add).saturating_mul(count);
    if copied > MAX_COPIED {
        return wrong("repeats", &format!("repeat {copied} bytes of names and code, more than {MAX_COPIED}"));
    }
    file.repeats.iter().enumerate().try_for_each(|(i, repeat)| {
        let found = check_one(repeat, file.records.len());
        found.map_err(|e| Invalid { place: format!("repeats[{i}].{}", e.place), what: e.what })
    })
}

/// Bytes of what is copied from a record into each further run, roughly.
fn weight(record: &Record) -> usize {
    let name = record.name.iter().chain(&record.language).chain(&record.entries_reason).map(String::len).sum::<usize>();
    let code = record.operation.len() + record.prelude.len() + record.setup.len() + record.environment.len();
    let params = record.params.keys().chain(record.defaults.keys()).map(|key| key.len() + 64).sum::<usize>();
    let entries = record.entries.iter().flatten().map(|(name, _)| name.len() + 64).sum::<usize>();
    name + code + params + entries
}

fn check_one(repeat: &Repeat, records: usize) -> Checked {
    positive("elapsed_s", repeat.elapsed_s)?;
    host(&repeat.host)?;
    let results = repeat.results.len();
    if results != records {
        return wrong("results", &format!("are {results}, must be {records}: one per record"));
    }
    repeat.results.iter().enumerate().try_for_each(|(i, result)| {
        let place = format!("results[{i}]");
        let found = match (&result.samples, &result.error, &result.counted) {
            (Some(own), None, None) => samples(own),
            (None, None, Some(own)) => counted(own),
            (None, Some(_), None) => return Ok(()),
            _ => return wrong(&place, "must have exactly one of samples, error and counted"),
        };
        found.map_err(|e| Invalid { place: format!("{place}.{}", e.place), ..e })
    })
}

impl From<Run> for Repeat {
    fn from(run: Run) -> Repeat {
        Repeat {
            started_unix_s: run.started_unix_s,
            seed: run.seed,
            elapsed_s: run.elapsed_s,
            host: run.host,
            warnings: run.warnings,
            results: run.records.into_iter().map(Again::from).collect(),
        }
    }
}

impl From<model::Record> for Again {
    fn from(record: model::Record) -> Again {
        let (mut samples, mut error, mut counted) = (None, None, None);
        match record.outcome {
            Outcome::Measured(measurement) => samples = Some(measurement),
            Outcome::Failed(failure) => error = Some(failure),
            Outcome::Counted(instructions) => counted = Some(instructions),
            // Nobody repeats what was published; without any of them, the check refuses to write it.
            Outcome::Published(_) => {}
        }
        Again { warnings: record.warnings, samples, error, counted }
    }
}

impl Repeat {
    /// The whole run; cases, entries and mode samples are those of `first`.
    pub fn into_model(self, first: &Run) -> Run {
        let records = first.records.iter().zip(self.results).map(|(record, again)| again.into_model(record));
        Run {
            tool: first.tool.clone(),
            host: self.host,
            started_unix_s: self.started_unix_s,
            seed: self.seed,
            budget_s: first.budget_s,
            precision_percent: first.precision_percent,
            elapsed_s: self.elapsed_s,
            complete: true,
            labels: first.labels.clone(),
            records: records.collect(),
            warnings: self.warnings,
            environments: first.environments.clone(),
            source: None,
            study: None,
            repeats: Vec::new(),
        }
    }
}

impl Again {
    fn into_model(self, record: &model::Record) -> model::Record {
        let outcome = match (self.samples, self.counted, self.error) {
            (Some(samples), ..) => Outcome::Measured(samples),
            (None, Some(counted), _) => Outcome::Counted(counted),
            (None, None, Some(failure)) => Outcome::Failed(failure),
            (None, None, None) => Outcome::Failed(model::Failure::interrupted()),
        };
        model::Record {
            case: record.case.clone(),
            role: record.role,
            outcome,
            entries: record.entries.clone(),
            entries_status: record.entries_status.clone(),
            entries_counted_unix_s: record.entries_counted_unix_s,
            mode_samples: record.mode_samples,
            counters: record.counters.clone(),
            latency: record.latency.clone(),
            warnings: self.warnings,
        }
    }
}
