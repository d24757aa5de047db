//! An attribution as one JSON document, schema `syscost.attribution/1`. FORMAT.md documents it; fields are only ever added.

use super::attribution_verdict::verdict;
use super::{attribution_warnings, attribution_words, class_words};
use crate::attribute::Attribution;
use crate::attribute::advice::Advice;
use crate::attribute::breakdown::{Account, Breakdown, CallRow, Part};
use crate::attribute::change::{Change, ChangeLine, ChangeRow, UnpricedCall};
use crate::attribute::spread::Seconds;
use crate::model::Profile;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// What `syscost attribute --format json` prints. All times are in seconds.
#[derive(Serialize, JsonSchema)]
struct AttributionDocument {
    /// `syscost.attribution/1`
    schema: &'static str,
    /// The profile's command; empty where it is not known.
    command: Vec<String>,
    here: HereDocument,
    /// One for each set of unit costs that it was compared with.
    versus: Vec<VersusDocument>,
    /// What could be saved, the greatest saving first.
    advice: Vec<AdviceDocument>,
    /// What is missing or doubtful.
    warnings: Vec<String>,
}

/// A time with the range that holds it at about 95%.
#[derive(Serialize, JsonSchema)]
struct SecondsDocument {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize, JsonSchema)]
struct HereDocument {
    /// The unit costs that were used; null without any.
    costs: Option<String>,
    /// Whether times were measured; false where counts are priced by unit costs.
    measured: bool,
    calls: Vec<CallDocument>,
    account: AccountDocument,
}

#[derive(Serialize, JsonSchema)]
struct CallDocument {
    name: String,
    /// In words; empty where rows are told apart by call.
    class: String,
    calls: u64,
    /// Calls that failed.
    failures: u64,
    /// Measured time on a CPU; null where it is not known.
    on_cpu_s: Option<f64>,
    blocked_s: Option<f64>,
    elapsed_s: Option<f64>,
    /// Elapsed time as a share of wall time.
    wall_share: Option<f64>,
    /// Calls x cost of a null call.
    crossing_s: Option<SecondsDocument>,
    /// The rest of the time on a CPU.
    work_s: Option<SecondsDocument>,
    /// Calls x unit cost, class by class.
    by_unit_cost_s: Option<SecondsDocument>,
}

#[derive(Serialize, JsonSchema)]
struct AccountDocument {
    wall_s: Option<f64>,
    /// Processors that the workload could use.
    cpus: Option<u64>,
    /// What the parts add up to: wall time x processors, or CPU time; null where it is not known.
    whole_s: Option<f64>,
    parts: Vec<PartDocument>,
    /// What is not part of the sum.
    beside: Vec<PartDocument>,
    /// In words.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct PartDocument {
    name: &'static str,
    seconds: SecondsDocument,
    /// How it is known.
    note: String,
}

