//! The subjects of a run: operations by pattern, or snippets.

use crate::runner::Language;
use anyhow::{Context, Result, bail};
use model::pattern::named;
use model::{Case, Operation};
use std::fs::File;
use std::io::{self, Read};
use sys::owner;

#[derive(Clone)]
pub enum Subject<'a> {
    Operation(&'a Operation),
    Snippet(Case),
}

#[derive(Clone)]
pub struct Code {
    pub language: String,
    pub text: String,
    untrusted: Option<String>,
}

impl Code {
    /// Code from a file that someone else can change is refused, unless `trust_files` is set.
    pub fn may_run(&self, trust_files: bool) -> Result<()> {
        may_run(self.untrusted.as_ref(), trust_files)
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

fn body(code: &str) -> Result<(String, Option<String>)> {
    match code.strip_prefix('@') {
        Some(file) => {
            code_file(file).with_context(|| format!("cannot read the snippet's file {file}"))
        }
        None => Ok((code.to_string(), None)),
    }
}

#[derive(Clone, Copy, Default)]
pub struct Surroundings<'a> {
    pub preludes: &'a [Code],
    pub setups: &'a [Code],
    pub trust_files: bool,
}

/// The subjects in the order of `words`; all operations if there are none.
///
/// # Errors
/// A pattern that matches no operation, a snippet that cannot be read or must not run, or two rows of one name.
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
            chosen.push(Subject::Snippet(snippet(word, surroundings)?));
            continue;
        }
        for operation in named(catalogue, std::slice::from_ref(word))? {
            // Patterns overlap: `file.* file.stat` names one operation twice.
            if !is_chosen(&chosen, operation) {
                chosen.push(Subject::Operation(operation));
            }
        }
    }
    if chosen.is_empty() {
        bail!("nothing to measure");
    }
    check_names(&chosen)?;
    Ok(chosen)
}

fn is_chosen(chosen: &[Subject], operation: &Operation) -> bool {
    chosen
        .iter()
        .any(|subject| matches!(subject, Subject::Operation(known) if known.id == operation.id))
}

fn snippet(word: &str, surroundings: &Surroundings) -> Result<Case> {
    let (name, text) = name_and_code(word)?;
    let code: Code = text.parse()?;
    code.may_run(surroundings.trust_files)?;
    Ok(Case {
        name: name.map(str::to_string),
        prelude: texts(surroundings.preludes, &code.language),
        setup: texts(surroundings.setups, &code.language),
        ..Case::snippet(&code.language, &code.text)
    })
}

fn texts(codes: &[Code], language: &str) -> String {
    codes
        .iter()
        .filter(|code| code.language == language)
        .map(|code| format!("{}\n", code.text))
        .collect()
}

/// A `=` behind the language is part of the code.
fn name_and_code(word: &str) -> Result<(Option<&str>, &str)> {
    fn begins(c: char) -> bool {
        c.is_ascii_alphabetic() || c == '_'
    }

    let language = word.split(':').next().unwrap_or_default();
    let Some((name, _)) = language.split_once('=') else {
        return Ok((None, word));
    };
    if !name.starts_with(begins)
        || !name
            .chars()
            .all(|c| begins(c) || c.is_ascii_digit() || ".-".contains(c))
    {
        bail!(
            "'{word}': a snippet's name is a letter or _, then letters, digits, _, . and -: 'BASE=c:getpid()'"
        );
    }
    Ok((Some(name), &word[name.len() + 1..]))
}

/// Rows, ratios and comparisons go by name.
fn check_names(chosen: &[Subject]) -> Result<()> {
    let labels: Vec<(&str, bool)> = chosen
        .iter()
        .map(|subject| match subject {
            Subject::Operation(operation) => (operation.id.as_str(), false),
            Subject::Snippet(case) => (case.label(), case.name.is_some()),
        })
        .collect();
    for (name, _) in labels.iter().filter(|(_, is_name)| *is_name) {
        if labels.iter().filter(|(label, _)| label == name).count() > 1 {
            bail!("two rows would be called '{name}': give each snippet a name of its own");
        }
    }
    Ok(())
}

/// The text, and why it must not run unless the user trusts it. Owner and mode are those of the
/// open file, so renames in between do not matter.
pub(super) fn code_file(path: &str) -> io::Result<(String, Option<String>)> {
    let mut file = File::open(path)?;
    // The open file is asked, before it is read: its path may name another one by now.
    let doubt = owner::doubt(&file.metadata()?);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok((text, doubt.map(|why| {
        format!(
            "{path}: {why}, and its code would run as you: read it, then make a copy of your own or add --trust-files"
        )
    })))
}

pub(super) fn may_run(untrusted: Option<&String>, trust_files: bool) -> Result<()> {
    match untrusted {
        Some(why) if !trust_files => bail!("{why}"),
        _ => Ok(()),
    }
}
