//! All sampling policy: how often and in which order things run. It starts nothing and reads no clock by itself: workers
//! come from a [`Launcher`], time from a [`Clock`], so that tests script both.
//!
//! The method and the evidence for it are METHOD.md's. Called by the `run` command.

mod calibrate;
mod lane;
mod rounds;

pub use rounds::measure;

use crate::model::{Case, Facts, Failure, Outcome, Reply};
use std::time::Duration;

/// Starts workers.
pub trait Launcher {
    /// Starts a worker for `case` and waits until it is ready; `padding` bytes are added to its environment block.
    ///
    /// # Errors
    /// Why it did not become ready.
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure>;
}

/// A worker that is ready. Dropping it ends it.
pub trait Worker {
    /// Runs k batches of n iterations.
    ///
    /// # Errors
    /// Why there is no reply.
    fn request(&mut self, n: u64, k: u32, patience: Duration) -> Result<Reply, Failure>;

    /// What it said of itself.
    fn facts(&self) -> &Facts;
}

/// Wall time since some start.
pub trait Clock {
    fn now(&self) -> Duration;
}

/// Told how far measuring has come.
pub trait Observer {
    /// `share` from 0 to 1 of the budget, and what is being done.
    fn progress(&mut self, share: f64, doing: &str);
    /// All lanes as they stand, after each look at the precision and at the end.
    fn results(&mut self, measured: &[Measured]);
    /// Whether to stop at once.
    fn interrupted(&self) -> bool;
}

/// What came of a planned case, in the order of the plan.
#[derive(Clone, Debug)]
pub struct Measured {
    pub outcome: Outcome,
    /// What its worker said of itself at its last launch.
    pub facts: Facts,
}

/// What the user decides.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Wall time for measuring.
    pub budget: Duration,
    /// Measuring ends early when every interval's half-width is at most this percentage of its median.
    pub precision_percent: f64,
    pub seed: u64,
    /// How long a request may take before its worker is ended.
    pub timeout: Duration,
    pub slots: Slots,
}

/// How a case's turn in a round is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The time that a slot should take.
    pub time: Duration,
    /// Batches a slot at the most.
    pub most_batches: u32,
    /// A batch is not shorter than this, even where the clock would allow it.
    pub least_batch: Duration,
}

impl Slots {
    /// Many short turns: what a state of the machine does to one case it does to all.
    pub const SHORT: Slots =
        Slots { time: Duration::from_micros(200), most_batches: 4, least_batch: Duration::from_micros(10) };
    /// Long turns, most of whose time is the cases' own: for who wants so much CPU time a case.
    pub const LONG: Slots =
        Slots { time: Duration::from_millis(5), most_batches: 25, least_batch: Duration::from_micros(200) };
}

/// Shares of the budget after which the precision is looked at.
const LOOKS: [f64; 3] = [0.25, 0.5, 1.0];
/// The share that is spent on top where the kernel's state changed too late for the looks.
const EXTRA: f64 = 0.25;
/// Fresh launches of every worker in each look, because memory layout biases a launch.
const LAUNCHES: u32 = 3;
/// Time blocks a launch: 12 blocks a look, over the 10 that an interval needs.
const BLOCKS: u32 = 4;
/// Largest environment padding in bytes.
const PADDING: usize = 4096;
