//! Times of a command in an environment without that environment's own start-up, round by round.

use crate::ticks::ticks_divide;
use model::{Contender, InEnvironment, NATIVE, TimedRun};

/// Nanoseconds by round.
pub struct Net {
    pub wall: Vec<f64>,
    /// `None` if the kernel's accounting does not include the command.
    pub cpu: Option<Vec<f64>>,
    /// `None` too if ticks do not distinguish user mode from the kernel.
    pub user: Option<Vec<f64>>,
    /// The extra time of a program that does nothing, compared with natively.
    pub start_up: Option<Vec<f64>>,
}

impl Net {
    /// Nothing is subtracted from native runs.
    pub fn is_above_scatter(&self) -> bool {
        let subtracted = self.start_up.iter().flatten().any(|ns| *ns != 0.0);
        !subtracted || in_seconds(&self.wall).is_some_and(|[_, low, _]| low > 0.0)
    }
}

/// Subtracts the start-up of the contender's environment, if it runs in one, from each of its rounds.
pub fn net(all: &[Contender], contender: &Contender) -> Net {
    let native = all
        .iter()
        .filter_map(|other| other.environment.as_ref())
        .find(|there| there.name == NATIVE);
    let wall_ns: fn(&TimedRun) -> u64 = |run| run.wall_ns;
    let is_accounted = contender.is_accounted();
    Net {
        wall: net_of(contender, native, wall_ns),
        cpu: if is_accounted {
            Some(net_of(contender, native, TimedRun::cpu_ns))
        } else {
            None
        },
        user: if is_accounted && is_divided(contender) {
            Some(net_of(contender, native, |run| run.user_ns))
        } else {
            None
        },
        start_up: start_up(contender, native, wall_ns),
    }
}

fn net_of(
    contender: &Contender,
    native: Option<&InEnvironment>,
    value: fn(&TimedRun) -> u64,
) -> Vec<f64> {
    let mut start_up = start_up(contender, native, value).unwrap_or_default();
    // Nothing is subtracted from native runs, which have no start-up.
    start_up.resize(contender.runs.len(), 0.0);
    let rounds = contender.runs.iter().zip(start_up);
    rounds
        .map(|(run, start_up)| value(run) as f64 - start_up)
        .collect()
}

fn start_up(
    contender: &Contender,
    native: Option<&InEnvironment>,
    value: fn(&TimedRun) -> u64,
) -> Option<Vec<f64>> {
    let there = contender.environment.as_ref()?;
    let rounds = there.empty.iter().zip(&native?.empty);
    Some(
        rounds
            .map(|(there, native)| value(there) as f64 - value(native) as f64)
            .collect(),
    )
}

pub fn is_divided(contender: &Contender) -> bool {
    let cpu_ns: u64 = contender.runs.iter().map(TimedRun::cpu_ns).sum();
    let traced = contender.counted.as_ref().ok();
    let processes = traced
        .and_then(|profile| profile.usage.processes)
        .unwrap_or(1);
    ticks_divide(
        cpu_ns as f64 / 1e9,
        processes.saturating_mul(contender.runs.len() as u64),
    )
}

/// The trimmed mean of nanoseconds and the ends of its 95% interval, in seconds; `None` for fewer than 5 rounds.
pub fn in_seconds(values_ns: &[f64]) -> Option<[f64; 3]> {
    Some(stats::trimmed(values_ns.iter().map(|ns| ns / 1e9).collect())?.with_ends())
}
