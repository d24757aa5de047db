//! Profiles from what strace prints: tables of `strace -c` and logs of `strace -f -T -ttt`. Content shows that a file is one.
//!
//! The profile states what they lack: a log has elapsed times but not whether a call ran or waited, and both come from a
//! program that strace slows down. The formats are described in strace(1); the fixtures are output of strace 6.1.

mod log;
mod malformed;
mod tally;

pub use malformed::Malformed;

use crate::model::{CallCount, Profile, Source, Tool};
use log::{is_header, other_mode};
use tally::{Tally, call_name, nanoseconds, parse_count};

const TABLE_NOTE: &str = "Times are system time as counted by strace -c, with the overhead of its stops; with -w they would be \
    elapsed time, which the table does not show. Unknown: classes, errors by name, blocked time, accounting.";

/// Bytes in which a file shows what it is.
pub const FIRST_BYTES: usize = 4096;

/// Whether `bytes`, of which the first are enough, begin as strace's output does.
pub fn begins(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(FIRST_BYTES)]);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    is_header(first) || first.starts_with("System call usage") || log::begins(first, bytes.len() >= FIRST_BYTES)
}

/// The profile in what strace printed to `name`. Errors: the first line that belongs in neither a table nor a log, or that
/// there is no call.
pub fn read(bytes: &[u8], name: &str) -> Result<Profile, Malformed> {
    // Paths may be in any encoding, and numbers are ASCII.
    let text = String::from_utf8_lossy(bytes);
    let remark = |line: &str| line.starts_with("System call usage") || other_mode(line).is_some();
    let first = text.lines().find(|line| !line.trim().is_empty() && !remark(line));
    let (kind, note, mut profile) = if first.is_some_and(is_header) {
        ("strace -c", TABLE_NOTE, table(&text)?)
    } else {
        ("strace", log::NOTE, log::read(&text)?)
    };
    (profile.tracer.kind, profile.tracer.adds_system_time) = (kind.into(), Some(false));
    profile.tool = Some(Tool::default());
    profile.source = Some(Source { title: format!("{kind}, from {name}"), note: note.into() });
    Ok(profile)
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
    if tally.is_empty() {
        Err(Malformed::new(text.lines().count().max(1), "the table has no calls: trace again"))
    } else {
        Ok(tally.profile())
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
