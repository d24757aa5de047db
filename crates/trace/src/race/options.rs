//! How a race is run.

use std::time::Duration;

/// Fewer rounds have no interval (`stats::FEWEST_TRIMMED`).
pub const FEWEST_ROUNDS: u32 = 5;

/// Without a time or a number of rounds: so long for each command, and at least so many rounds.
pub const TIME_EACH: Duration = Duration::from_secs(3);
pub const USUAL_ROUNDS: u32 = 10;

/// A ratio whose interval is half as wide is known.
pub const KNOWN: f64 = 0.05;

/// How long one is raced that will not be known, so that its interval becomes narrower.
pub const PATIENCE: Duration = Duration::from_secs(8);

/// How a race is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds; `None` for as many as `time` holds.
    pub runs: Option<u32>,
    /// Wall time for all of it: warm-up, counting and rounds.
    pub time: Option<Duration>,
    /// In environments, whether the race ends earlier if the ratios are known, or will not be.
    pub until_known: bool,
    /// Untimed rounds before.
    pub warmup: u32,
    /// Whether a command may fail.
    pub ignore_failure: bool,
    /// Whether what a command leaves running is ended before the next one starts.
    pub ends_left: bool,
    /// Whether system calls are counted.
    pub count: bool,
}
