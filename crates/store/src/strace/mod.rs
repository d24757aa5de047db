//! Profiles from the output of strace: tables of `strace -c` and logs, with any options, and between the traced program's own output.
//! Lines that are not strace's are left out, counted and named. The formats are described in strace(1); the fixtures are output
//! of strace 6.1. Also the log of gVisor's strace, and tables of other tracers.

mod arguments;
mod descriptors;
mod gvisor;
mod line;
mod log;
mod pending;
mod table;
mod tally;
mod threads;
mod timeline;

use line::Line;
use log::Log;
use model::{Profile, Source};
use table::{Tables, is_header};

/// The number of bytes in which a log is recognised. A table may follow any amount of other output.
pub const FIRST_BYTES: usize = 1 << 16;

/// The beginning of a file may be enough.
pub fn begins(bytes: &[u8]) -> bool {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(FIRST_BYTES)]);
    if gvisor::begins(bytes) {
        return true;
    }
    let lines = text.lines().map(unquoted);
    let mut lines = lines.filter(|line| !line.trim().is_empty() && !is_command(line));
    // A first line that only strace prints is enough; otherwise several calls must follow, because other programs print such lines too.
    let first = lines.next().is_some_and(|line| match line::parse(line).1 {
        Line::Foreign => is_header(line),
        Line::Remark => line.contains("strace: "),
        Line::Open(text) => !text.contains(')'),
        _ => true,
    });
    // Below a command, one is enough.
    let fewer = if text.lines().map(unquoted).any(is_command) {
        0
    } else {
        2
    };
    first
        || lines
            .filter(|line| {
                matches!(
                    line::parse(line).1,
                    Line::Call(_) | Line::Begun(..) | Line::Resumed(..)
                )
            })
            .nth(fewer)
            .is_some()
        || bytes.split(|byte| *byte == b'\n').any(|line| {
            let line = line.trim_ascii();
            let may_be = line.ends_with(b" syscall")
                || line.starts_with(b"syscall ")
                || line.starts_with(b"SYSCALL ");
            may_be && is_header(&String::from_utf8_lossy(line))
        })
}

/// Without the marks of a reply by mail. Stack frames, which have one too, are indented.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest
}

/// A shell's line above what it printed: `$ sudo strace -p 12`.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.any(|word| word == "strace" || word.ends_with("/strace"))
}

/// A profile from the output of strace, syscount or gVisor. `name` is the file's name in the profile's title.
///
/// # Errors
/// Returns a message with the reason and a remedy if the output has no usable calls.
pub fn read(bytes: &[u8], name: &str) -> Result<Profile, &'static str> {
    // Paths may be in any encoding, and numbers are ASCII.
    let text = String::from_utf8_lossy(bytes);
    let (mut tables, mut log) = (Tables::default(), Log::default());
    let (is_gvisor, mut calls) = (gvisor::begins(bytes), gvisor::Calls::default());
    for (number, line) in (1..).zip(text.lines().map(unquoted)) {
        if is_gvisor {
            if let Some((task, program, call)) = calls.as_strace(line) {
                log.starts_as(task, program);
                log.line(number, &call);
            }
        } else if !tables.line(line) {
            log.line(number, line);
        }
    }
    // The table of -C counts the calls of the lines before it, and those that -z, -Z and -e status left out.
    let (mut profile, kind, note) = if tables.has_more_than(&log) {
        tables.finish(&log)?
    } else {
        let (profile, note) = log
            .finish()
            .ok_or("no calls found: name a log of 'strace -f -T -ttt -o FILE'")?;
        if is_gvisor {
            (profile, "strace of gVisor", gvisor::NOTE)
        } else {
            (profile, "strace", note)
        }
    };
    (profile.tracer.kind, profile.tracer.adds_system_time) = (kind.into(), Some(false));
    profile.tool = Some(assets::tool());
    profile.source = Some(Source {
        title: format!("{kind}, from {name}"),
        note: note.into(),
    });
    Ok(profile)
}
