//! Result files and profiles: one JSON file each, written whole or not at all, read with errors that name file, place and
//! remedy.
//!
//! Not here: what the figures mean (`stats`, `attribute`), and documents for people or other programs (`report`).
//! Commands call it: those that measure write, all others read. FORMAT.md describes the files for people,
//! `schema/result-1.json` and `schema/profile-1.json` for programs.
//!
//! Each version of a format has a module with wire types of its own, so that the model may change while files stay
//! readable. A second version of result files is a new file beside `v1`, and one more arm in `read`.

mod error;
mod input;
mod layout;
mod output;
mod parse;
pub mod profile;
mod profile_v1;
mod rules;
mod v1;

pub use error::{Kind, Left, Place, Problem, StoreError};

use crate::model::{Profile, Run};
use error::from_file;
use input::MAX_BYTES;
use parse::{Wire, parse, schema_of};
use std::io::Write;
use std::path::Path;

/// How messages speak of result files.
const RESULT: Kind = Kind {
    family: "syscost.result/",
    version: v1::VERSION,
    noun: "result file",
    origin: "a run",
    again: "measure again",
    smaller: "measure fewer cases a run",
};

/// Writes `run` to `path`: to a temporary name beside it, then renamed, so that a reader sees the old file or the new.
///
/// A link is followed. A pipe or a device is written straight into.
///
/// # Errors
/// When the run has figures that no file may have, or the file cannot be written; an old file is then as it was.
pub fn write(run: &Run, path: &Path) -> Result<(), StoreError> {
    let file = v1::ResultFile::from(run);
    let done =
        v1::check(&file).map_err(Problem::NotWritten).and_then(|()| output::replace(path, |out| file.write(out)));
    done.map_err(|problem| StoreError::new(path, &RESULT, problem))
}

/// Writes a document made of result files to `path` in the same way.
///
/// # Errors
/// When the file cannot be written; an old file is then as it was.
pub fn write_document(path: &Path, document: &[u8]) -> Result<(), StoreError> {
    output::replace(path, |out| out.write_all(document)).map_err(|problem| StoreError::new(path, &RESULT, problem))
}

/// Writes `run` to `out` as a result file.
///
/// # Errors
/// When the run has figures that no file may have, or `out` cannot be written. The error calls it "standard output".
pub fn write_to(run: &Run, out: &mut dyn Write) -> Result<(), StoreError> {
    let file = v1::ResultFile::from(run);
    let done = v1::check(&file)
        .map_err(Problem::NotWritten)
        .and_then(|()| file.write(out).map_err(|error| Problem::Write(error, Left::Part)));
    done.map_err(|problem| StoreError::named("standard output", &RESULT, problem))
}

/// Reads the result file `path`; `-` is standard input.
///
/// # Errors
/// When it cannot be read or is not a sound result file. The message is one line.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    let run = input::bytes(path, MAX_BYTES).and_then(|bytes| run(&bytes));
    run.map_err(|problem| from_file(path, &RESULT, problem))
}

/// What a file holds.
pub enum Stored {
    Run(Box<Run>),
    Profile(Box<Profile>),
}

/// Reads the result file or profile `path`; `-` is standard input.
///
/// # Errors
/// When it cannot be read or is neither. The message is one line; it takes the file for a result file unless its schema
/// says that it is a profile.
pub fn read_any(path: &Path) -> Result<Stored, StoreError> {
    let bytes = input::bytes(path, MAX_BYTES).map_err(|problem| from_file(path, &RESULT, problem))?;
    from_bytes(path, &bytes)
}

/// What `bytes` hold, which were read from `path`.
///
/// # Errors
/// As [`read_any`].
pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Stored, StoreError> {
    if schema_of(bytes).is_some_and(|schema| schema.starts_with(profile::KIND.family)) {
        let found = profile::from_bytes(bytes).map_err(|problem| from_file(path, &profile::KIND, problem))?;
        return Ok(Stored::Profile(Box::new(found)));
    }
    let found = run(bytes).map_err(|problem| from_file(path, &RESULT, problem))?;
    Ok(Stored::Run(Box::new(found)))
}

/// The JSON Schema of result files of the version that is written.
pub fn schema() -> serde_json::Value {
    v1::schema()
}

fn run(bytes: &[u8]) -> Result<Run, Problem> {
    Run::try_from(parse::<v1::ResultFile>(bytes)?).map_err(Problem::Invalid)
}

impl Wire for v1::ResultFile {
    const KIND: &'static Kind = &RESULT;

    fn schema(&self) -> &str {
        &self.schema
    }
}
