//! Conversion between the wire types of version 1 and the model. Values are checked before they are converted.

use super::*;
use crate::clean::excerpt;
use crate::model::{self, EntriesStatus as Status, Outcome, Run};
use crate::store::error::Invalid;
use crate::store::parse::Wire;
use crate::store::rules::Checked;

same_fields!(model::Tool, Tool: name, version, compiler);
same_fields!(model::Source, Source: title, note);
same_fields!(model::ModeSamples, ModeSamples: user, system);
same_fields!(model::Counters, Counters: counted, not_counted);
same_fields!(model::Measurement, Samples: iterations, cpu, preempted_ns, minor_faults, major_faults, switches, history; each blocks);
same_fields!(model::Block, Block: launch, slots);
same_fields!(model::Counted, Counted: fewer, more, batches);
same_fields!(model::EnvironmentFacts, EnvironmentFacts: name, unit, started_with, kernel, emulator, notes, host);
same_fields!(model::CpuTime, CpuTime: user_ns, system_ns, wall_ns);
same_fields!(model::Failure, Failure: kind, message);
same_variants!(model::Unit, Unit: Nanoseconds, Instructions);
same_variants!(model::Role, Role: Asked, Baseline);
same_variants!(model::FailureKind, FailureKind: Unsupported, Failed, Timeout, Crashed, Start, Interrupted);

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
            tool: run.tool.into(),
            source: run.source.map(Into::into),
            study: run.study.map(Into::into),
            host: run.host,
            plan: Plan { seed: run.seed, budget_s: run.budget_s, precision_percent: run.precision_percent },
            started_unix_s: run.started_unix_s,
            elapsed_s: run.elapsed_s,
            complete: run.complete,
            labels: run.labels,
            warnings: run.warnings,
            environments: run.environments.into_iter().map(Into::into).collect(),
            records: run.records.into_iter().map(Record::from).collect(),
            repeats: run.repeats.into_iter().map(Repeat::from).collect(),
        }
    }

    fn into_model(self) -> Result<Run, Invalid> {
        self.check()?;
        let repeats = self.repeats;
        let first = Run {
            tool: self.tool.into(),
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
            environments: self.environments.into_iter().map(Into::into).collect(),
            source: self.source.map(Into::into),
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
            Outcome::Measured(measurement) => samples = Some(measurement.into()),
            Outcome::Failed(failure) => error = Some(failure.into()),
            Outcome::Published(published) => figure = Some(published.into()),
            Outcome::Counted(instructions) => counted = Some(instructions.into()),
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
            role: record.role.into(),
            entries: record.entries.map(|e| e.iter().map(|(name, count)| (name.to_string(), count)).collect()),
            entries_status,
            entries_reason,
            mode_samples: record.mode_samples.map(Into::into),
            counters: record.counters.map(Into::into),
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
            (Some(samples), None, None, None) => Outcome::Measured(samples.into()),
            (None, Some(failure), None, None) => Outcome::Failed(failure.into()),
            (None, None, Some(figure), None) => Outcome::Published(figure.into()),
            (None, None, None, Some(counted)) => Outcome::Counted(counted.into()),
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
        let mode_samples = self.mode_samples.map(Into::into);
        let counters = self.counters.map(Into::into);
        let misplaced = |e: Invalid| Invalid { place: format!("{place}: {}", e.place), what: e.what };
        let latency = self.latency.map(Latency::into_model).transpose().map_err(misplaced)?;
        let (role, warnings) = (self.role.into(), self.warnings);
        Ok(model::Record { case, role, outcome, entries, entries_status, mode_samples, counters, latency, warnings })
    }

    /// The record in messages: its index and case.
    pub(super) fn place(&self, index: usize) -> String {
        let mut place = format!("records[{index}] ({}", self.name.as_deref().unwrap_or(&self.operation));
        place.extend(self.params.iter().map(|(name, value)| format!(" {name}={value}")));
        excerpt(&place, 120) + ")"
    }
}

impl From<model::Figure> for Figure {
    fn from(f: model::Figure) -> Figure {
        Figure { ns_per_op: f.time.0, as_printed: f.as_printed, count: f.count, user_share: f.user_share }
    }
}

impl From<Figure> for model::Figure {
    fn from(f: Figure) -> model::Figure {
        let time = model::Nanos(f.ns_per_op);
        model::Figure { time, as_printed: f.as_printed, count: f.count, user_share: f.user_share }
    }
}
