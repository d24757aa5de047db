//! What can be wrong with a result file, each in one line: which file, where in it, what to do.
//!
//! Texts from the file may stand in a message (names, wrong values), so all of it is made printable here.

use std::fmt;
use std::io;
use std::path::Path;

/// Characters of a text from outside that a message shows.
const SHOWN: usize = 200;

/// A problem and the file that has it.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct StoreError {
    file: String,
    problem: Problem,
}

impl StoreError {
    pub(super) fn new(path: &Path, problem: Problem) -> StoreError {
        let name = printable(&path.to_string_lossy(), usize::MAX);
        StoreError { file: if name.is_empty() { "\"\"".to_string() } else { name }, problem }
    }

    pub(super) fn named(name: &str, problem: Problem) -> StoreError {
        StoreError { file: name.to_string(), problem }
    }

    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("there is no such file: check its name")]
    Missing,
    #[error("is a directory: name a result file")]
    Directory,
    #[error("cannot be opened (permission denied): ask its owner for access, or copy it where you may read it")]
    Denied,
    #[error("cannot be read ({0}): check the disk and the path")]
    Read(io::Error),
    #[error("is larger than {} MiB, the most a result file may have: measure fewer cases a run", .0 >> 20)]
    TooLarge(u64),
    #[error("is empty: name the result file of a run")]
    Empty,
    #[error(
        "the file ends in the middle ({0}): it was cut off or is still being written; copy it again, or measure again"
    )]
    Truncated(Place),
    #[error("is not JSON ({0}: {1}): name a result file of syscost")]
    NotJson(Place, String),
    #[error(
        "is not a syscost result file: it is JSON without \"schema\": \"syscost.result/1\"; name the file of a run"
    )]
    Foreign,
    #[error("is \"{}\", not a result file: use the result file (\"syscost.result/1\") of the run instead", printable(.0, SHOWN))]
    OtherKind(String),
    #[error("written by a newer syscost (result/{0}); this one reads up to result/1: update syscost")]
    Newer(u64),
    #[error("{0}: {1}; the file was edited or damaged: take another copy, or measure again")]
    Mistyped(Place, String),
    #[error("{0}; the file was edited or damaged: take another copy, or measure again")]
    Invalid(Invalid),
    #[error("not written, since no result file may have this: {0}; report this as a bug, or leave the case out")]
    NotWritten(Invalid),
    #[error("cannot be written ({0}): make room, or choose another place; an earlier file of that name is unchanged")]
    Write(io::Error),
}

/// A value that has the right type and makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid {
    /// JSON path, a record's with the name of its case.
    pub place: String,
    pub what: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.place, 2 * SHOWN), printable(&self.what, SHOWN))
    }
}

/// Line and column, counted from 1, and the JSON path where it is known.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub path: Option<String>,
}

impl Place {
    pub(super) fn of(error: &serde_json::Error, path: Option<String>) -> Place {
        // The parser says "." where it is at the top or has lost its way.
        let path = path.filter(|p| p != ".");
        Place { line: error.line(), column: error.column(), path }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)?;
        self.path.iter().try_for_each(|path| write!(f, ", {}", printable(path, SHOWN)))
    }
}

/// The parser's words without the place that it puts behind them.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    printable(text.strip_suffix(&place).unwrap_or(&text), SHOWN)
}

/// At most `most` characters of `text`, without any that would break the line or reorder it on a screen.
pub(super) fn printable(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).flat_map(escaped).collect();
    if text.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    shown
}

fn escaped(c: char) -> impl Iterator<Item = char> {
    let harmful = c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let (escape, plain) = if harmful { (Some(c.escape_default()), None) } else { (None, Some(c)) };
    escape.into_iter().flatten().chain(plain)
}
