//! What a command takes in an environment without that environment's own start-up, round by round.

use crate::ticks::ticks_divide;
use model::{Contender, NATIVE, TimedRun};

/// Nanoseconds by round.
pub struct Net {
    pub wall: Vec<f64>,
    /// `None` if the kernel's accounting does not include the command.
    pub cpu: Option<Vec<f64>>,
    /// `None` too where ticks do not tell user mode from the kernel.
    pub user: Option<Vec<f64>>,
    /// What a program that does nothing takes more than natively.
    pub start_up: Option<Vec<f64>>,
}

impl Net {
    /// Whether the net time exceeds the scatter of the subtracted start-up. Nothing is subtracted from native runs.
    pub fn is_above_scatter(&self) -> bool {
        let subtracted = self.start_up.iter().flatten().any(|ns| *ns != 0.0);
        !subtracted || in_seconds(&self.wall).is_some_and(|[_, low, _]| low > 0.0)
    }
}

pub fn net(all: &[Contender], contender: &Contender) -> Net {
    let native = all
        .iter()
        .filter_map(|other| other.environment.as_ref())
        .find(|there| there.name == NATIVE);
    let added = |of: fn(&TimedRun) -> u64| -> Option<Vec<f64>> {
        let both = contender
            .environment
            .as_ref()?
            .empty
            .iter()
            .zip(&native?.empty);
        Some(
            both.map(|(there, native)| of(there) as f64 - of(native) as f64)
                .collect(),
        )
    };
    let net = |of: fn(&TimedRun) -> u64| -> Vec<f64> {
        let mut start_up = added(of).unwrap_or_default();
        start_up.resize(contender.runs.len(), 0.0);
        let both = contender.runs.iter().zip(start_up);
        both.map(|(run, start_up)| of(run) as f64 - start_up)
            .collect()
    };
    let accounted = |of| {
        if contender.is_accounted() {
            Some(net(of))
        } else {
            None
        }
    };
    Net {
        wall: net(|run| run.wall_ns),
        cpu: accounted(TimedRun::cpu_ns),
        user: if is_divided(contender) {
            accounted(|run| run.user_ns)
        } else {
            None
        },
        start_up: added(|run| run.wall_ns),
    }
}

/// Whether enough ticks divide the CPU time of all runs into user mode and kernel.
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
