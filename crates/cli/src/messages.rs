//! Standard error: the only place that writes to it. A message that cannot be written (full disk, closed pipe) is lost and
//! the command continues, since no message is worth losing a result.

use super::terminal::in_its_characters;
use model::{Profile, clean};
use report::Format;
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

const LONGEST: usize = 8000;

static QUIET: AtomicBool = AtomicBool::new(false);

/// Errors are still shown.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints one message, cleaned and cut, also with `--quiet`.
pub fn show_line<T: Display + ?Sized>(line: &T) {
    let line = clean::excerpt(&line.to_string(), LONGEST);
    show(in_its_characters(format!("syscost: {line}\n")).as_bytes());
}

/// Tells something about a result, unless `--quiet` is given.
pub fn note<T: Display + ?Sized>(line: &T) {
    if !is_quiet() {
        show_line(line);
    }
}

/// A log of strace lacks these, and CSV has no place for them.
pub fn cautions(profile: &Profile, format: Format) {
    let cautions = report::cautions(profile);
    let is_log = profile.tracer.kind.starts_with("strace");
    if is_log && format == Format::Csv && !cautions.is_empty() {
        note(&format!("warning: {}", cautions.join("; ")));
    }
}

pub fn show(text: &[u8]) {
    let _ = std::io::stderr().lock().write_all(text);
}
