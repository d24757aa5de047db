//! What a command takes in an environment without that environment's own start-up, round by round.

use model::{Contender, InEnvironment, TimedRun};

const NATIVE: &str = "native";

/// Nanoseconds by round.
pub struct Net {
    pub wall: Vec<f64>,
    /// `None` if the kernel's accounting does not include the command.
    pub cpu: Option<Vec<f64>>,
    pub user: Option<Vec<f64>>,
    /// What a program that does nothing takes more than natively.
    pub start_up: Option<Vec<f64>>,
}

pub fn net(all: &[Contender], own: &Contender) -> Net {
    let native = all
        .iter()
        .filter_map(|other| other.environment.as_ref())
        .find(|there| there.name == NATIVE);
    let added = |of: fn(&TimedRun) -> u64| Some(added(own.environment.as_ref()?, native?, of));
    let less = |of: fn(&TimedRun) -> u64, added: Option<&Vec<f64>>| -> Vec<f64> {
        let start_up = |round: usize| {
            added
                .and_then(|added| added.get(round))
                .copied()
                .unwrap_or_default()
        };
        own.runs
            .iter()
            .enumerate()
            .map(|(round, run)| of(run) as f64 - start_up(round))
            .collect()
    };
    let start_up = added(|run| run.wall_ns);
    Net {
        wall: less(|run| run.wall_ns, start_up.as_ref()),
        cpu: own
            .is_accounted()
            .then(|| less(TimedRun::cpu_ns, added(TimedRun::cpu_ns).as_ref())),
        user: own
            .is_accounted()
            .then(|| less(|run| run.user_ns, added(|run| run.user_ns).as_ref())),
        start_up,
    }
}

fn added(there: &InEnvironment, native: &InEnvironment, of: fn(&TimedRun) -> u64) -> Vec<f64> {
    there
        .empty
        .iter()
        .zip(&native.empty)
        .map(|(there, native)| of(there) as f64 - of(native) as f64)
        .collect()
}

/// The trimmed mean of nanoseconds and the ends of its 95% interval, in seconds; `None` for fewer than 5 rounds.
pub fn in_seconds(values_ns: &[f64]) -> Option<[f64; 3]> {
    Some(stats::trimmed(values_ns.iter().map(|ns| ns / 1e9).collect())?.with_ends())
}
