//! One case in Benchmark's terms: iterations, CPU seconds and the rate.

use analysis::summary::RowCost;
use model::{Measurement, Outcome, Record};

#[derive(Debug)]
pub struct Timing<'a> {
    pub name: String,
    /// Waits included. More than 0.
    pub rate: f64,
    pub count: Option<u64>,
    pub cpu_s: Option<f64>,
    pub user_share: Option<f64>,
    /// In whole seconds, as Benchmark counts them.
    pub wall_s: Option<f64>,
    pub measurement: Option<&'a Measurement>,
}

/// Judging from its rates, Benchmark adds this to CPU seconds before it divides by them: even 0 seconds give a rate.
const NO_TIME_S: f64 = 1e-15;

impl<'a> Timing<'a> {
    pub fn new(name: String, figure: &RowCost, record: &'a Record) -> Timing<'a> {
        let measurement = record.outcome.measurement();
        let count = match &record.outcome {
            Outcome::Measured(m) => Some(m.calls()),
            Outcome::Published(published) => published.count,
            Outcome::Failed(_) | Outcome::Counted(_) => None,
        };
        let per_iteration_s = figure.median.0 / 1e9;
        let took_s = count.map(|n| n as f64 * per_iteration_s);
        let cpu_s = took_s.map(|took_s| took_s * measurement.map_or(1.0, on_cpu));
        let rate = match count.zip(took_s) {
            Some((n, took_s)) => n as f64 / (took_s + NO_TIME_S),
            None => 1.0 / per_iteration_s.max(NO_TIME_S),
        };
        let wall_s = measurement.map(sampled_s).or(cpu_s).map(f64::round);
        Timing {
            name,
            rate: rate.max(f64::MIN_POSITIVE),
            count,
            cpu_s,
            user_share: figure.user_share.map(|split| split.share),
            wall_s,
            measurement,
        }
    }
}

/// A smaller share of the time on a CPU is no error of accounting by ticks, if it is of so many seconds.
const BLOCKS: f64 = 0.8;
const ENOUGH_S: f64 = 1.0;

/// The share of its time that a case is on a CPU: 1 unless it blocks. CPU time is also that of batches that were left out.
fn on_cpu(m: &Measurement) -> f64 {
    let (cpu_s, took_s) = (
        (m.cpu.user_ns as f64 + m.cpu.system_ns as f64) / 1e9,
        sampled_s(m),
    );
    if cpu_s > 0.0 && took_s >= ENOUGH_S && cpu_s < BLOCKS * took_s {
        cpu_s / took_s
    } else {
        1.0
    }
}

fn sampled_s(m: &Measurement) -> f64 {
    m.blocks
        .iter()
        .flat_map(|block| &block.slots)
        .flatten()
        .map(|ns| *ns as f64 / 1e9)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Block, CpuTime};

    #[test]
    fn time_on_a_cpu_is_that_of_a_case_that_does_not_block() {
        // Two batches of a second each; CPU time is also that of batches that were left out.
        let on_cpu = |cpu_s: f64, batch_ns| {
            let cpu = CpuTime {
                system_ns: (cpu_s * 1e9) as u64,
                ..CpuTime::default()
            };
            let blocks = vec![Block {
                launch: 0,
                slots: vec![vec![batch_ns; 2]],
            }];
            on_cpu(&Measurement {
                cpu,
                blocks,
                ..Measurement::default()
            })
        };
        assert_eq!(
            [0.5, 1.9, 7.0].map(|cpu_s| on_cpu(cpu_s, 1_000_000_000)),
            [0.25, 1.0, 1.0]
        );
        assert_eq!(
            [on_cpu(0.0, 1_000_000_000), on_cpu(0.01, 20_000_000)],
            [1.0, 1.0],
            "unknown; a tick"
        );
    }
}
