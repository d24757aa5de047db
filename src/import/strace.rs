//! `strace -c` tables and `strace -f -T -ttt` logs to profiles; the lines show which of the two a file is.
//!
//! The profile states what they lack: a log has elapsed times but not whether a call ran or waited, and both come from a
//! program that strace slows down. The formats are described in strace(1); the fixtures are output of strace 6.1.

use super::imported::Malformed;
use super::strace_log::{self, is_header, other_mode};
use super::tally::{Tally, call_name, nanoseconds, parse_count};
use crate::model::{CallCount, Profile};

const TABLE_NOTE: &str = "Times are system time as counted by strace -c, with the overhead of its stops; with -w they would be \
    elapsed time, which the table does not show. Unknown: classes, errors by name, blocked time, accounting.";

/// Reads a table or a log. Errors: the first line that is neither, or that there is no call.
pub fn read(text: &str) -> Result<Profile, Malformed> {
    let remark = |line: &str| line.starts_with("System call usage") || other_mode(line).is_some();
    let first = text.lines().find(|line| !line.trim().is_empty() && !remark(line));
    match first.is_some_and(is_header) {
        true => table(text),
        false => strace_log::read(text),
    }
}

fn table(text: &str) -> Result<Profile, Malformed> {
    let mut tally = Tally::default();
    // What is added to the names of calls that were made in another mode.
    let mut gate = "";
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(mode) = line.strip_prefix("System call usage summary for ") {
            gate = match mode.split(' ').next() {
                Some("32") => "(i386)",
                Some("x32") => "(x32)",
                _ => "",
            };
        } else if is_header(line) {
            if !line.split_whitespace().eq(["%", "time", "seconds", "usecs/call", "calls", "errors", "syscall"]) {
                let what = "the columns '% time, seconds, usecs/call, calls, errors, syscall' (without strace's -U)";
                return Err(Malformed::at(number, what, line));
            }
        } else if !is_frame(line) {
            tally.add_count("", row(number, line, gate)?);
        }
    }
    match tally.is_empty() {
        true => Err(Malformed::new(text.lines().count().max(1), "the table has no calls: trace again")),
        false => Ok(tally.profile("strace -c", TABLE_NOTE)),
    }
}

/// Whether a line is a rule, a total, empty, or about the mode of a process.
fn is_frame(line: &str) -> bool {
    let total = line.starts_with("100.00") && line.ends_with(" total");
    line.is_empty() || line.starts_with("------") || total || other_mode(line).is_some()
}

/// `61.74    0.034239        4891         7         3 wait4`; without errors their column is empty.
fn row(number: usize, line: &str, gate: &str) -> Result<CallCount, Malformed> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bad = || Malformed::at(number, "a row '% seconds usecs/call calls [errors] name'", line);
    let (seconds, calls, errors, name) = match words.as_slice() {
        [_, seconds, _, calls, errors, name] => (seconds, calls, parse_count(errors).ok_or_else(bad)?, name),
        [_, seconds, _, calls, name] => (seconds, calls, 0, name),
        _ => return Err(bad()),
    };
    let errors = (errors > 0).then(|| ("unknown".to_string(), errors));
    Ok(CallCount {
        call: format!("{}{gate}", call_name(name).ok_or_else(bad)?),
        calls: parse_count(calls).ok_or_else(bad)?,
        errors: errors.into_iter().collect(),
        on_cpu_ns: Some(nanoseconds(seconds, 1e9).ok_or_else(bad)?),
        ..CallCount::default()
    })
}
