//! Version 1: the part of a study that a run's result file keeps.

use crate::model::{Derived, Scale, StudyView};
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

/// Refuses values that the types allow. Errors: the first such value.
pub fn check(study: &Study) -> Checked {
    name("study.name", &study.name)?;
    study.derived.iter().try_for_each(|derived| name("study.derived.name", &derived.name))?;
    study.scales.iter().try_for_each(|scale| match (scale.calls, Scale::units().contains(&scale.unit.as_str())) {
        (0, _) => wrong("study.scales.calls", "is 0, must be at least 1"),
        (_, false) => wrong("study.scales.unit", &format!("is none of {}", Scale::units().join(", "))),
        _ => Ok(()),
    })
}

impl From<StudyView> for Study {
    fn from(study: StudyView) -> Study {
        let StudyView { name, title, question, answer, views, derived, scales } = study;
        Study { name, title, question, answer, views, derived, scales }
    }
}

impl From<Study> for StudyView {
    fn from(file: Study) -> StudyView {
        let Study { name, title, question, answer, views, derived, scales } = file;
        StudyView { name, title, question, answer, views, derived, scales }
    }
}
