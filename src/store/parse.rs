//! Parses bytes as a wire type, or says why they are not one. Independent of what the fields mean.

use super::error::{self, FileKind, Invalid, Location, Problem};
use super::rules::Checked;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

/// The wire type of one version of a kind of file, which holds an `M` of the model.
pub trait Wire<M>: Serialize + DeserializeOwned {
    /// How messages describe such files.
    const KIND: &'static FileKind;

    /// What the file says it is.
    fn schema(&self) -> &str;

    /// Refuses values that have the right type and make no sense.
    ///
    /// # Errors
    /// The first such value.
    fn check(&self) -> Checked;

    fn from_model(model: &M) -> Self;

    /// The model of a file that was checked.
    ///
    /// # Errors
    /// The first value that makes no sense.
    fn into_model(self) -> Result<M, Invalid>;
}

/// Parses as the version that is written; only when that fails, looks closer at what the bytes are. Errors: what the
/// bytes are instead.
pub fn parse<M, W: Wire<M>>(bytes: &[u8]) -> Result<W, Problem> {
    match serde_json::from_slice::<W>(bytes) {
        Ok(file) if file.schema() == W::KIND.schema() => Ok(file),
        _ => Err(explain::<M, W>(bytes)),
    }
}

/// The schema in `bytes`, if they are JSON with one.
pub fn schema_of(bytes: &[u8]) -> Option<String> {
    let header = serde_json::from_slice::<Header>(bytes).ok()?;
    header.schema?.as_str().map(str::to_string)
}

/// The field that files of all kinds and versions have.
#[derive(Deserialize)]
struct Header {
    schema: Option<serde_json::Value>,
}

/// Why `bytes` are not a file of this kind and version.
fn explain<M, W: Wire<M>>(bytes: &[u8]) -> Problem {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Problem::Empty;
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(bytes) {
        return not_json(&error, bytes);
    }
    match serde_json::from_slice::<Header>(bytes) {
        Ok(header) => unfit_schema(header.schema.as_ref(), W::KIND).unwrap_or_else(|| misfit::<M, W>(bytes)),
        Err(_) => Problem::Foreign,
    }
}

fn not_json(error: &serde_json::Error, bytes: &[u8]) -> Problem {
    let place = Location::of(error, None);
    if error.is_eof() || ends_in_number(error, bytes) {
        Problem::Truncated(place)
    } else {
        Problem::NotJson(place, error::reason(error))
    }
}

/// The parser reports a number truncated after `.` or `e` as invalid, not as an early end.
fn ends_in_number(error: &serde_json::Error, bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let last = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let at_end = error.line() == lines && error.column() >= last.len();
    at_end && matches!(last.last(), Some(b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// What is wrong with the `schema` of a file; `None` if it is the right one.
fn unfit_schema(schema: Option<&serde_json::Value>, kind: &FileKind) -> Option<Problem> {
    let text = schema.and_then(|value| value.as_str()).unwrap_or_default();
    if text == kind.schema() {
        return None;
    }
    let Some(version) = text.strip_prefix(kind.family) else {
        let ours = text.starts_with("syscost.");
        return Some(if ours { Problem::OtherKind(text.to_string()) } else { Problem::Foreign });
    };
    match version.parse::<u64>() {
        Ok(number) if number > kind.version => Some(Problem::Newer(number)),
        _ => Some(Problem::OtherKind(text.to_string())),
    }
}

/// Parses again to find where a file deviates from its version. Tracking the path takes time, so it is done only here.
fn misfit<M, W: Wire<M>>(bytes: &[u8]) -> Problem {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, W>(&mut json) {
        Ok(_) => Problem::Foreign,
        Err(error) => {
            let place = Location::of(error.inner(), Some(error.path().to_string()));
            Problem::Mistyped(place, error::reason(error.inner()))
        }
    }
}
