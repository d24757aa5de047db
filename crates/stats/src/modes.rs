use model::{Measurement, ModeSamples};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// User mode's share of the CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserShare {
    /// From 0 to 1.
    pub share: f64,
    /// The standard error of the share.
    pub standard_error: f64,
}

// A share of 50 samples is known to 14 percentage points.
/// Fewer samples give no share.
const LEAST_SAMPLES: f64 = 50.0;

/// Kernels account CPU time by ticks, at least 100 a second; a finer accounting only makes the error smaller.
const TICKS_PER_SECOND: f64 = 100.0;

/// Linux counts all time before a process's first tick as user time (cputime_adjust() in kernel/sched/cputime.c), so a
/// share by accounting is too high by up to one tick per process; above this bias it is not shown. Ticks overstate user mode
/// even then: those that arrive with interrupts off are taken on return to user mode.
const MOST_BIAS: f64 = 0.1;

/// User mode's share by `samples`, or by the kernel's accounting if nothing was sampled and each launch had at least a
/// tenth of a second of CPU time. `None` with fewer than 50 samples or less time: a wrong share is worse than none.
///
/// Assumes independent samples.
pub fn user_share(samples: Option<ModeSamples>, measurement: &Measurement) -> Option<UserShare> {
    let Some(samples) = samples else {
        return by_accounting(measurement);
    };
    let (user, system) = (samples.user as f64, samples.system as f64);
    if user + system < LEAST_SAMPLES {
        return None;
    }
    Some(binomial(user / (user + system), user + system))
}

/// An operation that switches may have spent its time in children, each of them a short process.
fn by_accounting(measurement: &Measurement) -> Option<UserShare> {
    let cpu = &measurement.cpu;
    let total = cpu.user_ns as f64 + cpu.system_ns as f64;
    let launches: BTreeSet<u32> = measurement
        .blocks
        .iter()
        .map(|block| block.launch)
        .collect();
    let per_launch = total / launches.len().max(1) as f64;
    let bias = 1e9 / TICKS_PER_SECOND / per_launch;
    let share = binomial(cpu.user_ns as f64 / total, TICKS_PER_SECOND * total / 1e9);
    // The bias is bounded but not known, so it widens the error and does not move the share.
    let standard_error = share.standard_error.hypot(bias);
    (bias <= MOST_BIAS && !measurement.switches).then_some(UserShare {
        standard_error,
        ..share
    })
}

/// The 95% interval of a share that `matching` of `all` samples had (Wilson, Journal of the American Statistical Association 22,
/// 1927): neither beyond 0 or 1, nor without a width where none or all had it.
pub fn share_interval(matching: u64, all: u64) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    if all == 0 {
        return [0.0, 1.0];
    }
    let n = all as f64;
    let (share, z) = (matching as f64 / n, Z * Z / n);
    let centre = (share + z / 2.0) / (1.0 + z);
    let half = (share * (1.0 - share) * z + z * z / 4.0).max(0.0).sqrt() / (1.0 + z);
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

fn binomial(share: f64, n: f64) -> UserShare {
    UserShare {
        share,
        standard_error: (share * (1.0 - share) / n).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Block, CpuTime};

    fn sampled(user: u64, system: u64) -> Option<UserShare> {
        user_share(Some(ModeSamples { user, system }), &Measurement::default())
    }

    #[test]
    fn samples_give_a_share_with_its_binomial_error() {
        for (user, system, expected) in [
            (200, 200, Some((0.5, 0.025))),
            (50, 0, Some((1.0, 0.0))),
            (24, 25, None),
        ] {
            let known = sampled(user, system).map(|split| (split.share, split.standard_error));
            assert_eq!(known, expected);
        }
        assert!(sampled(u64::MAX, u64::MAX).is_some_and(|split| split.share == 0.5));
    }

    #[test]
    fn a_share_of_samples_has_an_interval() {
        fn near(matching: u64, all: u64, expected: [f64; 2]) {
            let [low, high] = share_interval(matching, all);
            assert!(
                (low - expected[0]).abs() < 1e-3 && (high - expected[1]).abs() < 1e-3,
                "{low} .. {high}"
            );
        }

        // Table of R's prop.test without correction.
        near(5, 10, [0.2366, 0.7634]);
        near(0, 10, [0.0, 0.2775]);
        near(990, 1000, [0.9817, 0.9946]);
        near(0, 0, [0.0, 1.0]);
    }

    #[test]
    fn accounting_is_used_without_samples_and_its_bias_is_in_the_error() {
        fn measured(ns: u64) -> Measurement {
            Measurement {
                cpu: CpuTime {
                    user_ns: ns,
                    system_ns: ns,
                    wall_ns: 0,
                },
                blocks: vec![Block::default()],
                ..Measurement::default()
            }
        }

        let mut enough = measured(50_000_000);
        assert_eq!(user_share(None, &measured(49_999_999)), None);
        let split = user_share(None, &enough).unwrap();
        // Ten ticks in all, of which one may be on the wrong side.
        assert!(
            split.share == 0.5 && (split.standard_error - 0.025f64.sqrt().hypot(0.1)).abs() < 1e-9,
            "{split:?}"
        );
        assert_eq!(user_share(Some(ModeSamples::default()), &enough), None);
        enough.blocks.push(Block {
            launch: 1,
            slots: vec![],
        });
        assert_eq!(
            user_share(None, &enough),
            None,
            "a twentieth of a second a process"
        );
        let switching = Measurement {
            switches: true,
            ..measured(500_000_000)
        };
        assert_eq!(user_share(None, &switching), None);
    }
}