#[derive(Serialize, JsonSchema)]
struct VersusDocument {
    /// The unit costs there.
    costs: String,
    /// Classes with a unit cost on both sides, the greatest change first.
    calls: Vec<ChangeDocument>,
    lines: Vec<LineDocument>,
    /// All lines together; null where nothing could be compared.
    total: Option<LineDocument>,
    /// Bare crossings of all calls; those of priced calls are in `calls` too.
    crossings: Option<LineDocument>,
    /// Families of calls: parts of `calls`.
    families: Vec<LineDocument>,
    /// Calls without a unit cost on both sides.
    unpriced: Vec<UnpricedDocument>,
    /// Time blocked in calls, not predicted.
    blocked_s: Option<f64>,
    /// Wall time here; null where it is not known.
    wall_here_s: Option<f64>,
    /// Wall time there, if waiting stays as it is.
    wall_there_s: Option<SecondsDocument>,
    /// Conclusions in words.
    verdict: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ChangeDocument {
    name: String,
    /// In words; empty where nothing is known.
    class: String,
    calls: u64,
    here_s: f64,
    /// Unit cost there over unit cost here.
    ratio: f64,
    /// There minus here.
    change_s: SecondsDocument,
    /// What priced it.
    unit: String,
}

#[derive(Serialize, JsonSchema)]
struct LineDocument {
    name: String,
    here_s: f64,
    there_s: f64,
    /// There minus here.
    change_s: SecondsDocument,
    note: String,
}

#[derive(Serialize, JsonSchema)]
struct UnpricedDocument {
    name: String,
    calls: u64,
    /// Measured time on a CPU; null where it is not known.
    on_cpu_s: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct AdviceDocument {
    /// Name of the rule.
    rule: &'static str,
    calls: u64,
    /// What they took on a CPU; null where it is not known.
    measured_s: Option<f64>,
    saved_s: SecondsDocument,
    what: String,
    /// The unit costs that it rests on.
    unit: String,
}

/// Writes the document.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(profile: &Profile, found: &Attribution, out: &mut dyn Write) -> Result<()> {
    let document = AttributionDocument {
        schema: "syscost.attribution/1",
        command: profile.command.clone(),
        here: here(&found.here),
        versus: found.versus.iter().map(versus).collect(),
        advice: found.advice.iter().map(advice).collect(),
        warnings: found.warnings.iter().map(attribution_warnings::warning).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    Ok(writeln!(out)?)
}

/// The JSON Schema of the document.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(AttributionDocument).to_value()
}

fn seconds(time: Seconds) -> SecondsDocument {
    SecondsDocument { value: time.value, low: time.low, high: time.high }
}

fn here(here: &Breakdown) -> HereDocument {
    HereDocument {
        costs: here.costs.clone(),
        measured: here.measured,
        calls: here.rows.iter().map(call).collect(),
        account: account(&here.account),
    }
}

fn call(row: &CallRow) -> CallDocument {
    CallDocument {
        name: row.call.clone(),
        class: class_words::class(&row.class),
        calls: row.calls,
        failures: row.failures,
        on_cpu_s: row.on_cpu_s,
        blocked_s: row.blocked_s,
        elapsed_s: row.elapsed_s,
        wall_share: row.wall_share,
        crossing_s: row.crossing.map(seconds),
        work_s: row.work.map(seconds),
        by_unit_cost_s: row.priced.map(seconds),
    }
}

fn account(account: &Account) -> AccountDocument {
    let part = |part: &Part| {
        let (name, note) = attribution_words::part(&part.kind);
        PartDocument { name, seconds: seconds(part.seconds), note }
    };
    AccountDocument {
        wall_s: account.wall_s,
        cpus: account.cpus,
        whole_s: account.whole,
        parts: account.parts.iter().map(part).collect(),
        beside: account.beside.iter().map(part).collect(),
        notes: account.notes.iter().map(attribution_words::account_note).collect(),
    }
}

fn versus(change: &Change) -> VersusDocument {
    let unpriced =
        |call: &UnpricedCall| UnpricedDocument { name: call.call.clone(), calls: call.calls, on_cpu_s: call.on_cpu_s };
    VersusDocument {
        costs: change.there.clone(),
        calls: change.rows.iter().map(changed).collect(),
        lines: change.lines.iter().map(line).collect(),
        total: Some(line(&change.total)),
        crossings: change.crossings.as_ref().map(line),
        families: change.families.iter().map(line).collect(),
        unpriced: change.unpriced.iter().map(unpriced).collect(),
        blocked_s: change.blocked_s,
        wall_here_s: change.wall.map(|(here, _)| here),
        wall_there_s: change.wall.map(|(_, there)| seconds(there)),
        verdict: verdict(change),
    }
}

fn changed(row: &ChangeRow) -> ChangeDocument {
    ChangeDocument {
        name: row.call.clone(),
        class: class_words::class(&row.class),
        calls: row.calls,
        here_s: row.here_s,
        ratio: row.ratio,
        change_s: seconds(row.change),
        unit: attribution_words::basis(&row.basis),
    }
}

fn line(line: &ChangeLine) -> LineDocument {
    let (name, note) = attribution_words::line(line);
    LineDocument {
        name: name.to_string(),
        here_s: line.here_s,
        there_s: line.there_s(),
        change_s: seconds(line.change),
        note,
    }
}

fn advice(advice: &Advice) -> AdviceDocument {
    let (what, unit) = attribution_warnings::advice(advice);
    AdviceDocument {
        rule: advice.rule.name(),
        calls: advice.calls,
        measured_s: advice.measured_s,
        saved_s: seconds(advice.saved),
        what,
        unit,
    }
}
