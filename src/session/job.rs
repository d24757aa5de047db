//! What a session measures.

use crate::guest;
use crate::model::{Planned, StudyView};
use crate::runner::Fixture;
use std::collections::BTreeMap;

/// What is to be measured, and what its file says of it.
#[derive(Clone, Default)]
pub struct Job {
    pub planned: Vec<Planned>,
    /// What snippets work on.
    pub fixtures: Vec<Fixture>,
    /// The study that the run is for, as far as its file keeps it.
    pub study: Option<StudyView>,
    /// What the user says of the run.
    pub labels: BTreeMap<String, String>,
    /// How guests are booted.
    pub boot: guest::Options,
    /// How often the whole is measured; 0 is as 1.
    pub runs: u32,
}
