//! What a study consists of.

use super::fixtures::Template;
use crate::plan::Setting;
use model::{Case, Expectation, StudyView};
use std::collections::BTreeMap;

pub const VIEWS: [&str; 3] = ["table", "cmpthese", "timethese"];

#[derive(Clone, Debug)]
pub struct Study {
    pub view: StudyView,
    /// Default wall time for measuring, in seconds.
    pub seconds: Option<f64>,
    /// CPU time for each case instead, in seconds.
    pub cpu_seconds: Option<f64>,
    pub file: String,
    pub untrusted: Option<String>,
    pub patterns: Vec<At<String>>,
    pub cases: Vec<StudyCase>,
    pub environments: Vec<String>,
    pub parameters: Vec<At<Setting>>,
    pub fixtures: Vec<Template>,
    pub derived_lines: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct At<T> {
    pub line: usize,
    pub value: T,
}

#[derive(Clone, Debug)]
pub struct StudyCase {
    pub work: Work,
    /// In place of the study's parameters of the same name.
    pub parameters: Vec<At<Setting>>,
    pub environments: Vec<String>,
    pub expected: Expected,
}

#[derive(Clone, Debug)]
pub enum Work {
    /// An operation's id, and the case's name.
    Operation(At<String>, String),
    Snippet(Case),
}

#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub all: Option<Expectation>,
    pub by: BTreeMap<String, Expectation>,
}

impl Expected {
    pub fn for_case(&self, case: &Case) -> Option<&Expectation> {
        let language = case
            .language
            .as_ref()
            .and_then(|language| self.by.get(language));
        self.by
            .get(&case.environment)
            .or(language)
            .or(self.all.as_ref())
    }
}
