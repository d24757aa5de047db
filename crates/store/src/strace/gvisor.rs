//! Lines of gVisor's log of system calls (`runsc --strace --debug-log`), as strace prints them. Other lines of that log are left out.
//! Source: pkg/sentry/strace of gVisor.

use model::syscall_names::errno;
use std::collections::HashSet;

pub const NOTE: &str = "Elapsed times are those inside of gVisor's kernel, which writes each call to its log, and do not separate running from \
    waiting. Unknown: time on the CPU, page faults, user and system time.";

/// The part of a log line of a call after its date and thread.
const SOURCE: &str = " strace.go:";
/// Descriptors and addresses are both in hexadecimal.
const LARGEST_DESCRIPTOR: u64 = 1 << 24;

/// A log may begin with much else, but each of its lines with a level and a date: `I1129 09:17:17.342492`.
pub fn begins(bytes: &[u8]) -> bool {
    let is_log = matches!(bytes, [b'D' | b'I' | b'W', b'0'..=b'9', b'0'..=b'9', ..]);
    is_log
        && bytes
            .windows(SOURCE.len())
            .any(|part| part == SOURCE.as_bytes())
}

/// The lines of calls as strace prints them. A call has a line as it is entered and one as it returns.
#[derive(Default)]
pub struct Calls {
    /// Tasks whose call has been entered.
    inside: HashSet<u64>,
}

impl Calls {
    /// `I1129 09:17:17.342492 1 strace.go:602] [ 1: 1] sh E close(0x3 /etc/passwd)` as `[pid 1] 09:17:17.342492 close( <unfinished ...>`, and
    /// the same with `X` and ` = 0 (0x0) (168.7µs)` as `[pid 1] 09:17:17.342661 <... close resumed>3</etc/passwd>) = 0 <0.000168700>`. `None`
    /// for other lines. With the task and the name of its program.
    pub fn as_strace<'a>(&mut self, line: &'a str) -> Option<(u64, &'a str, String)> {
        let (head, rest) = line.split_once(SOURCE)?;
        let time = head.split(' ').nth(1)?;
        let (_, rest) = rest.split_once("] [")?;
        let (task, rest) = rest.split_once("] ")?;
        let task: u64 = task.split(':').next()?.trim().parse().ok()?;
        // Arguments may hold both marks.
        let marks = [" E ", " X "].map(|mark| rest.find(mark).unwrap_or(rest.len()));
        if marks[0] < marks[1] {
            let (program, call) = rest.split_once(" E ")?;
            let (name, _) = call.split_once('(')?;
            self.inside.insert(task);
            let text = format!("[pid {task}] {time} {name}( <unfinished ...>");
            return Some((task, program, text));
        }
        let (program, call) = rest.split_once(" X ")?;
        let (call, result) = call.rsplit_once(") = ")?;
        let (name, arguments) = call.split_once('(')?;
        let arguments: Vec<String> = arguments.split(", ").map(argument).collect();
        let (result, took) = result.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
        let begin = match self.inside.remove(&task) {
            true => format!("{time} <... {name} resumed>"),
            // The log begins within the call.
            false => format!("{name}("),
        };
        let text = format!(
            "[pid {task}] {begin}{}) = {} <{:.9}>",
            arguments.join(", "),
            returned(result)?,
            seconds(took)?
        );
        Some((task, program, text))
    }
}

/// `3 (0x3)`, or `0 (0x0) errno=2 (no such file or directory)`.
fn returned(result: &str) -> Option<String> {
    if let Some((_, error)) = result.split_once(" errno=") {
        let (number, text) = error.split_once(' ')?;
        return Some(format!("-1 {} {text}", errno::name(number.parse().ok()?)));
    }
    Some(result.split(' ').next()?.to_string())
}

/// A path stands behind its address or descriptor: `0x3 /etc/passwd` is `3</etc/passwd>`.
fn argument(text: &str) -> String {
    let named = text
        .strip_prefix("0x")
        .and_then(|rest| rest.split_once(' '));
    let value =
        named.and_then(|(digits, name)| Some((u64::from_str_radix(digits, 16).ok()?, name)));
    match value {
        Some((descriptor, path)) if descriptor < LARGEST_DESCRIPTOR => {
            format!("{descriptor}<{path}>")
        }
        Some((_, path)) if path.starts_with('/') => format!("\"{path}\""),
        _ => text.to_string(),
    }
}

/// Durations as Go prints them: `754ns`, `168.766µs`, `1m2.5s`.
fn seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1e-9),
        ("µs", 1e-6),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("h", 3600.0),
        ("m", 60.0),
        ("s", 1.0),
    ];
    let (mut sum, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let (unit, factor) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        sum += number.parse::<f64>().ok()? * factor;
        rest = &behind[unit.len()..];
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_as_strace_prints_it() {
        let mut calls = Calls::default();
        let mut line = |call: &str| {
            let line =
                format!("I1129 09:17:17.342492       1 strace.go:602] [   7:   1] sh {call}");
            let (task, program, text) = calls.as_strace(&line)?;
            assert_eq!((task, program), (7, "sh"));
            Some(text)
        };
        for (call, expected) in [
            (
                "X access(0x7eed4c7e52a0 /etc/ld.so.preload, 0o4) = 0 (0x0) errno=2 (no such file or directory) (168.766µs)",
                "[pid 7] access(\"/etc/ld.so.preload\", 0o4) = -1 ENOENT (no such file or directory) <0.000168766>",
            ),
            (
                "E close(0x3 /etc/ld.so.cache)",
                "[pid 7] 09:17:17.342492 close( <unfinished ...>",
            ),
            (
                "X close(0x3 /etc/ld.so.cache) = 0 (0x0) (5.371µs)",
                "[pid 7] 09:17:17.342492 <... close resumed>3</etc/ld.so.cache>) = 0 <0.000005371>",
            ),
            (
                "X getuid() = 1000 (0x3e8) (1m2.5s)",
                "[pid 7] getuid() = 1000 <62.500000000>",
            ),
        ] {
            assert_eq!(line(call).as_deref(), Some(expected));
        }
        line("E write(0x1, 0x7f00aa112233 \"a X b\", 0x5)");
        assert_eq!(
            line("X write(0x1, 0x7f00aa112233 \"a E b\", 0x5) = 5 (0x5) (1.5µs)").as_deref(),
            Some(
                "[pid 7] 09:17:17.342492 <... write resumed>0x1, 0x7f00aa112233 \"a E b\", 0x5) = 5 <0.000001500>"
            )
        );
        for other in ["X close(0x3) = 0 (0x0) (5 apples)", "X close("] {
            assert_eq!(line(other), None, "{other}");
        }
    }
}
