//! Decides how often and in which order cases run; METHOD.md has the evidence. It starts no process and
//! reads no clock itself: workers come from a [`Launcher`] and time from a [`Clock`], so that tests
//! can script both.

mod batch_size;
mod lane;
mod rounds;

pub use rounds::measure;

use model::{Case, Facts, Failure, Outcome, Reply};
use std::time::Duration;

pub trait Launcher {
    /// `padding` bytes are added to its environment block. Waits until it is ready.
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure>;
}

pub trait Worker {
    /// Runs `k` batches of `n` iterations each.
    ///
    /// # Errors
    /// The probe's own failure, its end, or its timeout.
    fn request(&mut self, n: u64, k: u32) -> Result<Reply, Failure>;

    fn facts(&self) -> &Facts;

    fn is_pinned(&self) -> bool {
        false
    }
}

pub trait Clock {
    fn now(&self) -> Duration;
}

pub trait Observer {
    /// `share` is 0 to 1 of the budget.
    fn progress(&mut self, share: f64, doing: &str);
    /// Called after each look with all results so far.
    fn results(&mut self, measured: &[Measured]);
    fn interrupted(&self) -> bool;
}

#[derive(Clone)]
pub struct Measured {
    pub case: Case,
    pub outcome: Outcome,
    pub facts: Facts,
}

#[derive(Clone, Copy)]
pub struct Config {
    pub budget: Duration,
    /// Whether the budget was promised: it includes starting and calibrating the workers for the first time, and nothing is added to it.
    pub includes_start: bool,
    /// Measuring ends early when every interval's half-width is at most this percentage of its median.
    pub precision_percent: f64,
    pub seed: u64,
    pub slots: Slots,
}

#[derive(Clone, Copy)]
pub struct Slots {
    pub time: Duration,
    pub most_batches: u32,
    /// Even if the clock would allow shorter ones.
    pub least_batch: Duration,
    pub cold: Duration,
}

impl Slots {
    /// Many short turns, so that a change in the machine's state affects all cases alike.
    pub const SHORT: Slots = Slots {
        time: Duration::from_micros(200),
        most_batches: 4,
        least_batch: Duration::from_micros(10),
        cold: COLD,
    };
    /// Long turns, which leave most of the time to the cases: for a given CPU time per case.
    pub const LONG: Slots = Slots {
        time: Duration::from_millis(5),
        most_batches: 25,
        least_batch: Duration::from_micros(200),
        cold: COLD,
    };
}

const COLD: Duration = Duration::from_millis(50);
const LOOKS: [f64; 3] = [0.25, 0.5, 1.0];
/// Added if too few rounds were undisturbed and no time was promised.
const EXTRA: f64 = 0.1;
/// Launches of every worker per look. Memory layout biases a launch, so many short ones scatter less than a few long ones.
const LAUNCHES: u32 = 6;
/// A start that takes longer is not repeated at every launch if it would also take longer than the case is measured in between:
/// containers and sandboxes take from a tenth of a second to a few.
const SLOW_START: Duration = Duration::from_millis(100);
/// Time blocks per launch in a look of a quarter of the budget: 12 blocks, more than the 10 that an interval needs.
const BLOCKS: u32 = 2;
const PADDING: usize = 4096;
