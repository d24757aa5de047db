//! What the words of a command line or a study name: operations by pattern, or snippets.

use super::matching;
use crate::model::{Case, Operation};
use crate::runner::Language;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// What is to be measured, before parameters and environments.
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
}

impl std::str::FromStr for Code {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Code> {
        let (language, code) =
            text.split_once(':').with_context(|| format!("'{text}' is not of the form LANG:CODE"))?;
        Ok(Code { language: Language::find(language)?.name, text: body(code)? })
    }
}

/// The code itself, or the contents of the file that `@FILE` names.
fn body(code: &str) -> Result<String> {
    match code.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("cannot read the snippet's file {file}")),
        None => Ok(code.to_string()),
    }
}

/// Code that stands before snippets, by language.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub preludes: BTreeMap<String, String>,
    pub setups: BTreeMap<String, String>,
}

/// The subjects that `words` name, in their order; all operations where there is none.
///
/// # Errors
/// When a word is neither a pattern that matches nor a snippet in a known language.
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
            chosen.push(Subject::Snippet(snippet(&word.parse()?, surroundings)));
            continue;
        }
        let known = |o: &&Operation| chosen.iter().any(|s| matches!(s, Subject::Operation(c) if c.id == o.id));
        let new = matching(catalogue, std::slice::from_ref(word))?.into_iter().filter(|o| !known(o));
        chosen.extend(new.map(Subject::Operation).collect::<Vec<_>>());
    }
    if chosen.is_empty() {
        bail!("nothing to measure");
    }
    Ok(chosen)
}

fn snippet(code: &Code, surroundings: &Surroundings) -> Case {
    let of = |texts: &BTreeMap<String, String>| texts.get(&code.language).cloned().unwrap_or_default();
    let (prelude, setup) = (of(&surroundings.preludes), of(&surroundings.setups));
    Case { prelude, setup, ..Case::snippet(&code.language, &code.text) }
}
