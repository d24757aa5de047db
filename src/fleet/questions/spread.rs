//! How far costs scatter between hosts and within one: `fleet/sql/spread.sql`.

use super::MAD_TO_DEVIATION;
use super::{CaseName, Group, Level, Observation, grouped, mad};
use crate::stats::median;
use std::sync::Arc;

/// What a case costs in a group of hosts, and how far that scatters.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    pub case: Arc<CaseName>,
    pub group: Vec<String>,
    /// Median of the hosts' medians.
    pub median_ns: f64,
    /// Standard deviations relative to the median, by MAD: of the hosts' medians, and of a host's runs around its own.
    pub between_hosts: f64,
    pub within_hosts: f64,
    /// The fastest and the slowest host to the median.
    pub least_ratio: f64,
    pub largest_ratio: f64,
    pub hosts: usize,
    pub runs: usize,
}

/// Each group in order; `columns` are what its hosts have in common.
pub fn spread(all: &[Observation], columns: &[String]) -> Vec<Spread> {
    let runs = grouped(all.iter().map(|one| ((one.group(columns), &one.place.host), one.ns)));
    let groups = grouped(runs.into_iter().map(|((group, _), ns)| (group, ns)));
    groups.into_iter().map(|(group, hosts)| of_group(group, &hosts)).collect()
}

/// `hosts` are the costs of each host's runs.
fn of_group((case, group): Group, hosts: &[Vec<f64>]) -> Spread {
    let medians: Vec<f64> = hosts.iter().map(|runs| median(runs.clone()).unwrap_or(f64::NAN)).collect();
    let pairs = hosts.iter().zip(&medians);
    let within = pairs.flat_map(|(runs, own)| runs.iter().map(move |ns| (ns / own - 1.0).abs())).collect();
    let level = Level::from_values(medians.clone());
    Spread {
        case,
        group,
        median_ns: level.median,
        between_hosts: MAD_TO_DEVIATION * level.mad,
        within_hosts: MAD_TO_DEVIATION * mad(within),
        least_ratio: medians.iter().copied().fold(f64::INFINITY, f64::min) / level.median,
        largest_ratio: medians.iter().copied().fold(f64::NEG_INFINITY, f64::max) / level.median,
        hosts: hosts.len(),
        runs: hosts.iter().map(Vec::len).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{columns, fleet};
    use super::*;

    #[test]
    fn scatter_between_hosts_is_not_that_within() {
        let ns = |host: usize, day: i64| (98.0 + host as f64) * (1.0 + 0.1 * (day - 1) as f64);
        let found = spread(&fleet(5, 3, ns, |_, _| "6.1"), &columns(&["cpu"]));
        let one = &found[0];
        assert_eq!((found.len(), one.hosts, one.runs, one.median_ns), (1, 5, 15, 100.0));
        assert!((one.between_hosts - 0.014826).abs() < 1e-9 && (one.within_hosts - 0.14826).abs() < 1e-9, "{one:?}");
        assert_eq!((one.least_ratio, one.largest_ratio), (0.98, 1.02));
    }
}
