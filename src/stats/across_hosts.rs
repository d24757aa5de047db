//! Where the costs of many hosts changed for good, from all their runs in the order of time. Called by `compare::history`.
//!
//! Hosts differ from each other by more than the runs of one host do, and they need not be measured equally often, nor at the
//! same times. A run is taken to be level(time) + what its host differs by + noise. The two variances come from the data, and
//! with them each run is moved towards its host's mean, so that all runs have the same noise and those of one host no longer go
//! together (P. Balestra and M. Nerlove, Pooling Cross Section and Time Series Data in the Estimation of a Dynamic Model, 1966:
//! generalised least squares). What is left is exchangeable between two changes, as `change_points` needs. A host with one run
//! counts as one draw of all hosts; one with many counts by how it differs from itself.
//!
//! Rejected: subtracting each host's mean, which hides a change from hosts that were measured on one side of it only; and no
//! correction, which takes a new pool of slower hosts for a change.

use super::change_points::{FEWEST_RUNS, change_points};
use super::{median, moments};
use std::collections::BTreeMap;

/// Runs are searched as the medians of at most this many groups of consecutive ones: the window of `change_points`.
const GROUPS: usize = 64;
/// Median absolute deviation to standard deviation, for normal noise.
pub const MAD_TO_DEVIATION: f64 = 1.4826;
/// With fewer hosts their scatter is their standard deviation: a median of few is chance.
const FEWEST_FOR_MAD: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRun {
    /// Any number that distinguishes hosts.
    pub host: usize,
    /// The logarithm of its cost.
    pub ln: f64,
}

/// Standard deviations on the log scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostScatter {
    /// Of the runs of one host; `None` if no host has two.
    pub within: Option<f64>,
    /// Of hosts, without that of their runs; `None` if no host has two runs, when the two cannot be distinguished.
    pub between: Option<f64>,
}

/// How hosts and their runs scatter, whatever the level did in between: runs of one host by the steps between neighbours.
pub fn host_scatter(runs: &[HostRun]) -> HostScatter {
    let hosts = by_host(runs);
    let steps: Vec<f64> = hosts.values().flat_map(|own| own.windows(2).map(|pair| (pair[1] - pair[0]).abs())).collect();
    let Some(step) = median(steps) else { return HostScatter::default() };
    let within = MAD_TO_DEVIATION * step / 2f64.sqrt();
    let means: Vec<f64> = hosts.values().map(|own| mean(own)).collect();
    let of_mean = hosts.values().map(|own| 1.0 / own.len() as f64).sum::<f64>() / hosts.len() as f64;
    let between = (deviation(&means).powi(2) - within.powi(2) * of_mean).max(0.0).sqrt();
    HostScatter { within: Some(within), between: Some(between) }
}

/// The indices at which a new state begins, ascending; none of fewer than [`FEWEST_RUNS`] runs. Runs are in the order of time.
pub fn change_points_across(runs: &[HostRun]) -> Vec<usize> {
    if runs.len() < FEWEST_RUNS || runs.iter().any(|run| !run.ln.is_finite()) {
        return Vec::new();
    }
    let series = exchangeable(runs);
    let size = series.len().div_ceil(GROUPS);
    let groups: Vec<f64> = series.chunks(size).filter_map(|group| median(group.to_vec())).collect();
    let found: Vec<usize> = change_points(&groups).into_iter().map(|group| group * size).collect();
    (0..found.len()).map(|i| sharpened(&series, &found, i, size)).collect()
}

/// Each run without what it shares with the other runs of its host, as far as that is known.
fn exchangeable(runs: &[HostRun]) -> Vec<f64> {
    let HostScatter { within: Some(within), between: Some(between) } = host_scatter(runs) else {
        return runs.iter().map(|run| run.ln).collect();
    };
    let hosts = by_host(runs);
    let usual = median(hosts.values().map(|own| mean(own)).collect()).unwrap_or(0.0);
    let moved = |own: &Vec<f64>| (mean(own) - usual) * (1.0 - kept(own.len(), within, between));
    let moved: BTreeMap<usize, f64> = hosts.iter().map(|(host, own)| (*host, moved(own))).collect();
    runs.iter().map(|run| run.ln - usual - moved[&run.host]).collect()
}

/// The share of its host's difference that each of `runs` keeps.
fn kept(runs: usize, within: f64, between: f64) -> f64 {
    let (within, between) = (within.powi(2), between.powi(2));
    let all = within + runs as f64 * between;
    if all > 0.0 { (within / all).sqrt() } else { 1.0 }
}

/// `found[i]` moved to where the states on its sides differ most, by at most a group.
fn sharpened(series: &[f64], found: &[usize], i: usize, size: usize) -> usize {
    let at = found[i];
    let start = if i == 0 { 0 } else { found[i - 1] };
    let end = found.get(i + 1).copied().unwrap_or(series.len());
    let apart = |at: usize| {
        let (before, after) = (&series[start..at], &series[at..end]);
        let weight = before.len() as f64 * after.len() as f64 / (before.len() + after.len()) as f64;
        weight * (mean(after) - mean(before)).powi(2)
    };
    let places = at.saturating_sub(size).max(start + 1)..=(at + size).min(end.saturating_sub(1));
    if size == 1 { at } else { places.max_by(|a, b| apart(*a).total_cmp(&apart(*b))).unwrap_or(at) }
}

