//! Between the wire types of version 1 and the model. Reading checks first; what is converted is sound.

use super::*;
use crate::clean::excerpt;
use crate::model::{self, EntriesStatus as Status, FailureKind as Kind, Outcome};
use crate::store::error::Invalid;

impl From<&model::Run> for ResultFile {
    fn from(run: &model::Run) -> ResultFile {
        let model::Tool { name, version, compiler } = run.tool.clone();
        ResultFile {
            schema: SCHEMA.to_string(),
            tool: Tool { name, version, compiler },
            source: run.source.clone().map(|s| Source { title: s.title, note: s.note }),
            study: run.study.as_ref().map(Study::from),
            host: run.host.clone(),
            plan: Plan { seed: run.seed, budget_s: run.budget_s, precision_percent: run.precision_percent },
            started_unix_s: run.started_unix_s,
            elapsed_s: run.elapsed_s,
            complete: run.complete,
            warnings: run.warnings.clone(),
            records: run.records.iter().map(Record::from).collect(),
        }
    }
}

impl TryFrom<ResultFile> for model::Run {
    type Error = Invalid;

    fn try_from(file: ResultFile) -> Result<model::Run, Invalid> {
        check(&file)?;
        let Tool { name, version, compiler } = file.tool;
        Ok(model::Run {
            tool: model::Tool { name, version, compiler },
            host: file.host,
            started_unix_s: file.started_unix_s,
            seed: file.plan.seed,
            budget_s: file.plan.budget_s,
            precision_percent: file.plan.precision_percent,
            elapsed_s: file.elapsed_s,
            complete: file.complete,
            records: file.records.into_iter().enumerate().map(|(i, r)| r.into_model(i)).collect::<Result<_, _>>()?,
            warnings: file.warnings,
            source: file.source.map(|s| model::Source { title: s.title, note: s.note }),
            study: file.study.map(model::StudyView::from),
        })
    }
}

impl From<&model::Record> for Record {
    fn from(record: &model::Record) -> Record {
        let case = record.case.clone();
        let (samples, error, figure) = wire_outcome(&record.outcome);
        let (entries_status, entries_reason) = wire_status(&record.entries_status);
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
            entries: record.entries.as_ref().map(|e| e.iter().map(|(name, count)| (name.to_string(), count)).collect()),
            entries_status,
            entries_reason,
            mode_samples: record.mode_samples.map(|m| ModeSamples { user: m.user, system: m.system }),
            warnings: record.warnings.clone(),
            samples,
            error,
            figure,
        }
    }
}

fn wire_outcome(outcome: &Outcome) -> (Option<Samples>, Option<Failure>, Option<Figure>) {
    match outcome {
        Outcome::Measured(measurement) => (Some(measurement.into()), None, None),
        Outcome::Failed(failure) => (None, Some(failure.into()), None),
        Outcome::Published(figure) => (None, None, Some(figure.into())),
    }
}

fn wire_status(status: &Status) -> (EntriesStatus, Option<String>) {
    match status {
        Status::Verified => (EntriesStatus::Verified, None),
        Status::Unverified(reason) => (EntriesStatus::Unverified, Some(reason.clone())),
    }
}

impl Record {
    fn into_model(self, index: usize) -> Result<model::Record, Invalid> {
        let place = self.place(index);
        let outcome = match (self.samples, self.error, self.figure) {
            (Some(samples), None, None) => Outcome::Measured(samples.into()),
            (None, Some(failure), None) => Outcome::Failed(failure.into()),
            (None, None, Some(figure)) => Outcome::Published(figure.into()),
            _ => return Err(super::check::outcomes(place)),
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
        let mode_samples = self.mode_samples.map(|m| model::ModeSamples { user: m.user, system: m.system });
        let (role, warnings) = (self.role.into(), self.warnings);
        Ok(model::Record { case, role, outcome, entries, entries_status, mode_samples, warnings })
    }

    /// How messages name the record: by index and case.
    pub(super) fn place(&self, index: usize) -> String {
        let mut place = format!("records[{index}] ({}", self.name.as_deref().unwrap_or(&self.operation));
        place.extend(self.params.iter().map(|(name, value)| format!(" {name}={value}")));
        excerpt(&place, 120) + ")"
    }
}

impl From<&model::Measurement> for Samples {
    fn from(m: &model::Measurement) -> Samples {
        Samples {
            iterations: m.iterations,
            blocks: m.blocks.iter().map(|b| Block { launch: b.launch, slots: b.slots.clone() }).collect(),
            cpu: CpuTime { user_ns: m.cpu.user_ns, system_ns: m.cpu.system_ns, wall_ns: m.cpu.wall_ns },
            preempted_ns: m.preempted_ns.clone(),
            minor_faults: m.minor_faults,
            major_faults: m.major_faults,
            switches: m.switches,
            history: m.history,
        }
    }
}

impl From<Samples> for model::Measurement {
    fn from(s: Samples) -> model::Measurement {
        model::Measurement {
            iterations: s.iterations,
            blocks: s.blocks.into_iter().map(|b| model::Block { launch: b.launch, slots: b.slots }).collect(),
            cpu: model::CpuTime { user_ns: s.cpu.user_ns, system_ns: s.cpu.system_ns, wall_ns: s.cpu.wall_ns },
            preempted_ns: s.preempted_ns,
            minor_faults: s.minor_faults,
            major_faults: s.major_faults,
            switches: s.switches,
            history: s.history,
        }
    }
}

impl From<&model::Figure> for Figure {
    fn from(f: &model::Figure) -> Figure {
        let as_printed = f.as_printed.clone();
        Figure { ns_per_op: f.time.0, as_printed, count: f.count, user_share: f.user_share }
    }
}

impl From<Figure> for model::Figure {
    fn from(f: Figure) -> model::Figure {
        let time = model::Nanos(f.ns_per_op);
        model::Figure { time, as_printed: f.as_printed, count: f.count, user_share: f.user_share }
    }
}

impl From<&model::Failure> for Failure {
    fn from(failure: &model::Failure) -> Failure {
        Failure { kind: failure.kind.into(), message: failure.message.clone() }
    }
}

impl From<Failure> for model::Failure {
    fn from(failure: Failure) -> model::Failure {
        model::Failure { kind: failure.kind.into(), message: failure.message }
    }
}

/// Conversions both ways between two enums with the same variants.
macro_rules! same_variants {
    ($ours:ty, $theirs:ty: $($variant:ident),+) => {
        impl From<$ours> for $theirs {
            fn from(value: $ours) -> Self {
                match value { $(<$ours>::$variant => Self::$variant),+ }
            }
        }
        impl From<$theirs> for $ours {
            fn from(value: $theirs) -> Self {
                match value { $(<$theirs>::$variant => Self::$variant),+ }
            }
        }
    };
}

same_variants!(model::Role, Role: Asked, Baseline);
same_variants!(Kind, FailureKind: Unsupported, Failed, Timeout, Crashed, Start, Interrupted);
