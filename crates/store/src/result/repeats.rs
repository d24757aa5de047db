//! Further runs in a result file, which are stored as differences from the first. On reading, each becomes a whole run.

use crate::error::Invalid;
use crate::rules::{Checked, wrong};
use model::{Counted, Failure, Host, Measurement, Outcome, Plan, Record, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MAX_REPEATS: usize = 10_000;

/// Bytes of names and code that reading may multiply: each run of the model has its own copy of every case.
const MAX_COPIED: usize = 1 << 28;

#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct Repeats {
    /// Further runs of the same cases, in the order in which they were made; absent if there was one run only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<Repeat>,
}

/// A further run of the same cases, with new processes in a new random order. Absent fields are those of the first run.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Repeat {
    /// When it began, in seconds since 1970-01-01 UTC.
    started_unix_s: u64,
    /// The seed of its random orders.
    seed: u64,
    /// Wall time from the first launch to the last sample, in seconds.
    #[schemars(range(min = 0))]
    elapsed_s: f64,
    /// The machine, looked at again when this run began.
    host: Host,
    /// Warnings about this run as a whole, one line each.
    #[serde(default)]
    warnings: Vec<String>,
    /// One result per record of the file, in the same order.
    results: Vec<Again>,
}

/// The result of a further run for one record: its samples, its error or its counted instructions, exactly one of the three.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = one_of()))]
struct Again {
    /// Warnings about this record, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// As in a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Measurement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// Exactly one of these members is an object.
#[allow(
    dead_code,
    reason = "called where schemas are derived, which other crates ask for as well"
)]
fn one_of() -> serde_json::Value {
    ["samples", "error", "counted"]
        .map(|name| serde_json::json!({"required": [name], "properties": {name: {"type": "object"}}}))
        .into_iter()
        .collect()
}

/// Limits the number of runs and the memory for copies of names, before the copies are made.
pub fn check_number(first: &Run, repeats: usize) -> Checked {
    if repeats > MAX_REPEATS {
        return wrong(
            "repeats",
            &format!("are {repeats}, more than {MAX_REPEATS}"),
        );
    }
    let tool = first.tool.name.len() + first.tool.version.len() + first.tool.compiler.len();
    let copied = first
        .records
        .iter()
        .map(weight)
        .fold(tool, usize::saturating_add)
        .saturating_mul(repeats);
    if copied > MAX_COPIED {
        return wrong(
            "repeats",
            &format!("repeat {copied} bytes of names and code, more than {MAX_COPIED}"),
        );
    }
    Ok(())
}

/// Roughly, in each further run.
fn weight(record: &Record) -> usize {
    let case = &record.case;
    let name = case
        .name
        .iter()
        .chain(&case.language)
        .map(String::len)
        .sum::<usize>();
    let code =
        case.operation.len() + case.prelude.len() + case.setup.len() + case.environment.len();
    let params = case
        .params
        .keys()
        .chain(case.defaults.keys())
        .map(|key| key.len() + 64)
        .sum::<usize>();
    let entries = record
        .entries
        .iter()
        .flat_map(|entries| entries.names())
        .map(|name| name.len() + 64)
        .sum::<usize>();
    name + code + params + entries
}

/// Results have no names: they belong to the record at the same index, so their numbers must agree.
pub fn check_results(results: usize, records: usize) -> Checked {
    if results == records {
        Ok(())
    } else {
        wrong(
            "results",
            &format!("are {results}, must be {records}: one per record"),
        )
    }
}

pub fn in_repeat(index: usize) -> impl Fn(Invalid) -> Invalid {
    move |error| error.within(&format!("repeats[{index}]."))
}

pub const ONE_OF_THREE: &str = "must have exactly one of samples, error and counted";

impl Repeats {
    pub fn from_run(run: &Run) -> Repeats {
        Repeats {
            repeats: run.repeats.iter().map(Repeat::from_run).collect(),
        }
    }

    pub fn complete(self, first: &mut Run) -> Checked {
        check_number(first, self.repeats.len())?;
        let bare: Vec<Record> = first.records.iter().map(without_results).collect();
        first.repeats = self
            .repeats
            .into_iter()
            .enumerate()
            .map(|(i, repeat)| repeat.whole(first, &bare).map_err(in_repeat(i)))
            .collect::<Result<_, _>>()?;
        Ok(())
    }
}

impl Repeat {
    fn from_run(run: &Run) -> Repeat {
        Repeat {
            started_unix_s: run.started_unix_s,
            seed: run.plan.seed,
            elapsed_s: run.elapsed_s,
            host: run.host.clone(),
            warnings: run.warnings.clone(),
            results: run.records.iter().map(Again::from_record).collect(),
        }
    }

    fn whole(self, first: &Run, bare: &[Record]) -> Result<Run, Invalid> {
        check_results(self.results.len(), bare.len())?;
        let again = bare.iter().zip(self.results).enumerate();
        let records = again.map(|(i, (record, again))| {
            again.whole(record).ok_or_else(|| Invalid {
                place: format!("results[{i}]"),
                what: ONE_OF_THREE.to_string(),
            })
        });
        Ok(Run {
            host: self.host,
            started_unix_s: self.started_unix_s,
            plan: Plan {
                seed: self.seed,
                ..first.plan
            },
            elapsed_s: self.elapsed_s,
            complete: true,
            records: records.collect::<Result<_, _>>()?,
            warnings: self.warnings,
            tool: first.tool.clone(),
            labels: first.labels.clone(),
            environments: first.environments.clone(),
            ..Run::default()
        })
    }
}

impl Again {
    fn from_record(record: &Record) -> Again {
        let (mut samples, mut error, mut counted) = (None, None, None);
        match &record.outcome {
            Outcome::Measured(measurement) => samples = Some(measurement.clone()),
            Outcome::Failed(failure) => error = Some(failure.clone()),
            Outcome::Counted(instructions) => counted = Some(instructions.clone()),
            // Nobody repeats what was published; the check refuses to write it.
            Outcome::Published(_) => {}
        }
        Again {
            warnings: record.warnings.clone(),
            samples,
            error,
            counted,
        }
    }

    fn whole(self, record: &Record) -> Option<Record> {
        Some(Record {
            outcome: Outcome::only(self.samples, self.error, None, self.counted)?,
            warnings: self.warnings,
            ..record.clone()
        })
    }
}

/// What all runs have in common.
fn without_results(record: &Record) -> Record {
    Record {
        outcome: Outcome::Failed(Failure::interrupted()),
        warnings: Vec::new(),
        ..record.clone()
    }
}
