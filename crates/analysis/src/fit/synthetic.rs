//! Runs with known costs for the tests of this module: seeded noise, no clock.

use model::{Block, Case, Measurement, Outcome, Record, Run, fixtures};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Noise of every batch, as a share of its cost, plus half as much common to all batches of a block and case.
#[derive(Clone, Copy)]
pub struct Noise {
    pub seed: u64,
    pub share: f64,
}

impl Noise {
    pub const NONE: Noise = Noise {
        seed: 0,
        share: 0.0,
    };
}

pub type Strategy<'a> = (&'a str, &'a [u64], &'a dyn Fn(u64) -> f64);

pub fn run(strategies: &[Strategy], blocks: usize, noise: Noise) -> Run {
    let mut rng = ChaCha8Rng::seed_from_u64(noise.seed);
    let mut records = Vec::new();
    for (operation, sizes, cost) in strategies {
        for size in *sizes {
            let params = [("size".to_string(), *size)].into();
            let outcome =
                Outcome::Measured(measurement(cost(*size), blocks, noise.share, &mut rng));
            records.push(Record::new(
                Case {
                    params,
                    ..Case::native(operation)
                },
                outcome,
            ));
        }
    }
    fixtures::run(records)
}

const BLOCKS: usize = 3;

/// Batches of a million iterations, so that rounding to whole nanoseconds does not show.
fn measurement(cost: f64, blocks: usize, share: f64, rng: &mut ChaCha8Rng) -> Measurement {
    const ITERATIONS: u64 = 1_000_000;
    let mut draw = |share: f64| 1.0 + share * (rng.random::<f64>() + rng.random::<f64>() - 1.0);
    Measurement {
        iterations: ITERATIONS,
        blocks: (0..blocks)
            .map(&mut |index| {
                let common = draw(share / 2.0);
                Block {
                    launch: (index / BLOCKS) as u32,
                    slots: (0..5)
                        .map(|_| vec![(cost * common * draw(share) * ITERATIONS as f64) as u64])
                        .collect(),
                }
            })
            .collect(),
        ..Measurement::default()
    }
}