/// How much the logarithm changed between two states: the mean of what hosts with runs in both changed by themselves, and of
/// how the other hosts of the two differ, by their precision. `None` if one has no run.
pub fn change_across(before: &[HostRun], after: &[HostRun]) -> Option<f64> {
    let (old, new) = (by_host(before), by_host(after));
    let all = host_scatter(&[before, after].concat());
    let (within, between) = (all.within.unwrap_or(1.0).powi(2), all.between.unwrap_or(0.0).powi(2));
    let both: Vec<(f64, f64)> = old
        .iter()
        .filter_map(|(host, old)| Some((old, new.get(host)?)))
        .map(|(old, new)| (mean(new) - mean(old), 1.0 / (1.0 / old.len() as f64 + 1.0 / new.len() as f64)))
        .collect();
    let only = |own: &BTreeMap<usize, Vec<f64>>, other: &BTreeMap<usize, Vec<f64>>| {
        own.iter().filter(|(host, _)| !other.contains_key(host)).map(|(_, own)| mean(own)).collect::<Vec<f64>>()
    };
    let (only_old, only_new) = (only(&old, &new), only(&new, &old));
    let paired = median(both.iter().map(|(change, _)| *change).collect())
        .map(|change| (change, both.iter().map(|(_, runs)| runs).sum::<f64>() / within.max(f64::MIN_POSITIVE)));
    let spread = (within + between).max(f64::MIN_POSITIVE);
    let hosts = (only_old.len() as f64, only_new.len() as f64);
    let unpaired = median(only_new).zip(median(only_old));
    let unpaired = unpaired.map(|(new, old)| (new - old, hosts.0 * hosts.1 / (hosts.0 + hosts.1) / spread));
    let parts: Vec<(f64, f64)> = paired.into_iter().chain(unpaired).collect();
    let weight: f64 = parts.iter().map(|(_, weight)| weight).sum();
    (weight > 0.0).then(|| parts.iter().map(|(change, weight)| change * weight).sum::<f64>() / weight)
}

fn by_host(runs: &[HostRun]) -> BTreeMap<usize, Vec<f64>> {
    let mut hosts: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    runs.iter().for_each(|run| hosts.entry(run.host).or_default().push(run.ln));
    hosts
}

fn mean(values: &[f64]) -> f64 {
    moments(values).0
}

fn deviation(values: &[f64]) -> f64 {
    let Some(middle) = median(values.to_vec()) else { return 0.0 };
    if values.len() >= FEWEST_FOR_MAD {
        return MAD_TO_DEVIATION * median(values.iter().map(|value| (value - middle).abs()).collect()).unwrap_or(0.0);
    }
    (moments(values).1 / values.len().saturating_sub(1).max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// A fleet: hosts that differ by 5%, runs by 1%, in the order of time; from the middle on everything costs `change` more.
    fn fleet(hosts: usize, each: usize, in_turn: bool, change: f64, seed: u64) -> Vec<HostRun> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut noise = |deviation: f64| deviation * ((0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0);
        let own: Vec<f64> = (0..hosts).map(|_| noise(0.05)).collect();
        let total = hosts * each;
        let host = |run: usize| if in_turn { run / each } else { run % hosts };
        let level = |run: usize| if 2 * run >= total { change.ln_1p() } else { 0.0 };
        (0..total).map(|run| HostRun { host: host(run), ln: level(run) + own[host(run)] + noise(0.01) }).collect()
    }

    #[test]
    fn hosts_that_differ_are_no_change() {
        // Hosts measured one after the other: each of them is a level of its own.
        let alarms = (0..40).filter(|seed| !change_points_across(&fleet(6, 10, true, 0.0, *seed)).is_empty()).count();
        assert!(alarms <= 2, "{alarms} of 40");
        let naive = |seed| change_points(&fleet(6, 10, true, 0.0, seed).iter().map(|run| run.ln).collect::<Vec<_>>());
        assert!(
            (0..40).filter(|seed| !naive(*seed).is_empty()).count() > 30,
            "which is what they are without their hosts"
        );
    }

    #[test]
    fn hosts_that_are_measured_again_show_small_changes() {
        let mut others = 0;
        for seed in 0..10 {
            let runs = fleet(20, 10, false, 0.02, seed);
            let found = change_points_across(&runs);
            let at = found.iter().copied().find(|at| at.abs_diff(100) <= 12).unwrap_or_else(|| panic!("{found:?}"));
            let change = change_across(&runs[..at], &runs[at..]).unwrap();
            assert!((change - 0.0198).abs() < 0.006, "{change}");
            others += found.len() - 1;
        }
        assert!(others <= 1, "{others} that are none");
    }

    #[test]
    fn one_run_of_each_host_is_enough_where_there_are_many() {
        let runs = fleet(400, 1, false, 0.05, 1);
        let found = change_points_across(&runs);
        assert!(found.len() == 1 && found[0].abs_diff(200) <= 30, "{found:?}");
        let change = change_across(&runs[..200], &runs[200..]).unwrap();
        assert!((change - 0.0488).abs() < 0.02, "{change}");
        assert_eq!(host_scatter(&runs), HostScatter::default());
    }

    #[test]
    fn scatter_within_and_between_hosts_is_separated() {
        let found = host_scatter(&fleet(100, 10, false, 0.1, 3));
        let (within, between) = (found.within.unwrap(), found.between.unwrap());
        assert!((0.008..0.014).contains(&within) && (0.03..0.07).contains(&between), "{within} {between}");
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert!(change_points_across(&[]).is_empty() && change_across(&[], &[]).is_none());
        let equal = vec![HostRun { host: 1, ln: 3.0 }; 30];
        assert!(change_points_across(&equal).is_empty());
    }
}
