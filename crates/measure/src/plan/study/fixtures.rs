//! Fixtures as a study describes them: names and sizes with placeholders for parameters.

use super::error::StudyText;
use super::file::{FixtureTable, Values};
use crate::runner::{Fixture, filled};
use anyhow::Result;
use model::{Planned, parse_size};
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Template {
    pub line: usize,
    name: String,
    /// Size or number of entries, then line length or depth; may hold `{parameter}`.
    amounts: [String; 2],
    is_file: bool,
}

const LINE_LENGTH: &str = "64";

pub fn template(source: &StudyText, line: usize, table: FixtureTable) -> Result<Template> {
    fn text(value: Option<Values>, default: &str) -> String {
        value.map_or(default.to_string(), |v| v.to_string())
    }

    let is_file = table.file.is_some();
    let foreign = if is_file {
        table.entries.is_some() || table.depth.is_some()
    } else {
        table.size.is_some()
    };
    let (name, amounts) = match (table.file, table.directory) {
        (Some(name), None) if !foreign => (
            name,
            [text(table.size, ""), text(table.line_length, LINE_LENGTH)],
        ),
        (None, Some(name)) if !foreign => {
            (name, [text(table.entries, "0"), text(table.depth, "1")])
        }
        _ => {
            let what = "a fixture has either 'file', 'size' and optionally 'line_length', or 'directory' and optionally 'entries' and 'depth'";
            return Err(source.error(line, what));
        }
    };
    let template = Template {
        line,
        name,
        amounts,
        is_file,
    };
    template.check(source)?;
    Ok(template)
}

impl Template {
    fn check(&self, source: &StudyText) -> Result<()> {
        if !self
            .name
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
        {
            let what = format!(
                "fixture '{}': its name must be a path below the fixtures' directory",
                self.name
            );
            return Err(source.error(self.line, what));
        }
        for amount in &self.amounts {
            let Some(hole) = hole(amount) else {
                parse_size(amount).map_err(|e| {
                    source.error(self.line, format!("fixture '{}': {e:#}", self.name))
                })?;
                continue;
            };
            if !self.name.contains(hole) {
                let what = format!(
                    "fixture '{}': depends on {hole}, so its name must hold {hole}",
                    self.name
                );
                return Err(source.error(self.line, what));
            }
        }
        Ok(())
    }

    fn filled(&self, params: &BTreeMap<String, u64>) -> Option<Fixture> {
        let name = filled(&self.name, params);
        let [first, second] = [&self.amounts[0], &self.amounts[1]]
            .map(|amount| parse_size(&filled(amount, params)).ok());
        let (first, second) = (first?, second?);
        hole(&name).is_none().then_some(if self.is_file {
            Fixture::File {
                name,
                size: first,
                line_length: second,
            }
        } else {
            Fixture::Directory {
                name,
                entries: first,
                depth: second,
            }
        })
    }
}

fn hole(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let end = text[start..].find('}')?;
    Some(&text[start..=start + end])
}

/// Those of cases that name the fixtures' directory, each once.
pub fn needed(templates: &[Template], planned: &[Planned]) -> Vec<Fixture> {
    let mut needed: Vec<Fixture> = Vec::new();
    for case in planned
        .iter()
        .map(|p| &p.case)
        .filter(|case| crate::runner::names_fixtures(case))
    {
        for fixture in templates
            .iter()
            .filter_map(|template| template.filled(&case.effective_params()))
        {
            if !needed.contains(&fixture) {
                needed.push(fixture);
            }
        }
    }
    needed
}
