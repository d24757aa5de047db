//! Studies: TOML files that name cases, their parameters and fixtures, and how they are shown
//! (studies/README.md). `file` is the TOML as written, `read` checks it, `cases` plans what is
//! measured.

mod cases;
mod definition;
mod error;
mod file;
mod fixtures;
mod read;

pub use cases::StudyPlan;
pub use definition::Study;

use super::code_file;
use anyhow::{Context, Result, bail};
use assets::STUDIES;
use definition::{StudyCase, Work};
use indexmap::IndexSet;
use model::Case;
use std::path::Path;

pub const TOUR: &str = "tour";

impl Study {
    pub fn find(name_or_path: &str) -> Result<Study> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            let read = code_file::read(name_or_path);
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
        let stem = |file: &include_dir::File| {
            Some(file.path().to_str()?.strip_suffix(".toml")?.to_string())
        };
        let mut names: Vec<String> = STUDIES.files().filter_map(stem).collect();
        names.sort();
        names
    }

    pub fn parse(name: &str, file: &str, text: &str) -> Result<Study> {
        read::study(name, file, text)
    }

    pub fn may_run(&self, trust_files: bool) -> Result<()> {
        code_file::check(self.untrusted.as_ref(), trust_files)
    }

    /// Before parameters and environments, without those that `patterns` adds.
    pub fn named_cases(&self) -> Vec<Case> {
        let case = |case: &StudyCase| match &case.work {
            Work::Operation(id, name) => Case {
                name: Some(name.clone()),
                ..Case::native(&id.value)
            },
            Work::Snippet(snippet) => snippet.clone(),
        };
        self.cases.iter().map(case).collect()
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
