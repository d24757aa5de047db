//! Profiles: what a traced command called, one JSON file each, `syscost.profile/1`.
//!
//! Not here: tracing (`trace`), and what a profile means (`attribute`, `report`). `cli::trace` and `cli::import` write,
//! `cli::show` and `cli::attribute` read. A profile may be written by hand: all that must be there is `schema` and
//! `calls`, and of each call its name and count.

use super::error::{Kind, Left, Problem, StoreError, from_file};
use super::input::MAX_BYTES;
use super::parse::{Wire, parse};
use super::profile_v1::{self, ProfileFile, VERSION};
use super::{input, output};
use crate::model::Profile;
use std::io::Write;
use std::path::Path;

/// How messages speak of profiles.
pub(super) const KIND: Kind = Kind {
    family: "syscost.profile/",
    version: VERSION,
    noun: "profile",
    origin: "a trace",
    again: "trace again",
    smaller: "trace for a shorter time",
};

/// Writes `profile` to `path`: to a temporary name beside it, then renamed. A pipe or a device is written straight into.
///
/// # Errors
/// When the profile has figures that no file may have, or the file cannot be written; an old file is then as it was.
pub fn write(profile: &Profile, path: &Path) -> Result<(), StoreError> {
    let file = ProfileFile::from(profile);
    let done = profile_v1::check(&file)
        .map_err(Problem::NotWritten)
        .and_then(|()| output::replace(path, |out| file.write(out)));
    done.map_err(|problem| StoreError::new(path, &KIND, problem))
}

/// Writes `profile` to `out`.
///
/// # Errors
/// As [`write()`]; the error calls `out` "standard output".
pub fn write_to(profile: &Profile, out: &mut dyn Write) -> Result<(), StoreError> {
    let file = ProfileFile::from(profile);
    let done = profile_v1::check(&file)
        .map_err(Problem::NotWritten)
        .and_then(|()| file.write(out).map_err(|error| Problem::Write(error, Left::Part)));
    done.map_err(|problem| StoreError::named("standard output", &KIND, problem))
}

/// Reads the profile `path`; `-` is standard input.
///
/// # Errors
/// When it cannot be read or is not a sound profile. The message is one line.
pub fn read(path: &Path) -> Result<Profile, StoreError> {
    let profile = input::bytes(path, MAX_BYTES).and_then(|bytes| from_bytes(&bytes));
    profile.map_err(|problem| from_file(path, &KIND, problem))
}

/// The JSON Schema of profiles of the version that is written.
pub fn schema() -> serde_json::Value {
    profile_v1::schema()
}

pub(super) fn from_bytes(bytes: &[u8]) -> Result<Profile, Problem> {
    let file = parse::<ProfileFile>(bytes)?;
    profile_v1::check(&file).map_err(Problem::Invalid)?;
    Ok(file.into())
}

impl Wire for ProfileFile {
    const KIND: &'static Kind = &KIND;

    fn schema(&self) -> &str {
        &self.schema
    }
}
