//! Reads and writes runs, profiles and explanations, one JSON file each, written whole or not at all; and reads strace's output. A file that
//! cannot be read gives an error of one line that names the file, the place in it, and what to do.
//!
//! A change of meaning makes a new version of a kind of file, which then reads earlier ones too (`profile::upgrade`).

pub mod atlas;
mod document;
mod error;
mod explained;
mod foreign;
mod input;
pub mod installed;
mod layout;
pub mod levels;
pub mod lines;
mod output;
mod parse;
mod profile;
pub mod proofs;
mod result;
mod rules;
mod strace;

pub use document::Document;
pub use error::{FileKind, Left, Problem, StoreError};
pub use parse::schema_of;

use error::from_file;
use input::MAX_BYTES;
use model::explained::{KernelExplanation, KernelVersus};
use model::{Profile, Run, clean};
use output::Fill;
use parse::parse;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

#[derive(Serialize, JsonSchema)]
#[schemars(bound = "D: JsonSchema, D::Head: JsonSchema")]
struct File<'a, D: Document> {
    #[serde(flatten)]
    document: &'a D,
    #[serde(flatten)]
    head: D::Head,
}

impl<D: Document> File<'_, D> {
    /// Checks first that a file may hold it.
    fn checked(document: &D) -> Result<File<'_, D>, Problem> {
        document.check().map_err(Problem::NotWritten)?;
        Ok(File {
            document,
            head: document.head(),
        })
    }
}

fn decode<D: Document>(bytes: &[u8]) -> Result<D, Problem> {
    let (mut document, head, schema) = parse::<D>(bytes)?;
    document
        .complete(head, &schema)
        .and_then(|()| document.check())
        .map_err(Problem::Invalid)?;
    Ok(document)
}

fn put<D: Document, T>(
    document: &D,
    path: &Path,
    put: impl FnOnce(Fill) -> Result<T, Problem>,
) -> Result<T, StoreError> {
    File::checked(document)
        .and_then(|file| put(&|out| layout::write(&file, out)))
        .map_err(|problem| StoreError::new(path, D::KIND, problem))
}

/// A reader sees the old file or the new. A link is followed; a pipe or a device is written to directly.
pub fn write<D: Document>(document: &D, path: &Path) -> Result<(), StoreError> {
    put(document, path, |fill| output::replace(path, fill))
}

/// `STEM.json` or, if that exists, `STEM-2.json` and so on, in a folder that many hosts may share. The file gets its name only when it
/// is complete.
pub fn write_new<D: Document>(
    document: &D,
    folder: &Path,
    stem: &str,
) -> Result<PathBuf, StoreError> {
    put(document, folder, |fill| output::create(folder, stem, fill))
}

/// A file of [`write_new`]; the folder's other files are left alone.
pub fn write_again<D: Document>(document: &D, path: &Path) -> Result<(), StoreError> {
    put(document, path, |fill| {
        output::replace_among_others(path, fill)
    })
}

pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    output::replace(path, &|out| out.write_all(bytes))
        .map_err(|problem| StoreError::new(path, &result::KIND, problem))
}

/// Standard output cannot be replaced atomically: after an error it is incomplete.
pub fn write_to<D: Document>(document: &D, out: &mut dyn Write) -> Result<(), StoreError> {
    File::checked(document)
        .and_then(|file| {
            layout::write(&file, out).map_err(|error| Problem::Write(error, Left::Part))
        })
        .map_err(|problem| StoreError::named("standard output", D::KIND, problem))
}

/// `-` is standard input.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    decoded(path, &bytes(path)?)
}

/// The profile in `path`, which may also be the output of strace.
pub fn read_profile(path: &Path) -> Result<Profile, StoreError> {
    let bytes = input::bytes(path, MAX_BYTES)
        .map_err(|problem| from_file(path, &profile::KIND, problem))?;
    if strace::begins(&bytes) {
        traced(path, &bytes)
    } else {
        decoded(path, &bytes)
    }
}

fn traced(path: &Path, bytes: &[u8]) -> Result<Profile, StoreError> {
    let name = if path == Path::new("-") {
        "standard input".into()
    } else {
        clean::line(&path.to_string_lossy())
    };
    strace::read(bytes, &name)
        .map_err(|error| from_file(path, &profile::KIND, Problem::Other(error.into())))
}

pub enum Stored {
    Run(Box<Run>),
    Profile(Box<Profile>),
    Kernel(Box<KernelExplanation>),
    Versus(Box<KernelVersus>),
}

/// A file without a known schema is read as a result file, whose errors explain more.
pub fn read_any(path: &Path) -> Result<Stored, StoreError> {
    from_bytes(path, &bytes(path)?)
}

/// The content of `path` up to the size limit of result files; `-` is standard input.
pub fn bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    input::bytes(path, MAX_BYTES).map_err(|problem| from_file(path, &result::KIND, problem))
}

pub fn run_from_bytes(path: &Path, bytes: &[u8]) -> Result<Run, StoreError> {
    decoded(path, bytes)
}

/// The labels of a run, in a fraction of the time of reading all of it; `None` if `bytes` are not JSON.
pub fn labels(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(default)]
        labels: BTreeMap<String, String>,
    }
    serde_json::from_slice::<Head>(bytes)
        .ok()
        .map(|head| head.labels)
}

/// Whether `path` is a profile, or output of strace. Unreadable files are not, so that their error comes from reading them.
pub fn is_profile(path: &Path) -> bool {
    fn ours(bytes: &[u8]) -> bool {
        schema_of(bytes).is_some_and(|schema| schema.starts_with(profile::KIND.family))
    }

    input::bytes(path, MAX_BYTES).is_ok_and(|bytes| strace::begins(&bytes) || ours(&bytes))
}

pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Stored, StoreError> {
    if strace::begins(bytes) {
        return Ok(Stored::Profile(Box::new(traced(path, bytes)?)));
    }
    let schema = schema_of(bytes).unwrap_or_default();
    let is = |kind: &FileKind| schema.starts_with(kind.family);
    Ok(match () {
        () if is(&profile::KIND) => Stored::Profile(Box::new(decoded(path, bytes)?)),
        () if is(&explained::KIND) => Stored::Kernel(Box::new(decoded(path, bytes)?)),
        () if is(&explained::VERSUS_KIND) => Stored::Versus(Box::new(decoded(path, bytes)?)),
        () => Stored::Run(Box::new(decoded(path, bytes)?)),
    })
}

fn decoded<D: Document>(path: &Path, bytes: &[u8]) -> Result<D, StoreError> {
    decode(bytes).map_err(|problem| from_file(path, D::KIND, problem))
}

/// Whether `path` may be an explanation, by its first bytes. Only such files have to be read whole to know their kind.
pub fn begins_as_explained(path: &Path) -> bool {
    let mut first = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    let read = is_file
        && std::fs::File::open(path)
            .is_ok_and(|file| file.take(FIRST).read_to_end(&mut first).is_ok());
    read && String::from_utf8_lossy(&first).contains("\"syscost.explain-kernel")
}

const FIRST: u64 = 200;

/// The version that is written.
#[cfg(feature = "schema")]
pub fn schema<D: Document + JsonSchema>() -> serde_json::Value
where
    D::Head: JsonSchema,
{
    let mut schema = schemars::schema_for!(File<D>).to_value();
    schema["title"] = D::KIND.schema().into();
    schema["description"] = schemars::schema_for!(D).to_value()["description"].clone();
    schema["properties"]["schema"] = serde_json::json!({"const": D::KIND.schema(), "description": "Kind and version of the file."});
    schema
}
