//! Runs with known costs for the tests of this module: seeded noise, no clock.

use super::series::{Series, series};
use crate::model::{Block, Case, EntriesStatus, Host, Measurement, Outcome, Record, Role, Run, Tool};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Noise of every batch, as a share of its cost, half as much again common to all batches of a block and case.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    pub seed: u64,
    pub share: f64,
}

impl Noise {
    pub const NONE: Noise = Noise { seed: 0, share: 0.0 };
}

/// A strategy: its operation, the sizes, and the true cost of each.
pub type Strategy<'a> = (&'a str, &'a [u64], &'a dyn Fn(u64) -> f64);

/// A run of some strategies over `size`, of so many time blocks.
pub fn run(strategies: &[Strategy], blocks: usize, noise: Noise) -> Run {
    let mut rng = ChaCha8Rng::seed_from_u64(noise.seed);
    let mut records = Vec::new();
    for (operation, sizes, cost) in strategies {
        for size in *sizes {
            records.push(record(operation, *size, measurement(cost(*size), blocks, noise.share, &mut rng)));
        }
    }
    of(records)
}

pub fn of(records: Vec<Record>) -> Run {
    Run {
        tool: Tool { name: "syscost".into(), version: "0".into(), compiler: "cc".into() },
        host: Host::default(),
        started_unix_s: 0,
        seed: 1,
        budget_s: 1.0,
        precision_percent: 1.0,
        elapsed_s: 1.0,
        complete: true,
        records,
        warnings: vec![],
        source: None,
    }
}

pub fn record(operation: &str, size: u64, measurement: Measurement) -> Record {
    let mut case = Case::native(operation);
    case.params.insert("size".into(), size);
    Record {
        case,
        role: Role::Asked,
        outcome: Outcome::Measured(measurement),
        entries: None,
        entries_status: EntriesStatus::Verified,
        mode_samples: None,
        warnings: vec![],
    }
}

/// Batches of a million iterations, so that rounding to whole nanoseconds does not show.
fn measurement(cost: f64, blocks: usize, share: f64, rng: &mut ChaCha8Rng) -> Measurement {
    const ITERATIONS: u64 = 1_000_000;
    let mut draw = |share: f64| 1.0 + share * (rng.random::<f64>() + rng.random::<f64>() - 1.0);
    let mut block = |_| {
        let common = draw(share / 2.0);
        let batch = |_| vec![(cost * common * draw(share) * ITERATIONS as f64) as u64];
        Block { launch: 0, slots: (0..5).map(batch).collect() }
    };
    Measurement { iterations: ITERATIONS, blocks: (0..blocks).map(&mut block).collect(), ..Measurement::default() }
}

pub fn series_of(run: &Run) -> Vec<Series<'_>> {
    series(run)
}
