//! Standard error: the only place that writes to it. A message that cannot be written (full disk, closed pipe) is lost and
//! the command continues, since no message is worth losing a result.

use super::terminal;
use anyhow::Result;
use model::clean;
use report::Screen;
use std::fmt::Display;
use std::io::Write;

const LONGEST: usize = 8000;

pub fn tell(line: &dyn Display) {
    show(format!("syscost: {}\n", clean::excerpt(&line.to_string(), LONGEST)).as_bytes());
}

/// Notes about a result, which --quiet suppresses; unlike errors.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    pub quiet: bool,
}

impl Notes {
    pub fn tell(self, line: &dyn Display) {
        if !self.quiet {
            tell(line);
        }
    }
}

/// `text` is formatted and cleaned already.
pub fn show(text: &[u8]) {
    let _ = std::io::stderr().lock().write_all(text);
}

/// Writes an answer where standard output is another's.
pub fn show_answer(answer: impl Fn(Screen, &mut dyn Write) -> Result<()>) -> Result<()> {
    let mut text = Vec::new();
    answer(terminal::error_screen(), &mut text)?;
    show(&text);
    Ok(())
}
