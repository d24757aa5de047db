//! A checked study: what its file says, in the types of the plan.

use super::fixtures::Template;
use crate::model::{Case, Expectation, StudyView};
use crate::plan::code_file::Untrusted;
use crate::plan::parameters::Setting;
use std::collections::BTreeMap;

/// The views that a study may ask for.
pub const VIEWS: [&str; 3] = ["table", "cmpthese", "timethese"];

/// A named investigation.
#[derive(Clone, Debug)]
pub struct Study {
    /// What its run keeps of it.
    pub view: StudyView,
    /// Wall time for measuring, in seconds, where the user does not say.
    pub seconds: Option<f64>,
    /// CPU time for each case in place of it, in seconds.
    pub cpu_seconds: Option<f64>,
    /// How messages call the file.
    pub file: String,
    /// Why its code must not run unless the user says so.
    pub untrusted: Option<Untrusted>,
    pub patterns: Vec<At<String>>,
    pub cases: Vec<StudyCase>,
    pub environments: Vec<String>,
    pub parameters: Vec<At<Setting>>,
    pub fixtures: Vec<Template>,
    /// The lines of `view.derived`, for messages.
    pub derived_lines: Vec<usize>,
}

/// A value and the line that it stands on.
#[derive(Clone, Debug)]
pub struct At<T> {
    pub line: usize,
    pub value: T,
}

/// One case before parameters and environments.
#[derive(Clone, Debug)]
pub struct StudyCase {
    pub work: Work,
    /// In place of the study's parameters of the same name.
    pub parameters: Vec<At<Setting>>,
    /// In place of the study's environments; empty for those.
    pub environments: Vec<String>,
    pub expected: Expected,
}

#[derive(Clone, Debug)]
pub enum Work {
    /// An operation's id, and the case's name.
    Operation(At<String>, String),
    Snippet(Case),
}

/// The kernel entries that the author expects.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub all: Option<Expectation>,
    /// By environment or language.
    pub by: BTreeMap<String, Expectation>,
}

impl Expected {
    pub fn of(&self, case: &Case) -> Option<&Expectation> {
        let language = case.language.as_ref().and_then(|language| self.by.get(language));
        self.by.get(&case.environment).or(language).or(self.all.as_ref())
    }
}
