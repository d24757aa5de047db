//! The progress bar: on standard error where that is a terminal, silent elsewhere.

use crate::clean;
use crate::session::{Stage, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar that shows nothing where nobody watches.
pub struct Progress {
    bar: ProgressBar,
}

const STEPS: u64 = 1000;

/// Characters of what is being done.
const LONGEST: usize = 200;

impl Progress {
    pub fn new(quiet: bool) -> Progress {
        let shown = !quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        Progress { bar: ProgressBar::with_draw_target(Some(STEPS), target) }
    }

    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn stage(&self, stage: Stage) {
        let template = match stage {
            Stage::Proving => "looking at kernel entries and modes [{bar:20}] {percent:>3}% {msg}",
            Stage::Measuring => "measuring [{bar:30}] {percent:>3}% at most {eta} left  {msg}",
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style.progress_chars("=> "));
        self.bar.reset();
    }

    fn at(&self, share: f64, doing: &str) {
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(clean::excerpt(doing, LONGEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_done_is_cleaned() {
        let progress = Progress::new(true);
        progress.at(0.5, "perl:\u{1b}[31m\u{202e}\n");
        assert_eq!(progress.bar.message(), "perl:\u{fffd}[31m\u{fffd} ");
    }
}
