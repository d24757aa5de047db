//! Languages of snippets. languages/README.md is the contract, and describes the keys of
//! `language.toml`.

use anyhow::{Context, Result, bail};
use assets::LANGUAGES;
use include_dir::Dir;
use itertools::Itertools;
use model::Case;
use serde::Deserialize;
use std::path::PathBuf;
use sys::output::output;
use sys::private;

const ALIASES: [(&str, &str); 7] = [
    ("c++", "cpp"),
    ("golang", "go"),
    ("js", "node"),
    ("py", "python"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("sh", "bash"),
];

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    pub name: String,
    pub title: String,
    pub programs: Vec<String>,
    pub package: String,
    pub version: Vec<String>,
    pub template: String,
    pub source: String,
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    pub run: Vec<String>,
    #[serde(default)]
    pub environments: bool,
    #[serde(default = "yes")]
    pub runtime: bool,
    pub expression: Option<String>,
    pub statement: String,
    pub error: String,
    #[serde(default)]
    pub error_is_user_line: bool,
    pub clock_cost_ns: f64,
    pub clock_step_ns: f64,
    #[serde(skip)]
    pub loop_text: String,
}

impl Language {
    /// All languages, by name.
    ///
    /// # Errors
    /// One of the embedded definitions is malformed.
    pub fn all() -> Result<Vec<Language>> {
        let mut all = LANGUAGES
            .dirs()
            .map(Language::read)
            .collect::<Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// The language of this name or alias.
    ///
    /// # Errors
    /// There is none, with the names that there are.
    pub fn find(name: &str) -> Result<Language> {
        let all = Language::all()?;
        let names = all.iter().map(|l| l.name.as_str()).join(", ");
        let full_name = ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map_or(name, |(_, full)| *full);
        match all.iter().find(|l| l.name == full_name) {
            Some(language) => Ok(language.clone()),
            None => bail!("there is no language '{name}'; available: {}", names),
        }
    }

    fn read(directory: &Dir) -> Result<Language> {
        let text = file_text(directory, "language.toml")?;
        let mut language: Language = toml::from_str(text)
            .with_context(|| format!("languages/{}/language.toml", directory.path().display()))?;
        language.loop_text = file_text(directory, &language.template)?.to_string();
        Ok(language)
    }

    /// The path of its interpreter or compiler.
    ///
    /// # Errors
    /// None is on PATH, with the package to install.
    pub fn program(&self) -> Result<PathBuf> {
        self.programs
            .iter()
            .find_map(|program| on_path(program))
            .with_context(|| {
                let programs = self.programs.join(" or ");
                format!(
                    "{} needs {programs}, which is not on PATH (usual package: {})",
                    self.title, self.package
                )
            })
    }

    /// The first line with a digit that it prints. None if it fails.
    pub fn version_of(&self, program: &PathBuf) -> Option<String> {
        let output = output(private::asking(program).args(&self.version)).ok()?;
        // A program that fails prints a message, not its version.
        if !output.status.success() {
            return None;
        }
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines()
            .find(|line| line.contains(|c: char| c.is_ascii_digit()))
            .map(|line| line.trim().to_string())
    }
}

fn file_text(directory: &Dir, name: &str) -> Result<&'static str> {
    let path = directory.path().join(name);
    LANGUAGES
        .get_file(&path)
        .and_then(|file| file.contents_utf8())
        .with_context(|| format!("languages/{} is missing or not text", path.display()))
}

fn yes() -> bool {
    true
}

/// One that makes calls now and then, besides the loop.
pub fn has_runtime(case: &Case) -> bool {
    case.language
        .as_deref()
        .and_then(|name| Language::find(name).ok())
        .is_some_and(|language| language.runtime)
}

/// A name with a slash is a path itself. Relative directories in PATH are ignored, since builds and workers run in other directories.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(program))
        .find(|path| sys::process::is_executable(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_keeps_the_contract() {
        for language in Language::all().unwrap() {
            for hole in ["{{prelude}}", "{{setup}}", "{{body}}"] {
                let lines = language
                    .loop_text
                    .lines()
                    .filter(|line| line.trim() == hole)
                    .count();
                assert_eq!(lines, 1, "{}: {hole} on a line of its own", language.name);
            }
            assert!(language.statement.contains("{{body}}"), "{}", language.name);
            regex_lite::Regex::new(&language.error).unwrap();
        }
    }

    #[test]
    fn an_unknown_language_is_told_which_there_are() {
        assert_eq!(Language::find("py").unwrap().name, "python");
        let error = Language::find("cobol").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no language 'cobol'; available: "),
            "{error}"
        );
    }
}
