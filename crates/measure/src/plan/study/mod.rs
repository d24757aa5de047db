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
use model::Case;
use std::path::Path;

pub const TOUR: &str = "tour";

impl Study {
    pub fn find(name_or_path: &str) -> Result<Study> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            let path = Path::new(name_or_path);
            let read = code_file::read(name_or_path);
            let (text, untrusted) =
                read.with_context(|| format!("cannot read the study {name_or_path}"))?;
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            return Ok(Study {
                untrusted,
                ..Study::parse(&stem, name_or_path, &text)?
            });
        }
        let Some(file) = STUDIES.get_file(format!("{name_or_path}.toml")) else {
            let names = Study::names().join(", ");
            bail!(
                "there is no study '{name_or_path}'; available: {names}; or give the path of a file that ends in .toml"
            );
        };
        let text = file
            .contents_utf8()
            .with_context(|| format!("studies/{name_or_path}.toml is not text"))?;
        Study::parse(name_or_path, &format!("studies/{name_or_path}.toml"), text)
    }

    pub fn names() -> Vec<String> {
        let files = STUDIES
            .files()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|e| e == "toml"));
        let mut names: Vec<String> = files
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()))
            .collect();
        names.sort();
        names
    }

    /// `file` is its name in messages.
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
        let mut languages: Vec<&str> = Vec::new();
        for case in &self.cases {
            if let Work::Snippet(Case {
                language: Some(language),
                ..
            }) = &case.work
                && !languages.contains(&language.as_str())
            {
                languages.push(language);
            }
        }
        languages
    }
}
