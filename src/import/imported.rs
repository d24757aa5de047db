//! What the readers of other programs' output share: records, numbers and errors.

use crate::clean::excerpt;
use crate::model::{Case, EntriesStatus, Failure, FailureKind, Figure, Host, Nanos, Outcome, Record};

/// The results in a benchmark's output.
#[derive(Default)]
pub struct Imported {
    /// The program, with its version if printed.
    pub program: String,
    /// What to know about its results.
    pub note: &'static str,
    /// The compiler that built it, if printed.
    pub compiler: Option<String>,
    /// The machine, as far as printed.
    pub host: Host,
    /// What concerns the output as a whole.
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

    pub fn nothing(expected: &str) -> Malformed {
        Malformed::whole(expected, "nothing of the kind")
    }
}

/// A record of a printed result. No program prints which system calls were made.
pub fn record(case: Case, outcome: Outcome, warnings: Vec<String>) -> Record {
    Record {
        entries_status: EntriesStatus::Unverified("not stated by the source".into()),
        warnings,
        ..Record::new(case, outcome)
    }
}

/// The published result, or a failure if `ns` is not a positive time.
pub fn outcome(ns: f64, as_printed: String, count: Option<u64>) -> Outcome {
    if ns.is_finite() && ns > 0.0 {
        let count = count.filter(|count| *count > 0);
        return Outcome::Published(Figure { time: Nanos(ns), as_printed, count, user_share: None });
    }
    Outcome::Failed(Failure::new(FailureKind::Failed, format!("no time: the source prints '{as_printed}'")))
}

/// `text` as a number, which need not be a valid time. Errors: that it is not a number of `what`.
pub fn parse_number(line: usize, what: &str, text: &str) -> Result<f64, Malformed> {
    text.parse().map_err(|_| Malformed::at(line, &format!("a number of {what}"), text))
}

/// `text` as a count; commas between thousands are ignored. Errors: that it is not a count of `what`.
pub fn parse_count(line: usize, what: &str, text: &str) -> Result<u64, Malformed> {
    let plain = text.replace(',', "");
    plain.parse().map_err(|_| Malformed::at(line, &format!("a count of {what}"), text))
}

#[cfg(test)]
pub fn message(parse: fn(&str) -> Result<Imported, Malformed>, text: &str) -> String {
    parse(text).err().unwrap().to_string()
}
