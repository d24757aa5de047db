//! The cost of starting an environment.

use super::Summary;
use model::{EnvironmentFacts, StartUp};
use schemars::JsonSchema;
use serde::Serialize;
use stats::trimmed;

/// The extra wall time of a program that does nothing there: the mean of the rounds without the highest and lowest fifth.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StartUpCost {
    /// As records name it.
    pub environment: String,
    pub seconds: f64,
    /// The ends of the 95% interval, which is at least as wide as the difference between two native starts.
    pub low_s: f64,
    pub high_s: f64,
    /// Extra memory of all processes while a program waits there; null if it could not be read.
    pub memory_kib: Option<u64>,
}

/// Environments whose start was measured, in the order of the run.
pub fn start_ups(environments: &[EnvironmentFacts]) -> Vec<StartUpCost> {
    let all = environments.iter();
    all.filter_map(|facts| start_up(&facts.name, facts.start_up.as_ref()?))
        .collect()
}

/// `None` for fewer than five rounds.
fn start_up(environment: &str, measured: &StartUp) -> Option<StartUpCost> {
    let [ns, low, _] = trimmed(measured.added_ns.clone())?.with_ends();
    let [control, ..] = trimmed(measured.control_ns.clone())?.with_ends();
    let half = f64::max(ns - low, control.abs()) / 1e9;
    let seconds = ns / 1e9;
    Some(StartUpCost {
        environment: environment.to_string(),
        seconds,
        low_s: seconds - half,
        high_s: seconds + half,
        memory_kib: measured.memory_kib,
    })
}

/// Geometric mean of the ratios to the environment that it is compared with; 1 for that one.
pub fn mean_ratio(summary: &Summary, environment: &str) -> Option<f64> {
    let mut versus = summary.rows.iter().filter_map(|row| row.versus.as_ref());
    if versus.any(|versus| versus.environment == environment) {
        return Some(1.0);
    }
    let rows = summary
        .rows
        .iter()
        .filter(|row| row.case.environment == environment);
    stats::geometric_mean(rows.filter_map(|row| Some(row.versus.as_ref()?.ratio.value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_no_narrower_than_the_control() {
        let measured = StartUp {
            added_ns: vec![5e6, 5.1e6, 4.9e6, 5e6, 5e6, 5.05e6],
            control_ns: vec![1e6; 6],
            memory_kib: Some(2048),
        };
        let cost = start_up("box", &measured).unwrap();
        assert!((cost.seconds - 5e-3).abs() < 1e-4, "{cost:?}");
        assert!((cost.high_s - cost.low_s - 2e-3).abs() < 1e-9, "{cost:?}");
        let few = StartUp {
            added_ns: vec![5e6; 4],
            ..measured
        };
        assert_eq!(start_up("box", &few), None);
    }
}
