//! The progress bar: on standard error where that is a terminal, silent elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar that shows nothing where nobody watches.
pub struct Progress {
    bar: ProgressBar,
}

const STEPS: u64 = 1000;

impl Progress {
    pub fn new(quiet: bool) -> Progress {
        let shown = !quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        Progress { bar: ProgressBar::with_draw_target(Some(STEPS), target) }
    }

    /// Begins a stage of the work, its bar at zero.
    pub fn stage(&self, template: &str) {
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style.progress_chars("=> "));
        self.bar.reset();
    }

    /// `share` from 0 to 1.
    pub fn at(&self, share: f64, message: &str) {
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(message.to_string());
    }

    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}
