//! How a race is run.

use std::time::Duration;

/// Fewer rounds have no interval (`stats::FEWEST_TRIMMED`).
pub const FEWEST_ROUNDS: u32 = 5;

/// Without a time or a number of rounds: so long for each command, and at least so many rounds.
pub const TIME_EACH: Duration = Duration::from_secs(3);
pub const USUAL_ROUNDS: u32 = 10;

/// When a race in environments is over: each one's interval is at most this share of its time, or this time has passed.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    pub share: f64,
    pub time: Duration,
}

/// How a race is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rounds; `None` for as many as `time` holds.
    pub runs: Option<u32>,
    /// Wall time for all of it: warm-up, counting and rounds.
    pub time: Option<Duration>,
    /// In environments without either: ends earlier, or later.
    pub precision: Option<Precision>,
    /// Untimed rounds before.
    pub warmup: u32,
    /// Whether a command may fail.
    pub ignore_failure: bool,
    /// Whether what a command leaves running is ended before the next one starts.
    pub ends_left: bool,
    /// Whether system calls are counted.
    pub count: bool,
}
