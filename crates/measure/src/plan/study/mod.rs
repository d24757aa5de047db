//! Studies: TOML files that name cases, their parameters and fixtures, and how they are shown
//! (studies/README.md). `file` is the TOML as written, `read` checks it, `cases` plans what is
//! measured.

mod cases;
mod error;
mod file;
mod fixtures;
mod read;

pub use cases::StudyPlan;

use super::subject::{code_file, may_run};
use crate::plan::Setting;
use anyhow::{Context, Result, bail};
use assets::STUDIES;
use indexmap::IndexSet;
use model::{Case, Expectation, StudyView};
use std::collections::BTreeMap;
use std::path::Path;

pub const TOUR: &str = "tour";

impl Study {
    pub fn find(name_or_path: &str) -> Result<Study> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            let read = code_file(name_or_path);
            let (text, untrusted) =
                read.with_context(|| format!("cannot read the study {name_or_path}"))?;
            let stem = Path::new(name_or_path)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy();
            return Ok(Study {
                untrusted,
                ..Study::parse(&stem, name_or_path, &text)?
            });
        }
        let file = format!("{name_or_path}.toml");
        let Some(text) = STUDIES
            .get_file(&file)
            .and_then(|file| file.contents_utf8())
        else {
            let names = Study::names().join(", ");
            bail!(
                "there is no study '{name_or_path}'; available: {names}; or give the path of a file that ends in .toml"
            );
        };
        Study::parse(name_or_path, &format!("studies/{file}"), text)
    }

    pub fn names() -> Vec<String> {
        assets::names(&STUDIES)
            .into_iter()
            .map(str::to_string)
            .collect()
    }

    pub fn parse(name: &str, file: &str, text: &str) -> Result<Study> {
        read::study(name, file, text)
    }

    pub fn may_run(&self, trust_files: bool) -> Result<()> {
        may_run(self.untrusted.as_ref(), trust_files)
    }

    /// Before parameters and environments, without those that `patterns` adds.
    pub fn named_cases(&self) -> Vec<Case> {
        self.cases
            .iter()
            .map(|case| match &case.work {
                Work::Operation(id, name) => Case {
                    name: Some(name.clone()),
                    ..Case::native(&id.value)
                },
                Work::Snippet(snippet) => snippet.clone(),
            })
            .collect()
    }

    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.value.as_str())
    }

    pub fn languages(&self) -> Vec<&str> {
        let languages: IndexSet<&str> = self
            .cases
            .iter()
            .filter_map(|case| match &case.work {
                Work::Snippet(case) => case.language.as_deref(),
                Work::Operation(..) => None,
            })
            .collect();
        languages.into_iter().collect()
    }
}

pub const VIEWS: [&str; 2] = ["table", "cmpthese"];

#[derive(Debug)]
pub struct Study {
    pub view: StudyView,
    pub seconds: Option<f64>,
    /// CPU time for each case instead, in seconds.
    pub cpu_seconds: Option<f64>,
    pub start_up: bool,
    pub file: String,
    pub untrusted: Option<String>,
    pub patterns: Vec<At<String>>,
    pub cases: Vec<StudyCase>,
    /// One may be the group of all sandboxes.
    pub environments: Vec<String>,
    pub parameters: Vec<At<Setting>>,
    pub fixtures: Vec<fixtures::Template>,
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
    pub most: Vec<At<Setting>>,
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
