//! What a study adds to the summary's JSON document.

use crate::derive::DerivedRow;
use crate::model::{Combination, Scale, StudyView};
use crate::report::study::kind;
use crate::summary::Row;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
pub struct StudyDocument {
    /// The name that it was asked for by.
    name: String,
    title: String,
    /// What it wants to know; empty for nothing.
    question: String,
    /// What its author found; empty for nothing.
    answer: String,
    /// How it is shown: `table`, `cmpthese`, `timethese`.
    views: Vec<String>,
}

/// A cost as the time of so many calls.
#[derive(Serialize, JsonSchema)]
pub struct ScaledDocument {
    calls: u64,
    /// `ns`, `us`, `ms`, `s` or `min`.
    unit: String,
    /// The time of all of them, in `unit`.
    time: f64,
}

/// A row made of two records.
#[derive(Serialize, JsonSchema)]
pub struct DerivedDocument {
    name: String,
    /// `difference` or `ratio`: the first against the second.
    kind: &'static str,
    /// Names of the two.
    of: [String; 2],
    environment: String,
    params: BTreeMap<String, u64>,
    /// Unit of value, low and high: `ns` per iteration, or `1` for a ratio.
    unit: &'static str,
    /// Median over rounds; null where there is none.
    value: Option<f64>,
    /// Lower end of its interval of at least 95%; null for published figures and too short runs.
    low: Option<f64>,
    /// Upper end of it.
    high: Option<f64>,
    /// Absent without a scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaled: Option<ScaledDocument>,
    /// Kernel entries of the first minus those of the second, as far as they differ; null where not known.
    entries: Option<BTreeMap<String, f64>>,
    /// Why there is no value; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub fn study(study: &StudyView) -> StudyDocument {
    StudyDocument {
        name: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        answer: study.answer.clone(),
        views: study.views.clone(),
    }
}

/// The cost of a row by its study's scale.
pub fn scaled(study: Option<&StudyView>, row: &Row) -> Option<ScaledDocument> {
    Some(time(study?.scale(row.case.label())?, row.figure.as_ref().ok()?.median.0))
}

pub fn time(scale: &Scale, ns: f64) -> ScaledDocument {
    ScaledDocument { calls: scale.calls, unit: scale.unit.clone(), time: scale.time(ns) }
}

pub fn derived(row: &DerivedRow) -> DerivedDocument {
    let value = row.value.as_ref().ok();
    let interval = value.and_then(|value| value.low_high);
    DerivedDocument {
        name: row.name.clone(),
        kind: kind(row),
        of: row.of.clone(),
        environment: row.environment.clone(),
        params: row.params.clone(),
        unit: if row.combination == Combination::Ratio { "1" } else { "ns" },
        value: value.map(|value| value.value),
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        scaled: row.scale.as_ref().zip(value).map(|(scale, value)| time(scale, value.value)),
        entries: row.entries.as_ref().map(|entries| entries.iter().cloned().collect()),
        error: row.value.as_ref().err().cloned(),
    }
}
