//! Conversion between the wire types of version 1 and the model. Values are checked before they are converted.

use super::*;
use crate::clean::excerpt;
use crate::model::{self, EntriesStatus as Status, Outcome, Run};
use crate::store::error::Invalid;
use crate::store::parse::Wire;
use crate::store::rules::Checked;

impl Wire<Run> for ResultFile {
    const KIND: &'static FileKind = &KIND;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Checked {
        check::file(self)?;
        repeats::check(self)
    }

    fn from_model(run: &Run) -> ResultFile {
        let run = run.clone();
        ResultFile {
            schema: SCHEMA.to_string(),
            tool: run.tool,
            source: run.source,
            study: run.study.map(Into::into),
            host: run.host,
            plan: Plan { seed: run.seed, budget_s: run.budget_s, precision_percent: run.precision_percent },
            started_unix_s: run.started_unix_s,
            elapsed_s: run.elapsed_s,
            complete: run.complete,
            labels: run.labels,
            warnings: run.warnings,
            environments: run.environments,
            records: run.records.into_iter().map(Record::from).collect(),
            repeats: run.repeats.into_iter().map(Repeat::from).collect(),
        }
    }

    fn into_model(self) -> Result<Run, Invalid> {
        let repeats = self.repeats;
        let first = Run {
            tool: self.tool,
            host: self.host,
            started_unix_s: self.started_unix_s,
            seed: self.plan.seed,
            budget_s: self.plan.budget_s,
            precision_percent: self.plan.precision_percent,
            elapsed_s: self.elapsed_s,
            complete: self.complete,
            labels: self.labels,
            records: self.records.into_iter().enumerate().map(|(i, r)| r.into_model(i)).collect::<Result<_, _>>()?,
            warnings: self.warnings,
            environments: self.environments,
            source: self.source,
            study: self.study.map(Into::into),
            repeats: Vec::new(),
        };
        let repeats = repeats.into_iter().map(|repeat| repeat.into_model(&first)).collect();
        Ok(Run { repeats, ..first })
    }
}

impl From<model::Record> for Record {
    fn from(record: model::Record) -> Record {
        let case = record.case;
        let (mut samples, mut error, mut figure, mut counted) = (None, None, None, None);
        match record.outcome {
            Outcome::Measured(measurement) => samples = Some(measurement),
            Outcome::Failed(failure) => error = Some(failure),
            Outcome::Published(published) => figure = Some(published),
            Outcome::Counted(instructions) => counted = Some(instructions),
        }
        let (entries_status, entries_reason) = match record.entries_status {
            Status::Verified => (EntriesStatus::Verified, None),
            Status::Unverified(reason) => (EntriesStatus::Unverified, Some(reason)),
        };
        Record {
            operation: case.operation,
            name: case.name,
            language: case.language,
            prelude: case.prelude,
            setup: case.setup,
            environment: case.environment,
            params: case.params,
            defaults: case.defaults,
            role: record.role,
            entries: record.entries.map(|e| e.iter().map(|(name, count)| (name.to_string(), count)).collect()),
            entries_status,
            entries_reason,
            entries_counted_unix_s: record.entries_counted_unix_s,
            mode_samples: record.mode_samples,
            counters: record.counters,
            latency: record.latency.map(Into::into),
            warnings: record.warnings,
            samples,
            error,
            figure,
            counted,
        }
    }
}

impl Record {
    fn into_model(self, index: usize) -> Result<model::Record, Invalid> {
        let place = self.place(index);
        let outcome = match (self.samples, self.error, self.figure, self.counted) {
            (Some(samples), None, None, None) => Outcome::Measured(samples),
            (None, Some(failure), None, None) => Outcome::Failed(failure),
            (None, None, Some(figure), None) => Outcome::Published(figure),
            (None, None, None, Some(counted)) => Outcome::Counted(counted),
            _ => {
                let what = "must have exactly one of samples, error, figure and counted";
                return Err(Invalid { place, what: what.to_string() });
            }
        };
        let case = model::Case {
            operation: self.operation,
            name: self.name,
            language: self.language,
            prelude: self.prelude,
            setup: self.setup,
            environment: self.environment,
            params: self.params,
            defaults: self.defaults,
        };
        let entries_status = match self.entries_status {
            EntriesStatus::Verified => Status::Verified,
            EntriesStatus::Unverified => Status::Unverified(self.entries_reason.unwrap_or_default()),
        };
        let entries = self.entries.map(|map| map.into_iter().collect());
        let (mode_samples, counters) = (self.mode_samples, self.counters);
        let latency = self.latency.map(Latency::into_model);
        let (role, warnings, entries_counted_unix_s) = (self.role, self.warnings, self.entries_counted_unix_s);
        Ok(model::Record {
            case,
            role,
            outcome,
            entries,
            entries_status,
            entries_counted_unix_s,
            mode_samples,
            counters,
            latency,
            warnings,
        })
    }

    /// The record in messages: its index and case.
    pub(super) fn place(&self, index: usize) -> String {
        let mut place = format!("records[{index}] ({}", self.name.as_deref().unwrap_or(&self.operation));
        place.extend(self.params.iter().map(|(name, value)| format!(" {name}={value}")));
        excerpt(&place, 120) + ")"
    }
}
