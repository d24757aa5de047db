//! What the readers of other programs' results share: records, and what is wrong with a line.

use crate::clean::excerpt;
use crate::model::{Case, EntriesStatus, Failure, FailureKind, Figure, Host, Nanos, Outcome, Record, Role};

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

/// What is wrong with an output, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

/// Characters of the output that a message shows.
pub const SHOWN: usize = 60;

impl Malformed {
    /// `what` is wrong with `line`, counted from 1.
    pub fn new(line: usize, what: &str) -> Malformed {
        Malformed(format!("line {line}: {what}"))
    }

    /// `line`, counted from 1, is `found`.
    pub fn at(line: usize, expected: &str, found: &str) -> Malformed {
        Malformed::new(line, &format!("expected {expected}, found '{}'", excerpt(found.trim(), SHOWN)))
    }

    /// The output as a whole is `found`.
    pub fn whole(expected: &str, found: &str) -> Malformed {
        Malformed(format!("expected {expected}, found {}", excerpt(found, SHOWN)))
    }

    /// There is nothing to import.
    pub fn nothing(expected: &str) -> Malformed {
        Malformed::whole(expected, "nothing of the kind")
    }
}

/// A record of what was printed. Which system calls were made is never printed.
pub fn record(case: Case, outcome: Outcome, warnings: Vec<String>) -> Record {
    Record {
        case,
        role: Role::Asked,
        outcome,
        entries: None,
        entries_status: EntriesStatus::Unverified("not stated by the source".into()),
        mode_samples: None,
        warnings,
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
    text.parse().map_err(|_| Malformed::at(line, &format!("a number of {what}"), text))
}

/// `text` as a count; commas between thousands are left out.
pub fn count(line: usize, what: &str, text: &str) -> Result<u64, Malformed> {
    let plain = text.replace(',', "");
    plain.parse().map_err(|_| Malformed::at(line, &format!("a count of {what}"), text))
}
