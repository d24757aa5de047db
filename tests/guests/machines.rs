//! What boots the guests of tests.

use std::time::Duration;
use syscost::guest::{Guest, Options};
use syscost::kernel::affinity::Placement;
use syscost::model::Failure;
use syscost::runner::{Interrupt, RunDirectory, Workers};

pub fn workers(directory: RunDirectory, timeout: Duration) -> Workers {
    let placement = Placement { measuring: None, driver: Vec::new(), reason: String::new() };
    Workers::new(directory, placement, Interrupt::default(), timeout)
}

pub fn boot(workers: &Workers, name: &str, append: &str) -> Result<Guest, Failure> {
    Guest::boot(workers, format!("{name} {append}").trim(), &Options::default())
}
