//! Answers that commands wrote as JSON: a race, an explanation. `show` and `report` make documents of them again.

use analysis::compare::RaceFound;
use anyhow::{Result, anyhow, bail, ensure};
use document::Document;
use model::code::Explained;
use model::program::ProgramInKernels;
use model::{JsonDocument, clean};
use report::{explanation_document, program_document, race_document};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

pub struct Answer {
    pub title: &'static str,
    pub document: Document,
}

/// `None` if they are something else.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Option<Answer>> {
    let schema = store::schema_of(bytes).unwrap_or_default();
    let (title, document) = match schema.as_str() {
        RaceFound::SCHEMA => ("A race", race(bytes)),
        Explained::SCHEMA => {
            let document = parsed(bytes).map(|explained| explanation_document(&explained));
            ("Who answers", document)
        }
        ProgramInKernels::SCHEMA => {
            let document = parsed(bytes).map(|kernels| program_document(&kernels, false));
            ("A command in emulated kernels", document)
        }
        _ => return Ok(None),
    };
    let document =
        document.map_err(|error| anyhow!("{}: {error:#}", clean::line(&path.to_string_lossy())))?;
    Ok(Some(Answer { title, document }))
}

fn race(bytes: &[u8]) -> Result<Document> {
    let race_found: RaceFound = parsed(bytes)?;
    for versus in &race_found.versus {
        ensure!(
            versus.base.max(versus.head) < race_found.results.len(),
            "versus: it names a result that the file does not have"
        );
        let is_of_two = versus.calls.as_ref().is_none_or(|calls| {
            let mut rows = calls.rows.iter().chain(&calls.total);
            calls.columns.len() == 2
                && calls.baseline < 2
                && rows.all(|row| [row.counts.len(), row.grew.len(), row.fell.len()] == [2; 3])
        });
        ensure!(is_of_two, "versus: calls must be those of two sides");
    }
    Ok(race_document(&race_found))
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let answer = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(bytes))
        .map_err(|error| {
            anyhow!(
                "{}: {}; write the file again",
                clean::line(&error.path().to_string()),
                error.inner()
            )
        })?;
    if let Some(name) = too_large("", &serde_json::from_slice(bytes)?) {
        bail!(
            "{}: beyond any number that a command writes; write the file again",
            clean::line(name)
        );
    }
    Ok(answer)
}

/// Limits of numbers: thousands of larger ones cannot be added, and ratios to smaller ones are infinite.
const MOST: f64 = (1u64 << 48) as f64;
const LEAST: f64 = 1e-200;

/// The name of a number in `value` of this name that is beyond any that a command writes.
fn too_large<'a>(name: &'a str, value: &'a Value) -> Option<&'a str> {
    match value {
        Value::Array(all) => all.iter().find_map(|one| too_large(name, one)),
        Value::Object(all) => all.iter().find_map(|(name, one)| too_large(name, one)),
        // These are not added to others.
        _ if matches!(name, "seed" | "address") => None,
        _ => {
            let size = value.as_f64().map_or(0.0, f64::abs);
            (size != 0.0 && !(LEAST..MOST).contains(&size)).then_some(name)
        }
    }
}
