//! What runs are compared by: the time, or an event such as `instructions:k`. Verdicts on counts rest on the scatter of
//! launches and on an assumed scatter of whole runs, which is small for counts that the work alone determines.

use crate::model::{Counters, EVENTS};
use crate::stats::{self, BetweenRuns, EXACT_BETWEEN_RUNS, Launches, OTHER_BETWEEN_RUNS};
use schemars::JsonSchema;
use serde::Serialize;

/// Default margin: costs within this share of each other are unchanged.
pub const MARGIN: f64 = 0.01;
/// Default margins of events, as shares: of counts that the work alone determines, and of others. The first is the least that
/// two runs can show sameness within, by what is assumed of them, for a hundred rows.
const EXACT_MARGIN: f64 = 0.0025;
const OTHER_MARGIN: f64 = 0.01;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    #[default]
    Time,
    Events(Events),
}

/// An event, counted per iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// As perf spells it.
    pub name: String,
}

/// The name of the metric that `compare` has by default.
const TIME: &str = "ns";

impl Metric {
    /// The metric called `name`.
    ///
    /// # Errors
    /// That there is no such event, with the names of all.
    pub fn find(name: &str) -> Result<Metric, String> {
        if name == TIME {
            return Ok(Metric::Time);
        }
        let unknown = || {
            let names: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
            format!("'{name}' is not a metric: choose {TIME}, {}", names.join(", "))
        };
        EVENTS
            .iter()
            .find(|event| event.name == name)
            .map(|_| Metric::Events(Events { name: name.to_string() }))
            .ok_or_else(unknown)
    }

    /// Figures within this share of each other are unchanged unless the user chooses another.
    pub fn margin(&self) -> f64 {
        match self {
            Metric::Time => MARGIN,
            Metric::Events(events) if events.is_exact() => EXACT_MARGIN,
            Metric::Events(_) => OTHER_MARGIN,
        }
    }

    /// The event; `None` for the time.
    pub fn events(&self) -> Option<&Events> {
        match self {
            Metric::Time => None,
            Metric::Events(events) => Some(events),
        }
    }
}

/// The event that a comparison is by.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricFacts {
    /// As perf spells it. Counts are per iteration.
    pub name: String,
    /// Standard deviation of what shifts a whole run, as a share: an assumption that is part of the intervals.
    pub assumed_between_runs: f64,
}

impl Events {
    pub(super) fn facts(&self) -> MetricFacts {
        MetricFacts { name: self.name.clone(), assumed_between_runs: self.between_runs() }
    }

    fn is_exact(&self) -> bool {
        ["instructions:k", "instructions:u", "branches", "page-faults"].contains(&self.name.as_str())
    }

    fn between_runs(&self) -> f64 {
        if self.is_exact() { EXACT_BETWEEN_RUNS } else { OTHER_BETWEEN_RUNS }
    }

    /// A row's counts in both columns compared; `None` unless all are above 0.
    pub(super) fn compared(&self, own: &[Option<Launches>], base: &[Option<Launches>]) -> Option<BetweenRuns> {
        let counts = |runs: &[Option<Launches>]| runs.iter().flatten().next().map(|run| run.medians_ns.clone());
        stats::between_counts(&counts(own)?, &counts(base)?, self.between_runs())
    }

    pub(super) fn launches<'a>(&self, counters: Option<&'a Counters>) -> Result<&'a Vec<f64>, String> {
        let counters = counters.ok_or("not counted in this run: measure with --view counters")?;
        counters.get(&self.name).ok_or("this machine does not count it (the run's warnings say why)".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics_are_those_of_perf() {
        assert_eq!(Metric::find("ns"), Ok(Metric::Time));
        assert!(Metric::find("branch-misses").is_ok());
        let error = Metric::find("instructions").unwrap_err();
        assert!(error.starts_with("'instructions' is not a metric: choose ns, instructions:k, "), "{error}");
    }
}
