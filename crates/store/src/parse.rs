use super::document::Document;
use super::error::{self, FileKind, Location, Problem};
use super::foreign;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// Why a file is not a document is examined only after parsing has failed, so that good files are read at full speed.
pub fn parse<D: Document>(bytes: &[u8]) -> Result<(D, D::Head, String), Problem> {
    well_formed(bytes).ok_or_else(|| match explain::<D>(bytes) {
        // Another program's file gets a message about that program, which helps more than a position in JSON.
        problem @ (Problem::NotJson(..) | Problem::Foreign) => {
            foreign::described(bytes).map_or(problem, |words| Problem::Other(words.into()))
        }
        problem => problem,
    })
}

fn well_formed<D: Document>(bytes: &[u8]) -> Option<(D, D::Head, String)> {
    let schema = schema_of(bytes).filter(|schema| D::KIND.reads(schema))?;
    let head = serde_json::from_slice(bytes).ok()?;
    Some((serde_json::from_slice(bytes).ok()?, head, schema))
}

/// `None` if the bytes are not JSON or have no such text.
pub fn schema_of(bytes: &[u8]) -> Option<String> {
    serde_json::from_slice::<Header>(bytes)
        .ok()?
        .schema?
        .as_str()
        .map(str::to_string)
}

#[derive(Deserialize)]
struct Header {
    schema: Option<serde_json::Value>,
}

fn explain<D: Document>(bytes: &[u8]) -> Problem {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Problem::Empty;
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(bytes) {
        return not_json(&error, bytes);
    }
    match serde_json::from_slice::<Header>(bytes) {
        Ok(header) => {
            unfit_schema(header.schema.as_ref(), D::KIND).unwrap_or_else(|| misfit::<D>(bytes))
        }
        Err(_) => Problem::Foreign,
    }
}

fn not_json(error: &serde_json::Error, bytes: &[u8]) -> Problem {
    let place = Location::from_error(error, None);
    if error.is_eof() || ends_in_number(error, bytes) {
        Problem::Truncated(place)
    } else {
        Problem::NotJson(place, error::reason(error))
    }
}

/// The parser reports a number truncated after `.` or `e` as invalid, not as an early end.
fn ends_in_number(error: &serde_json::Error, bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let last = bytes
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let at_end = error.line() == lines && error.column() >= last.len();
    at_end && matches!(last.last(), Some(b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// `None` if it is the right one.
fn unfit_schema(schema: Option<&serde_json::Value>, kind: &FileKind) -> Option<Problem> {
    let text = schema.and_then(|value| value.as_str()).unwrap_or_default();
    if kind.reads(text) {
        return None;
    }
    let Some(version) = text.strip_prefix(kind.family) else {
        let ours = text.starts_with("syscost.");
        return Some(if ours {
            Problem::OtherKind(text.to_string())
        } else {
            Problem::Foreign
        });
    };
    match version.parse::<u64>() {
        Ok(number) if number > kind.version => Some(Problem::Newer(number)),
        _ => Some(Problem::OtherKind(text.to_string())),
    }
}

/// Finds the first deviation of a file from its version. Tracking the path takes time, so it is done only here.
fn misfit<D: Document>(bytes: &[u8]) -> Problem {
    mistyped::<D>(bytes)
        .or_else(|| mistyped::<D::Head>(bytes))
        .unwrap_or(Problem::Foreign)
}

fn mistyped<T: DeserializeOwned>(bytes: &[u8]) -> Option<Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let error = serde_path_to_error::deserialize::<_, T>(&mut json).err()?;
    let place = Location::from_error(error.inner(), Some(error.path().to_string()));
    Some(Problem::Mistyped(place, error::reason(error.inner())))
}
