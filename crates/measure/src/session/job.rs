//! What a session measures.

use crate::runner::Fixture;
use analysis::summary;
use model::{Planned, Role, StudyView};
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub struct Job {
    pub planned: Vec<Planned>,
    pub fixtures: Vec<Fixture>,
    /// As far as the file of the run keeps it.
    pub study: Option<StudyView>,
    pub labels: BTreeMap<String, String>,
    /// Named by the user: without one of them, nothing is measured.
    pub named_environments: Vec<String>,
    /// Whether the user named each snippet, rather than a study.
    pub names_snippets: bool,
    pub runs: u32,
}

/// Whether it is measured only to show the speed of the machine.
pub fn only_for_speed(planned: &Planned) -> bool {
    planned.role == Role::Baseline && !summary::is_baseline(&planned.case)
}
