//! The progress bar, shown if standard error is a terminal.

use super::messages::is_quiet;
use super::terminal::is_dumb;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::session::{Stage, Watch};
use model::clean;
use std::io::IsTerminal;

pub struct Progress {
    bar: ProgressBar,
}

const STEPS: u64 = 1000;

const LONGEST: usize = 200;

impl Progress {
    pub fn new() -> Progress {
        Progress::shown(!is_quiet())
    }

    pub fn shown(wanted: bool) -> Progress {
        let target = if wanted && std::io::stderr().is_terminal() && !is_dumb() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        Progress {
            bar: ProgressBar::with_draw_target(Some(STEPS), target),
        }
    }

    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn stage(&self, stage: Stage) {
        let template = match stage {
            Stage::Starting => "starting each environment [{bar:20}] {percent:>3}% {wide_msg}",
            Stage::Proving => "counting kernel entries [{bar:20}] {percent:>3}% {wide_msg}",
            Stage::Counting => "counting instructions [{bar:20}] {percent:>3}% {wide_msg}",
            Stage::Singles => "timing single calls [{bar:20}] {percent:>3}% {wide_msg}",
            Stage::Measuring => "measuring [{bar:30}] {percent:>3}% at most {eta} left  {wide_msg}",
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
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
        let progress = Progress::shown(false);
        progress.at(0.5, "perl:\u{1b}[31m\u{202e}\n");
        assert_eq!(progress.bar.message(), "perl:\u{fffd}[31m\u{fffd} ");
    }
}
