//! Version 1: the part of a study that a run's result file keeps.

use crate::model;
use crate::store::rules::{Checked, name, wrong};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The study that named a run's cases, as far as it is needed to show the run.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// The name that it was asked for by, e.g. `locking`.
    #[schemars(length(min = 1))]
    name: String,
    /// One line above its table.
    title: String,
    /// What it wants to know; empty for nothing.
    #[serde(default)]
    question: String,
    /// What its author found; empty for nothing.
    #[serde(default)]
    answer: String,
    /// How it is shown, in this order: `table`, `cmpthese`, `timethese`.
    #[serde(default)]
    views: Vec<String>,
    /// Rows that are made of two records each.
    #[serde(default)]
    derived: Vec<Derived>,
    /// How costs are shown beside nanoseconds.
    #[serde(default)]
    scales: Vec<Scale>,
}

/// A row that is made of two records.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Derived {
    #[schemars(length(min = 1))]
    name: String,
    #[serde(rename = "kind")]
    combination: Kind,
    /// Names of the two cases (ids of operations without one).
    of: [String; 2],
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// The first minus the second.
    Difference,
    /// The first divided by the second.
    Ratio,
}

/// A cost as the time of so many calls.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Scale {
    #[schemars(range(min = 1))]
    calls: u64,
    /// `ns`, `us`, `ms`, `s` or `min`.
    unit: String,
    /// The names of the cases that it is for; empty for all that no other names.
    #[serde(default)]
    cases: Vec<String>,
}

/// Refuses values that the types allow.
///
/// # Errors
/// The first such value.
pub fn check(study: &Study) -> Checked {
    name("study.name", &study.name)?;
    study.derived.iter().try_for_each(|derived| name("study.derived.name", &derived.name))?;
    study.scales.iter().try_for_each(|scale| {
        match (scale.calls, model::Scale::units().contains(&scale.unit.as_str())) {
            (0, _) => wrong("study.scales.calls", "is 0, must be at least 1"),
            (_, false) => wrong("study.scales.unit", &format!("is none of {}", model::Scale::units().join(", "))),
            _ => Ok(()),
        }
    })
}

same_fields!(model::StudyView, Study: name, title, question, answer, views; each derived, scales);
same_fields!(model::Derived, Derived: name, combination, of);
same_variants!(model::Combination, Kind: Difference, Ratio);
same_fields!(model::Scale, Scale: calls, unit, cases);
