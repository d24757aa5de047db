//! Errors of lines that strace does not print.

use crate::clean::excerpt;

/// What is wrong with a table or log, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(String);

/// Characters of a line that a message shows.
const SHOWN: usize = 60;

impl Malformed {
    /// `what` is wrong with `line`, counted from 1.
    pub fn new(line: usize, what: &str) -> Malformed {
        Malformed(format!("line {line}: {what}"))
    }

    /// `line`, counted from 1, is `found`.
    pub fn at(line: usize, expected: &str, found: &str) -> Malformed {
        Malformed::new(line, &format!("expected {expected}, found '{}'", excerpt(found.trim(), SHOWN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_short_line() {
        let error = Malformed::at(3, "a number of microseconds", &format!("\t\u{1b}{}", "x".repeat(100)));
        let text = error.to_string();
        assert!(text.starts_with("line 3: expected a number of microseconds, found '\u{fffd}x"), "{text}");
        assert!(text.ends_with("x...'") && text.len() < 150, "{text}");
    }
}
