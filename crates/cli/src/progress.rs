//! The progress bar, shown if standard error is a terminal.

use super::messages::is_quiet;
use super::terminal::is_dumb;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::session::{Stage, Watch};
use model::clean;
use std::io::IsTerminal;
use std::time::Duration;

pub struct Progress {
    bar: ProgressBar,
}

const STEPS: u64 = 1000;

const LONGEST: usize = 200;

impl Progress {
    /// A bar on standard error, unless `--quiet` is given or standard error is not a terminal.
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
            Stage::Measuring => "measuring [{bar:30}] {percent:>3}% {prefix}{wide_msg}",
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style.progress_chars("=> "));
        self.bar.reset();
    }

    fn advance(&self, share: f64, doing: &str) {
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_prefix(left(self.bar.elapsed(), share));
        self.bar.set_message(clean::excerpt(doing, LONGEST));
    }
}

/// By the share of the time that is over, since the rate of steps is not known at first and nothing is left of it at the end.
fn left(elapsed: Duration, share: f64) -> String {
    match elapsed.as_secs_f64() * (1.0 - share) / share {
        seconds if seconds > 0.0 && share > 0.0 => {
            format!("at most {:.0} s left  ", seconds.ceil())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_0_before_the_end() {
        fn shown(share: f64) -> String {
            left(Duration::from_secs(6), share)
        }

        assert_eq!(shown(0.75), "at most 2 s left  ");
        assert_eq!(shown(0.999), "at most 1 s left  ");
        assert_eq!((shown(0.0), shown(1.0)), (String::new(), String::new()));
    }

    #[test]
    fn what_is_being_done_is_cleaned() {
        let progress = Progress::shown(false);
        progress.advance(0.5, "perl:\u{1b}[31m\u{202e}\n");
        assert_eq!(progress.bar.message(), "perl:\u{fffd}[31m\u{fffd} ");
    }
}
