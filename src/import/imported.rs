//! What the readers of other programs' results share: records, and what is wrong with a line.

use crate::clean::excerpt;
use crate::model::{Case, EntriesStatus, Failure, FailureKind, Figure, Host, Nanos, Outcome, Record};
use std::fmt;

/// What was found in an output.
#[derive(Default)]
pub struct Imported {
    /// The program, with its version where that is printed.
    pub program: String,
    /// What must be known to read its figures.
    pub note: &'static str,
    /// The compiler that built it, where that is printed.
    pub compiler: Option<String>,
    /// As far as it is printed.
    pub host: Host,
    pub warnings: Vec<String>,
    pub records: Vec<Record>,
}

/// What is wrong with an output, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct Malformed {
    /// Counted from 1; `None` where the whole is meant.
    pub line: Option<usize>,
    pub expected: String,
    pub found: String,
}

impl Malformed {
    pub fn at(line: usize, expected: impl Into<String>, found: &str) -> Malformed {
        Malformed { line: Some(line), expected: expected.into(), found: found.to_string() }
    }

    pub fn nothing(expected: impl Into<String>) -> Malformed {
        Malformed { line: None, expected: expected.into(), found: "nothing of the kind".into() }
    }
}

/// Characters of the output that a message shows.
pub const SHOWN: usize = 60;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = excerpt(&self.found, SHOWN);
        match self.line {
            Some(line) => write!(f, "line {line}: expected {}, found '{found}'", self.expected),
            None => write!(f, "expected {}, found {found}", self.expected),
        }
    }
}

/// A record of what was printed. Which system calls were made is never printed.
pub fn record(case: Case, outcome: Outcome, warnings: Vec<String>) -> Record {
    Record {
        entries_status: EntriesStatus::Unverified("not stated by the source".into()),
        warnings,
        ..Record::new(case, outcome)
    }
}

/// The figure, or the failure that a time of nothing stands for.
pub fn outcome(ns: f64, as_printed: String, count: Option<u64>) -> Outcome {
    if ns.is_finite() && ns > 0.0 {
        let count = count.filter(|count| *count > 0);
        return Outcome::Published(Figure { time: Nanos(ns), as_printed, count, user_share: None });
    }
    Outcome::Failed(Failure::new(FailureKind::Failed, format!("no time: the source prints '{as_printed}'")))
}

/// `text` as a number, which may be one that is no time.
pub fn number(line: usize, what: &str, text: &str) -> Result<f64, Malformed> {
    text.parse().map_err(|_| Malformed::at(line, format!("a number of {what}"), text))
}

/// `text` as a count; commas between thousands are left out.
pub fn count(line: usize, what: &str, text: &str) -> Result<u64, Malformed> {
    let plain = text.replace(',', "");
    plain.parse().map_err(|_| Malformed::at(line, format!("a count of {what}"), text))
}
