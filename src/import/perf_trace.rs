//! `perf trace -s` summaries and plain `perf trace` output to profiles; the lines show which of the two a file is.
//!
//! perf does not sample here: it counts every call that it sees, and reports lost events. Times are elapsed times. The
//! formats are described in perf-trace(1); the fixtures are output of perf 6.1.

use super::imported::Malformed;
use super::tally::{Seen, Tally, call_name, nanoseconds, number_of, parse_count};
use crate::model::{CallCount, Drives, Profile, drives};
use std::collections::BTreeMap;

const NOTE: &str = "Elapsed times do not separate running from waiting. Unknown: classes except sizes, time on the CPU, page \
    faults, user and system time.";

/// Reads a summary or a list of calls. Errors: the first line that is neither, or that there is no call.
pub fn read(text: &str) -> Result<Profile, Malformed> {
    let summary = text.lines().any(|line| line.trim() == "Summary of events:");
    let mut tally = Tally::default();
    if summary {
        summarized(text, &mut tally)?
    } else {
        listed(text, &mut tally)?
    }
    if tally.is_empty() {
        let what = "there is no call: name the output of 'perf trace -s -o FILE' or of 'perf trace -o FILE'";
        return Err(Malformed::new(text.lines().count().max(1), what));
    }
    let mut profile = tally.profile(if summary { "perf trace -s" } else { "perf trace" }, NOTE);
    profile.tracer.lost = text.lines().filter_map(lost_events).fold(0, u64::saturating_add);
    profile.complete = profile.tracer.lost == 0;
    Ok(profile)
}

/// `LOST 17 events!`; one if the number cannot be read.
fn lost_events(line: &str) -> Option<u64> {
    let is_loss = line.trim_start().starts_with("LOST ") && line.contains("event");
    is_loss.then(|| line.split_whitespace().nth(1).and_then(parse_count).unwrap_or(1))
}

fn summarized(text: &str, tally: &mut Tally) -> Result<(), Malformed> {
    // Before perf 4.20 there is no column for errors.
    let (mut process, mut has_errors) = (None, None);
    let begin = text.lines().position(|line| line.trim() == "Summary of events:").unwrap_or(0);
    for (i, line) in text.lines().enumerate().skip(begin + 1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["syscall", "calls", "errors", "total", ..] => has_errors = Some(true),
            ["syscall", "calls", "total", ..] => has_errors = Some(false),
            [first, ..] if first.starts_with("(msec)") || first.starts_with("---") || lost_events(line).is_some() => {}
            _ => match process_of(line) {
                Some(name) => process = Some(name),
                None => {
                    let own = row(&words, has_errors).zip(process.as_deref());
                    let what = "'NAME (TID), N events' or a row 'syscall calls errors total min avg max stddev'";
                    let (count, name) = own.ok_or_else(|| Malformed::at(i + 1, what, line))?;
                    tally.add_count(name, count);
                }
            },
        }
    }
    Ok(())
}

/// `sh` of ` sh (10477), 182 events, 24.4%`; a name may hold spaces and brackets.
fn process_of(line: &str) -> Option<String> {
    let (head, tail) =
        line.rsplit_once("), ").filter(|(_, tail)| tail.contains(" events")).or_else(|| line.split_once("), "))?;
    let (name, thread) = head.rsplit_once(" (")?;
    let events = tail.split_whitespace().nth(1)?;
    (thread.parse::<u64>().is_ok() && events.starts_with("event")).then(|| name.trim().to_string())
}

/// `openat 31 13 0.412 0.012 0.013 0.017 1.34%`, times in milliseconds.
fn row(words: &[&str], has_errors: Option<bool>) -> Option<CallCount> {
    let (name, calls, errors, total) = match (has_errors, words) {
        (Some(true), [name, calls, errors, total, _, _, _, _]) => (name, calls, parse_count(errors)?, total),
        (Some(false), [name, calls, total, _, _, _, _]) => (name, calls, 0, total),
        _ => return None,
    };
    Some(CallCount {
        call: call_name(name)?,
        calls: parse_count(calls)?,
        errors: (errors > 0).then(|| ("unknown".to_string(), errors)).into_iter().collect(),
        elapsed_ns: Some(nanoseconds(total, 1e6)?),
        ..CallCount::default()
    })
}

fn listed(text: &str, tally: &mut Tally) -> Result<(), Malformed> {
    // Calls that have begun, by thread: they return in a later line.
    let mut begun: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() || lost_events(line).is_some() {
            continue;
        }
        let bad = || Malformed::at(i + 1, "'TIME (DURATION ms): NAME/TID CALL(ARGUMENTS) = RESULT'", line);
        let (head, rest) = line.split_once("): ").ok_or_else(bad)?;
        let duration = head.split_once('(').ok_or_else(bad)?.1.trim();
        let (thread, call) = thread_and_call(rest).ok_or_else(bad)?;
        let name = thread.rsplit_once('/').ok_or_else(bad)?.0.to_string();
        match seen(call, duration).ok_or_else(bad)? {
            CallLine::Begun(call) => drop(begun.insert(thread.to_string(), (name, call))),
            CallLine::Whole(seen) => {
                begun.remove(thread);
                tally.add(&name, seen);
            }
        }
    }
    for (name, call) in begun.into_values() {
        tally.add(&name, Seen { call, unfinished: true, ..Seen::default() });
    }
    Ok(())
}

/// `sh/10491` and what follows; a process name may hold spaces.
fn thread_and_call(rest: &str) -> Option<(&str, &str)> {
    let slash = rest.char_indices().filter(|(_, c)| *c == '/').find(|(i, _)| {
        let number = rest[i + 1..].split(' ').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    let end = slash.0 + 1 + rest[slash.0 + 1..].find(' ')?;
    Some((&rest[..end], rest[end..].trim()))
}

enum CallLine {
    /// The call's name; its end comes later or never.
    Begun(String),
    Whole(Seen),
}

fn seen(call: &str, duration: &str) -> Option<CallLine> {
    let continued = call.strip_prefix("... [continued]: ");
    let (name, rest) = continued.unwrap_or(call).split_once('(')?;
    let name = call_name(name)?;
    if continued.is_none() && rest.ends_with("...") {
        return Some(CallLine::Begun(name));
    }
    let result = result_of(rest)?;
    let mut words = result.split_whitespace();
    let value = words.next().unwrap_or_default();
    let error = (value == "-1").then(|| words.next().map(str::to_string)).flatten();
    let returned = number_of(value);
    let moves = matches!(drives(&name), Some(Drives::Bytes { .. }));
    let bytes = returned.filter(|_| moves && error.is_none()).and_then(|bytes| u64::try_from(bytes).ok());
    let unfinished = value == "?";
    let moved =
        drives(&name).filter(|_| moves).map(|drives| drives.class(None, (!unfinished).then(|| bytes.unwrap_or(0))));
    let elapsed_ns = match duration.strip_suffix("ms") {
        Some(ms) => Some(nanoseconds(ms.trim(), 1e6)?),
        None => None,
    };
    Some(CallLine::Whole(Seen { call: name, class: moved.unwrap_or_default(), error, elapsed_ns, bytes, unfinished }))
}

/// What follows the last `) = `; empty if perf prints nothing, as for a process ID of 0.
fn result_of(text: &str) -> Option<&str> {
    let (before, result) = text.strip_suffix('=').map(|before| (before, "")).or_else(|| text.rsplit_once(" = "))?;
    before.trim_end().ends_with(')').then(|| result.trim())
}
