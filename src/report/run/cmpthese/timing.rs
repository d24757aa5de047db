//! One case in Benchmark's terms: iterations, CPU seconds and the rate.

use crate::model::{Measurement, Outcome, Record};
use crate::summary::RowCost;

/// The numbers of a case that its line and its row of the matrix show.
#[derive(Clone, Debug)]
pub struct Timing<'a> {
    pub name: String,
    /// Iterations per second of CPU time. More than 0.
    pub rate: f64,
    /// Iterations; `None` if the source does not give them.
    pub count: Option<u64>,
    /// CPU seconds of all iterations.
    pub cpu_s: Option<f64>,
    /// Share of user mode, from 0 to 1.
    pub user_share: Option<f64>,
    /// Wall clock time in whole seconds, as Benchmark counts them.
    pub wall_s: Option<f64>,
    /// The samples; `None` for a published value.
    pub measurement: Option<&'a Measurement>,
}

/// Judging from its rates, Benchmark adds this to CPU seconds before it divides by them: even 0 seconds give a rate.
pub(super) const NO_TIME_S: f64 = 1e-15;

impl<'a> Timing<'a> {
    pub fn of(name: String, figure: &RowCost, record: &'a Record) -> Timing<'a> {
        let (count, measurement) = match &record.outcome {
            Outcome::Measured(m) => (Some(m.iterations.saturating_mul(m.samples().count() as u64)), Some(m)),
            Outcome::Published(published) => (published.count, None),
            Outcome::Failed(_) | Outcome::Counted(_) => (None, None),
        };
        let per_iteration_s = figure.median.0 / 1e9;
        let cpu_s = count.map(|n| n as f64 * per_iteration_s);
        let rate = match count.zip(cpu_s) {
            Some((n, cpu_s)) => n as f64 / (cpu_s + NO_TIME_S),
            None => 1.0 / per_iteration_s.max(NO_TIME_S),
        };
        let wall_s = measurement.map(sampled_s).or(cpu_s).map(f64::round);
        let user_share = figure.user_share.map(|split| split.share);
        Timing { name, rate: rate.max(f64::MIN_POSITIVE), count, cpu_s, user_share, wall_s, measurement }
    }
}

fn sampled_s(m: &Measurement) -> f64 {
    m.blocks.iter().flat_map(|block| &block.slots).flatten().map(|ns| *ns as f64 / 1e9).sum()
}
