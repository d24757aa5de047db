//! The progress bar, shown if standard error is a terminal.

use crate::clean;
use crate::session::{Stage, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A progress bar, hidden if standard error is not a terminal.
pub struct Progress {
    bar: ProgressBar,
}

const STEPS: u64 = 1000;

const LONGEST: usize = 200;

impl Progress {
    /// A bar, hidden if `quiet`.
    pub fn new(quiet: bool) -> Progress {
        let shown = !quiet && std::io::stderr().is_terminal();
        Progress::on(if shown { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() })
    }

    fn on(target: ProgressDrawTarget) -> Progress {
        Progress { bar: ProgressBar::with_draw_target(Some(STEPS), target) }
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
    use indicatif::TermLike;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// A terminal of 80 columns that keeps what is written.
    #[derive(Clone, Debug, Default)]
    struct Narrow(Arc<Mutex<Vec<String>>>);

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().map_err(|_| io::Error::other("poisoned"))?.push(text.to_string());
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_fits_the_terminal() {
        let terminal = Narrow::default();
        let progress = Progress::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        for stage in [Stage::Proving, Stage::Measuring] {
            progress.stage(stage);
            progress.at(0.5, &"process.vfork_exec_static ".repeat(5));
            progress.bar.force_draw();
        }
        let lines = terminal.0.lock().unwrap();
        assert!(lines.iter().any(|line| line.contains("process.vfork")), "{lines:?}");
        assert!(lines.iter().all(|line| line.trim_end().chars().count() <= 80), "{lines:?}");
    }

    #[test]
    fn what_is_being_done_is_cleaned() {
        let progress = Progress::new(true);
        progress.at(0.5, "perl:\u{1b}[31m\u{202e}\n");
        assert_eq!(progress.bar.message(), "perl:\u{fffd}[31m\u{fffd} ");
    }
}
