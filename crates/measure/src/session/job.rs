//! What a session measures.

use crate::runner::Fixture;
use analysis::summary;
use model::{Planned, Role, StudyView};
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub struct Job {
    pub planned: Vec<Planned>,
    pub fixtures: Vec<Fixture>,
    /// The study that the run is for, as far as its file keeps it.
    pub study: Option<StudyView>,
    pub labels: BTreeMap<String, String>,
    /// Environments that the user named: without one of them, nothing is measured.
    pub named_environments: Vec<String>,
    /// Whether the user named each snippet, rather than a study.
    pub names_snippets: bool,
    /// How often the whole is measured; 0 is as 1.
    pub runs: u32,
}

/// Whether it is only measured as a member of the panel that shows the machine's speed.
pub fn only_for_speed(planned: &Planned) -> bool {
    planned.role == Role::Baseline && !summary::is_baseline(&planned.case)
}
