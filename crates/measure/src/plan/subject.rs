//! What is measured: operations by pattern, or snippets.

use super::code_file::{self, Untrusted};
use crate::runner::Language;
use anyhow::{Context, Result, bail};
use model::pattern::named;
use model::{Case, Operation};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub enum Subject<'a> {
    Operation(&'a Operation),
    Snippet(Case),
}

/// `LANG:CODE`, as in `--setup perl:'my $x = 1'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub language: String,
    pub text: String,
    /// Why it must not run unless the user trusts it.
    untrusted: Option<Untrusted>,
}

impl Code {
    pub fn may_run(&self, trust_files: bool) -> Result<(), Untrusted> {
        code_file::check(self.untrusted.as_ref(), trust_files)
    }
}

impl std::str::FromStr for Code {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Code> {
        let (language, code) = text
            .split_once(':')
            .with_context(|| format!("'{text}' is not of the form LANG:CODE"))?;
        let (text, untrusted) = body(code)?;
        Ok(Code {
            language: Language::find(language)?.name,
            text,
            untrusted,
        })
    }
}

fn body(code: &str) -> Result<(String, Option<Untrusted>)> {
    match code.strip_prefix('@') {
        Some(file) => {
            code_file::read(file).with_context(|| format!("cannot read the snippet's file {file}"))
        }
        None => Ok((code.to_string(), None)),
    }
}

#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub preludes: BTreeMap<String, String>,
    pub setups: BTreeMap<String, String>,
    /// Whether to run files that others may have written.
    pub trust_files: bool,
}

impl Surroundings {
    /// The texts for one language follow each other.
    pub fn new(preludes: &[Code], setups: &[Code], trust_files: bool) -> Surroundings {
        let by_language = |codes: &[Code]| {
            let mut texts: BTreeMap<String, String> = BTreeMap::new();
            for code in codes {
                *texts.entry(code.language.clone()).or_default() += &format!("{}\n", code.text);
            }
            texts
        };
        Surroundings {
            preludes: by_language(preludes),
            setups: by_language(setups),
            trust_files,
        }
    }
}

/// In their order; all operations without words.
pub fn subjects<'a>(
    catalogue: &'a [Operation],
    words: &[String],
    surroundings: &Surroundings,
) -> Result<Vec<Subject<'a>>> {
    if words.is_empty() {
        return Ok(catalogue.iter().map(Subject::Operation).collect());
    }
    let mut chosen: Vec<Subject> = Vec::new();
    for word in words {
        if word.contains(':') {
            let code: Code = word.parse()?;
            code.may_run(surroundings.trust_files)?;
            chosen.push(Subject::Snippet(snippet(&code, surroundings)));
            continue;
        }
        let known = |o: &&Operation| {
            chosen
                .iter()
                .any(|s| matches!(s, Subject::Operation(c) if c.id == o.id))
        };
        let new = named(catalogue, std::slice::from_ref(word))?
            .into_iter()
            .filter(|o| !known(o));
        chosen.extend(new.map(Subject::Operation).collect::<Vec<_>>());
    }
    if chosen.is_empty() {
        bail!("nothing to measure");
    }
    Ok(chosen)
}

fn snippet(code: &Code, surroundings: &Surroundings) -> Case {
    let of =
        |texts: &BTreeMap<String, String>| texts.get(&code.language).cloned().unwrap_or_default();
    let (prelude, setup) = (of(&surroundings.preludes), of(&surroundings.setups));
    Case {
        prelude,
        setup,
        ..Case::snippet(&code.language, &code.text)
    }
}
