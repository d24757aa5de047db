//! Patterns that choose operations: an id, an area, or a glob.

use crate::model::Operation;
use anyhow::{Context, Result, bail};
use globset::{Glob, GlobMatcher};

/// `file.lstat`, `file`, `file.*`, `*.getpid`.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    glob: GlobMatcher,
}

impl Pattern {
    /// # Errors
    /// When it is no well-formed glob.
    pub fn new(text: &str) -> Result<Pattern> {
        let glob = Glob::new(text).with_context(|| format!("pattern '{text}'"))?;
        Ok(Pattern { text: text.to_string(), glob: glob.compile_matcher() })
    }

    pub fn matches(&self, operation: &Operation) -> bool {
        operation.area() == self.text || self.glob.is_match(&operation.id)
    }

    /// Whether it is `name` itself or a glob that matches it.
    pub fn matches_id(&self, name: &str) -> bool {
        self.text == name || self.glob.is_match(name)
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The operations that the patterns name, in the order of the patterns and within one in the catalogue's; all of them
/// where there is no pattern.
///
/// # Errors
/// When a pattern names none: the message offers the nearest names.
pub fn matching<'a>(catalogue: &'a [Operation], patterns: &[String]) -> Result<Vec<&'a Operation>> {
    let compiled = patterns.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>>>()?;
    if let Some(unknown) = compiled.iter().find(|p| !catalogue.iter().any(|o| p.matches(o))) {
        bail!("no operation matches '{}'{}; 'syscost list' shows all", unknown.text, hint(catalogue, &unknown.text));
    }
    if compiled.is_empty() {
        return Ok(catalogue.iter().collect());
    }
    let mut chosen: Vec<&Operation> = Vec::new();
    for pattern in &compiled {
        let new = catalogue.iter().filter(|o| pattern.matches(o) && !chosen.iter().any(|c| c.id == o.id));
        chosen.extend(new.collect::<Vec<_>>());
    }
    Ok(chosen)
}

/// ` (did you mean id.getppid?)` with the ids that share most with what was typed.
fn hint(catalogue: &[Operation], typed: &str) -> String {
    let name = |id: &str| id.rsplit('.').next().unwrap_or_default().to_string();
    let likeness = |id: &str| strsim::jaro_winkler(&name(id), &name(typed)) + strsim::jaro_winkler(id, typed);
    let near = |id: &&str| strsim::jaro_winkler(&name(id), &name(typed)) > 0.85;
    let mut names: Vec<&str> = catalogue.iter().map(|o| o.id.as_str()).filter(near).collect();
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    names.truncate(3);
    if names.is_empty() { String::new() } else { format!(" (did you mean {}?)", names.join(", ")) }
}
