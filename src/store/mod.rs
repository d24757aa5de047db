//! Result files: one JSON file a run, written whole or not at all, read with errors that name file, place and remedy.
//!
//! Not here: what the figures mean (`stats`), and documents for people or other programs (`report`). Commands call it:
//! those that measure write, all others read. FORMAT.md describes the file for people, `schema/result-1.json` for
//! programs.
//!
//! Each version of the format has a module with wire types of its own, so that the model may change while files stay
//! readable. A second version is a new file beside `v1`, and one more arm in `parse`.

mod error;
mod input;
mod layout;
mod output;
mod v1;

pub use error::{Place, Problem, StoreError};

use crate::model::Run;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::Write;
use std::path::Path;

/// What the `schema` of every version begins with.
const KIND: &str = "syscost.result/";

/// Bytes that a result file may have. A run of 120 cases with 1,500 samples each has 2 MB.
const MAX_BYTES: u64 = 1 << 30;

/// Writes `run` to `path`: to a temporary name beside it, then renamed, so that a reader sees the old file or the new.
///
/// A link is followed. A pipe or a device is written straight into.
///
/// # Errors
/// When the run has figures that no file may have, or the file cannot be written; an old file is then as it was.
pub fn write(run: &Run, path: &Path) -> Result<(), StoreError> {
    let file = v1::ResultFile::from(run);
    let done = file.check().map_err(Problem::NotWritten).and_then(|()| output::replace(path, |out| file.write(out)));
    done.map_err(|problem| StoreError::new(path, problem))
}

/// Writes a document made of result files to `path` in the same way.
///
/// # Errors
/// When the file cannot be written; an old file is then as it was.
pub fn write_document(path: &Path, document: &[u8]) -> Result<(), StoreError> {
    output::replace(path, |out| out.write_all(document)).map_err(|problem| StoreError::new(path, problem))
}

/// Writes `run` to `out` as a result file.
///
/// # Errors
/// When the run has figures that no file may have, or `out` cannot be written. The error calls it "standard output".
pub fn write_to(run: &Run, out: &mut dyn Write) -> Result<(), StoreError> {
    let file = v1::ResultFile::from(run);
    let done = file.check().map_err(Problem::NotWritten).and_then(|()| file.write(out).map_err(Problem::Write));
    done.map_err(|problem| StoreError::named("standard output", problem))
}

/// Reads the result file `path`; `-` is standard input.
///
/// # Errors
/// When it cannot be read or is not a sound result file. The message is one line.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    let run = input::bytes(path, MAX_BYTES).and_then(|bytes| parse(&bytes));
    run.map_err(|problem| match path == Path::new("-") {
        true => StoreError::named("standard input", problem),
        false => StoreError::new(path, problem),
    })
}

/// The JSON Schema of result files of the version that is written.
pub fn schema() -> serde_json::Value {
    v1::schema()
}

/// Parses as the version that is written; only when that fails, looks closer at what the bytes are.
fn parse(bytes: &[u8]) -> Result<Run, Problem> {
    match serde_json::from_slice::<v1::ResultFile>(bytes) {
        Ok(file) if file.schema == v1::SCHEMA => Run::try_from(file).map_err(Problem::Invalid),
        _ => Err(explain(bytes)),
    }
}

/// The one field that result files of all versions have.
#[derive(Deserialize)]
struct Header {
    schema: Option<serde_json::Value>,
}

/// Why `bytes` are not a result file of version 1.
fn explain(bytes: &[u8]) -> Problem {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Problem::Empty;
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(bytes) {
        return not_json(&error, bytes);
    }
    match serde_json::from_slice::<Header>(bytes) {
        Ok(header) => unfit_schema(header.schema.as_ref()).unwrap_or_else(|| misfit(bytes)),
        Err(_) => Problem::Foreign,
    }
}

fn not_json(error: &serde_json::Error, bytes: &[u8]) -> Problem {
    let place = Place::of(error, None);
    match error.is_eof() || ends_in_number(error, bytes) {
        true => Problem::Truncated(place),
        false => Problem::NotJson(place, error::reason(error)),
    }
}

/// The parser calls a number that is cut off behind its `.` or `e` a wrong one, where other ends are ends to it.
fn ends_in_number(error: &serde_json::Error, bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let last = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let at_end = error.line() == lines && error.column() >= last.len();
    at_end && matches!(last.last(), Some(b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// What is wrong with the `schema` of a file; `None` if it is the right one.
fn unfit_schema(schema: Option<&serde_json::Value>) -> Option<Problem> {
    let text = schema.and_then(|value| value.as_str()).unwrap_or_default();
    if text == v1::SCHEMA {
        return None;
    }
    let Some(version) = text.strip_prefix(KIND) else {
        let ours = text.starts_with("syscost.");
        return Some(if ours { Problem::OtherKind(text.to_string()) } else { Problem::Foreign });
    };
    match version.parse::<u64>() {
        Ok(number) if number > v1::VERSION => Some(Problem::Newer(number)),
        _ => Some(Problem::OtherKind(text.to_string())),
    }
}

/// Parses again to learn where a file of the right version departs from it. Keeping the path costs time: only here.
fn misfit(bytes: &[u8]) -> Problem {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, v1::ResultFile>(&mut json) {
        Ok(_) => Problem::Foreign,
        Err(error) => {
            let place = Place::of(error.inner(), Some(error.path().to_string()));
            Problem::Mistyped(place, error::reason(error.inner()))
        }
    }
}
