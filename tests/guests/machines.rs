//! What boots the guests of tests.

use crate::common::*;
use measure::guest::{Guest, Options};
use measure::runner::{Interrupt, RunDirectory, Workers};
use model::Failure;
use sys::affinity::Placement;

pub fn workers(directory: RunDirectory) -> Workers {
    let placement = Placement {
        measuring: None,
        driver: Vec::new(),
        reason: String::new(),
    };
    Workers::new(directory, placement, Interrupt::default(), PATIENCE)
}

pub fn boot(workers: &Workers, name: &str, append: &str) -> Result<Guest, Failure> {
    Guest::boot(
        workers,
        format!("{name} {append}").trim(),
        &Options::default(),
    )
}
