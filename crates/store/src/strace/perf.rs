//! Lines of `perf trace`, as strace prints them: with the time and the duration of each call, and the name of the program if there are
//! several threads. Source: tools/perf/builtin-trace.c of Linux.

use std::collections::HashMap;

pub const NOTE: &str = "Elapsed times do not separate running from waiting. Unknown: time on the CPU, page faults, user and system time, and the \
    files of descriptors, because perf trace takes those of closed ones for open ones.";

/// Makes times that begin with 0 dates, as of `strace -ttt`.
const EPOCH_S: f64 = 1e9;

/// The calls that were interrupted by lines of other threads, each with its arguments, by thread.
#[derive(Default)]
pub struct PerfTrace(HashMap<u64, (String, String)>);

/// `     1.470 ( 0.057 ms): find/21927 read(fd: 4</tmp>, count: 832)      = 832`
struct Parts<'a> {
    at_s: Option<f64>,
    took: &'a str,
    program: &'a str,
    thread: u64,
    call: &'a str,
    is_continued: bool,
    arguments: &'a str,
    /// Empty if it is in a later line.
    result: &'a str,
}

pub fn begins(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| parts(line).is_some())
}

fn parts(line: &str) -> Option<Parts<'_>> {
    let (at, rest) = line.trim().split_once(" (")?;
    let (took, rest) = rest.split_once("): ")?;
    let took = took.trim();
    let (head, rest) = rest.split_once('(')?;
    let (who, call) = head.rsplit_once(' ').unwrap_or(("", head));
    let (who, is_continued) = match who.split_once(" ... [continued]:") {
        Some((who, _)) => (who.trim(), true),
        None => (
            who.strip_suffix("... [continued]:").unwrap_or(who).trim(),
            who.ends_with(':'),
        ),
    };
    let (program, thread) = who.rsplit_once('/').unwrap_or(("", "1"));
    let end = rest.rfind(") ")?;
    let result = rest[end + 2..].trim_start();
    let result = match result.strip_prefix('=').map(str::trim) {
        // Flags, by their names, or a number that is not printed.
        Some(named) if !named.starts_with(|c: char| c.is_ascii_digit() || "-?".contains(c)) => "0",
        Some(result) => result,
        None if result == "..." => "",
        None => return None,
    };
    let at_s = at.parse::<f64>().ok().map(|ms| ms / 1e3);
    let is_time = at == "?" || at_s.is_some();
    Some(Parts {
        at_s,
        took: took.strip_suffix(" ms").unwrap_or(took),
        program,
        thread: thread.parse().ok()?,
        call,
        is_continued,
        arguments: &rest[..end],
        result,
    })
    .filter(|_| is_time)
}

impl PerfTrace {
    /// The thread, its program (empty if it is not named), and the call; `None` for other lines, and for calls that go on in a later line.
    pub fn as_strace<'a>(&mut self, line: &'a str) -> Option<(u64, &'a str, String)> {
        let parts = parts(line)?;
        let arguments: Vec<String> = parts.arguments.split(", ").map(argument).collect();
        let mut arguments = arguments.join(", ");
        if parts.is_continued {
            let begun = self.0.remove(&parts.thread);
            let begun = begun.filter(|(call, _)| call == parts.call);
            arguments = begun.map_or_else(String::new, |(_, arguments)| arguments);
        }
        if parts.result.is_empty() {
            let begun = (parts.call.to_string(), arguments);
            self.0.insert(parts.thread, begun);
            return None;
        }
        let at = parts
            .at_s
            .map_or_else(String::new, |at_s| format!("{:.6} ", EPOCH_S + at_s));
        let took = match parts.took.parse::<f64>() {
            Ok(ms) => format!(" <{:.6}>", ms / 1e3),
            Err(_) => String::new(),
        };
        let Parts {
            thread,
            call,
            result,
            ..
        } = parts;
        let text = format!("[pid {thread}] {at}{call}({arguments}) = {result}{took}");
        Some((thread, parts.program, text))
    }
}

/// `fd: 4</tmp>` as `4`, and `clone_flags: VM|THREAD` as `flags=CLONE_VM|CLONE_THREAD`.
fn argument(text: &str) -> String {
    if let Some(flags) = text.strip_prefix("clone_flags: ") {
        return format!("flags=CLONE_{}", flags.replace('|', "|CLONE_"));
    }
    let (name, value) = text.split_once(": ").unwrap_or(("", text));
    let is_descriptor = name.ends_with("fd");
    match value.split_once('<') {
        Some((number, _)) if is_descriptor => number.to_string(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_as_strace_prints_it() {
        let mut perf = PerfTrace::default();
        for (line, expected) in [
            (
                "     1.470 ( 0.057 ms): find/21927 read(fd: 4</tmp>, buf: 0x7f, count: 832)     = 832",
                Some((
                    21927,
                    "find",
                    "[pid 21927] 1000000000.001470 read(4, 0x7f, 832) = 832 <0.000057>",
                )),
            ),
            (
                "     2.000 ( 0.010 ms): access(filename: \"/x\", mode: R)      = -1 ENOENT (No such file or directory)",
                Some((
                    1,
                    "",
                    "[pid 1] 1000000000.002000 access(\"/x\", R) = -1 ENOENT (No such file or directory) <0.000010>",
                )),
            ),
            (
                "     3.000 (         ): a b/7 clone(clone_flags: VM|THREAD)      ...",
                None,
            ),
            (
                "     3.000 (1000.500 ms): a b/7  ... [continued]: clone())     = 8 (a)",
                Some((
                    7,
                    "a b",
                    "[pid 7] 1000000000.003000 clone(flags=CLONE_VM|CLONE_THREAD) = 8 (a) <1.000500>",
                )),
            ),
            (
                "         ? (         ): find/2  ... [continued]: execve())       = 0",
                Some((2, "find", "[pid 2] execve() = 0")),
            ),
            (
                "     4.000 ( 0.001 ms): fcntl(fd: 5, cmd: GETFL)     = RDONLY|DIRECTORY",
                Some((
                    1,
                    "",
                    "[pid 1] 1000000000.004000 fcntl(5, GETFL) = 0 <0.000001>",
                )),
            ),
            ("LOST 3 events!", None),
        ] {
            let actual = perf.as_strace(line);
            let actual = actual
                .as_ref()
                .map(|(thread, program, text)| (*thread, *program, text.as_str()));
            assert_eq!(actual, expected);
        }
    }
}
