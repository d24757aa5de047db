//! Errors of our files, each in one line: which file, where in it, what to do.
//!
//! Messages may quote text from the file (names, wrong values): always as an excerpt, cleaned and bounded.

use model::clean::excerpt;
use std::borrow::Cow;
use std::path::Path;
use std::{fmt, io};

const SHOWN: usize = 200;

#[derive(Debug)]
pub struct StoreError {
    file: String,
    kind: &'static FileKind,
    problem: Problem,
}

impl StoreError {
    pub(super) fn new(path: &Path, kind: &'static FileKind, problem: Problem) -> StoreError {
        let name = excerpt(&path.to_string_lossy(), usize::MAX);
        StoreError {
            file: if name.is_empty() {
                "\"\"".to_string()
            } else {
                name
            },
            kind,
            problem,
        }
    }

    pub(super) fn named(name: &str, kind: &'static FileKind, problem: Problem) -> StoreError {
        StoreError {
            file: name.to_string(),
            kind,
            problem,
        }
    }

    /// The file holds an earlier state of the run.
    pub fn after_a_look(self) -> StoreError {
        let problem = match self.problem {
            Problem::Write(error, Left::Earlier) => Problem::Write(error, Left::Look),
            other => other,
        };
        StoreError { problem, ..self }
    }

    /// The name of the file as messages show it, such as `standard input`.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Without the file's name.
    pub fn reason(&self) -> String {
        self.problem.words(self.kind)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem.words(self.kind))
    }
}

impl std::error::Error for StoreError {}

#[derive(Debug)]
pub struct FileKind {
    /// `syscost.result/`
    pub family: &'static str,
    pub version: u64,
    pub noun: &'static str,
    pub origin: &'static str,
    pub again: &'static str,
    pub smaller: &'static str,
}

impl FileKind {
    /// Family and current version, as in the `schema` field of files.
    pub fn schema(&self) -> String {
        format!("{}{}", self.family, self.version)
    }

    pub(super) fn reads(&self, schema: &str) -> bool {
        (1..=self.version).any(|version| schema == format!("{}{version}", self.family))
    }

    /// `result/1`
    fn short(&self, version: u64) -> String {
        format!("{}{version}", self.family.trim_start_matches("syscost."))
    }
}

#[derive(Debug)]
pub enum Problem {
    Directory,
    Read(io::Error),
    TooLarge(u64),
    Empty,
    Truncated(Location),
    NotJson(Location, String),
    /// The reason, and the remedy.
    Other(Cow<'static, str>),
    Foreign,
    OtherKind(String),
    Newer(u64),
    Mistyped(Location, String),
    Invalid(Invalid),
    NotWritten(Invalid),
    Write(io::Error, Left),
}

#[derive(Clone, Copy, Debug)]
pub enum Left {
    Earlier,
    Look,
    Part,
}

impl Left {
    fn words(self) -> &'static str {
        match self {
            Left::Earlier => "an earlier file of that name is unchanged",
            Left::Look => "the file holds the results up to the last write, marked incomplete",
            Left::Part => "the part written so far is incomplete",
        }
    }
}

impl Problem {
    fn words(&self, kind: &FileKind) -> String {
        let (noun, again) = (kind.noun, kind.again);
        let damaged = format!("the file was edited or damaged: take another copy, or {again}");
        match self {
            Problem::Directory => format!("is a directory: name a {noun}"),
            Problem::Read(error) => {
                format!("cannot be read ({error}): check the disk and the path")
            }
            Problem::TooLarge(bytes) => {
                format!(
                    "is larger than {} MiB, the most a {noun} may have: {}",
                    bytes >> 20,
                    kind.smaller
                )
            }
            Problem::Empty => format!("is empty: name the {noun} of {}", kind.origin),
            Problem::Truncated(place) => format!(
                "the file is incomplete ({place}): it was truncated or is still being written; copy it again, or \
                 {again}"
            ),
            Problem::NotJson(place, why) => {
                format!("is not JSON ({place}: {why}): name a {noun} of syscost")
            }
            Problem::Other(words) => words.to_string(),
            Problem::Foreign => format!(
                "is not a syscost {noun}: it is JSON without \"schema\": \"{}\"; name the file of {}",
                kind.schema(),
                kind.origin
            ),
            Problem::OtherKind(schema) => format!(
                "is \"{}\", not a {noun}: use the {noun} (\"{}\") of {} instead",
                excerpt(schema, SHOWN),
                kind.schema(),
                kind.origin.replacen("a ", "the ", 1)
            ),
            Problem::Newer(version) => format!(
                "written by a newer syscost ({}); this one reads up to {}: update syscost",
                kind.short(*version),
                kind.short(kind.version)
            ),
            Problem::Mistyped(place, why) => format!("{place}: {why}; {damaged}"),
            Problem::Invalid(invalid) => format!("{invalid}; {damaged}"),
            Problem::NotWritten(invalid) => format!(
                "not written, because no {noun} may have this: {invalid}; report this as a bug, or {}",
                kind.smaller
            ),
            Problem::Write(error, left) => {
                format!(
                    "cannot be written ({error}): make room, or choose another place; {}",
                    left.words()
                )
            }
        }
    }
}

/// It has the right type.
#[derive(Debug)]
pub struct Invalid {
    /// Its JSON path; in a record, also the name of the case.
    pub place: String,
    pub what: String,
}

impl Invalid {
    /// `samples` becomes `records[3].samples`.
    pub fn within(self, outer: &str) -> Invalid {
        Invalid {
            place: format!("{outer}{}", self.place),
            ..self
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            excerpt(&self.place, 2 * SHOWN),
            excerpt(&self.what, SHOWN)
        )
    }
}

#[derive(Debug)]
pub struct Location {
    pub line: usize,
    pub column: usize,
    pub path: Option<String>,
}

impl Location {
    pub(super) fn from_error(error: &serde_json::Error, path: Option<String>) -> Location {
        // The parser reports "." at the top level and where it does not know the path.
        Location {
            line: error.line(),
            column: error.column(),
            path: path.filter(|p| p != "."),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)?;
        self.path
            .iter()
            .try_for_each(|path| write!(f, ", {}", excerpt(path, SHOWN)))
    }
}

/// Without the position at its end.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    excerpt(text.strip_suffix(&place).unwrap_or(&text), SHOWN)
}

/// `-` becomes `standard input`.
pub fn from_file(path: &Path, kind: &'static FileKind, problem: Problem) -> StoreError {
    if path == Path::new("-") {
        StoreError::named("standard input", kind, problem)
    } else {
        StoreError::new(path, kind, problem)
    }
}
