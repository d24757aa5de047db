//! Standard error: the one place that writes to it. What is said there is never worth a result: where nobody can read it
//! (a full disk, a reader that went away), it is lost and the command goes on.

use crate::clean;
use std::fmt::Display;
use std::io::Write;

/// Characters of a message.
const LONGEST: usize = 8000;

/// Says one line, whatever is in it.
pub fn tell(line: &dyn Display) {
    show(format!("syscost: {}\n", clean::excerpt(&line.to_string(), LONGEST)).as_bytes());
}

/// Notes beside a result: what --quiet leaves out. Errors are none.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    pub quiet: bool,
}

impl Notes {
    /// Says one line, unless nobody wants to hear.
    pub fn tell(self, line: &dyn Display) {
        if !self.quiet {
            tell(line);
        }
    }
}

/// Writes what is laid out already, and cleaned.
pub fn show(text: &[u8]) {
    let _ = std::io::stderr().lock().write_all(text);
}
