//! lmbench: `NAME: NUMBER microseconds`, as its lat_* programs print on standard error, and lat_ctx's lists of processes
//! and microseconds below a line `"size=`. Layout and meaning come from its manual pages (lat_syscall(8), lat_proc(8),
//! lat_ctx(8)) and from the output of version 3.0-a9, not from its source. Whole numbers, as older versions of lat_ctx print
//! them, are ignored: they may be truncated lines.

use super::imported::{Imported, Malformed, outcome, parse_number, record};
use crate::model::{Case, Record};
use std::collections::BTreeMap;

const NOTE: &str = "Results as printed by lmbench. Iteration counts, compiler, kernel and CPU are unknown. The cost of \
    the loop around the call is included.";

const UNITS: [(&str, f64); 4] =
    [(" nanoseconds", 1.0), (" microseconds", 1e3), (" milliseconds", 1e6), (" seconds", 1e9)];

/// Its names for our operations: id and parameters.
type Same = (&'static str, &'static str, &'static [(&'static str, u64)]);
const SAME: [Same; 8] = [
    ("Simple syscall", "id.getppid", &[]),
    ("Simple read", "io.read_zero", &[("size", 1)]),
    ("Simple write", "io.write_null", &[("size", 1)]),
    ("Simple stat", "file.stat", &[]),
    ("Simple fstat", "file.fstat", &[]),
    ("Simple open/close", "file.open_close", &[]),
    ("Signal handler installation", "signal.sigaction", &[]),
    ("Process fork+exit", "process.fork_wait", &[]),
];

/// Warnings about results whose name begins so.
const DOUBTS: [(&str, &str); 4] = [
    ("Simple stat", "the path and its depth are unknown"),
    ("Simple open/close", "the path and its depth are unknown"),
    ("Process fork+execve", EXEC),
    ("Process fork+/bin/sh", EXEC),
];
const EXEC: &str =
    "lmbench does not report whether its program could be executed: if not, this is the time of a failed execve";

/// Reads the output. Errors: the first line with a unit of time but no number, or that there is no result.
pub fn parse(text: &str) -> Result<Imported, Malformed> {
    let mut imported = Imported { program: "lmbench".into(), note: NOTE, ..Imported::default() };
    let mut size_kib = None;
    let mut left_out = 0;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(size) = context_size(line) {
            size_kib = Some(size);
            continue;
        }
        let switch = size_kib.and_then(|size| context_switch(line, size));
        // The list ends with the first line that is not part of it.
        size_kib = size_kib.filter(|_| switch.is_some());
        match switch.map(Ok).or_else(|| latency(i + 1, line)).transpose()? {
            Some(record) => imported.records.push(record),
            None => left_out += usize::from(!line.is_empty()),
        }
    }
    if imported.records.is_empty() {
        return Err(Malformed::nothing("lines such as 'Simple syscall: 0.0512 microseconds'"));
    }
    if left_out > 0 {
        imported.warnings.push(format!("lines of the source without latencies, ignored: {left_out}"));
    }
    Ok(imported)
}

/// `NAME: NUMBER UNIT`; `None` for any other line.
fn latency(line: usize, text: &str) -> Option<Result<Record, Malformed>> {
    let (front, unit_ns) = UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let (name, value) = front.rsplit_once(": ")?;
    if name.is_empty() {
        return Some(Err(Malformed::at(line, "a name in front of the colon", text)));
    }
    let ns = parse_number(line, "time between ': ' and its unit", value).map(|value| value * unit_ns);
    Some(ns.map(|ns| record(case(name), outcome(ns, text.to_string(), None), doubts(name))))
}

fn case(name: &str) -> Case {
    let same = SAME.iter().find(|(theirs, _, _)| *theirs == name);
    same.map_or_else(|| Case::native(name), |(_, id, params)| with(Case::native(id), params))
}

fn with(case: Case, params: &[(&str, u64)]) -> Case {
    let params: BTreeMap<String, u64> = params.iter().map(|(key, value)| (key.to_string(), *value)).collect();
    Case { params, ..case }
}

fn doubts(name: &str) -> Vec<String> {
    DOUBTS.iter().filter(|(start, _)| name.starts_with(start)).map(|(_, doubt)| doubt.to_string()).collect()
}

/// `"size=16k ovr=0.45`: the KiB that each process works on.
fn context_size(line: &str) -> Option<u64> {
    line.strip_prefix("\"size=")?.split_once("k ")?.0.parse().ok()
}

/// `2 1.50`; two decimals show that the line was not truncated.
fn context_switch(line: &str, size_kib: u64) -> Option<Record> {
    let (processes, time) = line.split_once(' ')?;
    let us: f64 = time.parse().ok()?;
    time.split_once('.').filter(|(_, digits)| digits.len() == 2)?;
    let params = [("processes", processes.parse().ok()?), ("size", size_kib.checked_mul(1024)?)];
    let printed = format!("{time} microseconds for {processes} processes of {size_kib} KiB");
    Some(record(with(Case::native("lat_ctx"), &params), outcome(us * 1e3, printed, None), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::super::imported::message;
    use super::*;
    use crate::model::Outcome;

    #[test]
    fn mistakes_name_the_line() {
        let text = "Simple read: 1 microseconds\nSimple stat: fast microseconds\n";
        let expected = "line 2: expected a number of time between ': ' and its unit, found 'fast'";
        assert_eq!(message(parse, text), expected);
        let expected = "line 1: expected a name in front of the colon, found ': 5 microseconds'";
        assert_eq!(message(parse, ": 5 microseconds"), expected);
        let nothing = "expected lines such as 'Simple syscall: 0.0512 microseconds', found nothing of the kind";
        assert_eq!(message(parse, ""), nothing);
        assert_eq!(message(parse, ""), message(parse, "Pipe bandwidth: 12 MB/sec"));
    }

    #[test]
    fn context_switches_follow_their_size() {
        let text = "2 9.99\n\"size=16k ovr=0.45\n2 1.50\n8 2.25\nx\n4 3.33\n";
        let imported = parse(text).ok().unwrap();
        let names: Vec<String> = imported.records.iter().map(|r| r.case.to_string()).collect();
        assert_eq!(names, ["lat_ctx processes=2 size=16K", "lat_ctx processes=8 size=16K"]);
        assert_eq!(imported.warnings, ["lines of the source without latencies, ignored: 3"]);
        let Outcome::Published(figure) = &imported.records[1].outcome else { panic!() };
        assert_eq!(figure.time.0, 2250.0);
    }
}
