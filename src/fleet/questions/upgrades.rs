//! Kernel upgrades that changed the cost of a case: `fleet/sql/upgrades.sql`.

use super::{CaseName, FEWEST_UPGRADED, Group, MEDIAN_ERROR, Observation, grouped, is_change, mad, scale};
use crate::stats::median;
use std::sync::Arc;

/// A case whose cost changed with the next kernel of the same hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Upgrade {
    pub case: Arc<CaseName>,
    pub group: Vec<String>,
    pub kernel_from: String,
    pub kernel_to: String,
    /// Median over the hosts of new to old.
    pub ratio: f64,
    /// Standard errors of the median between it and 1.
    pub deviations: f64,
    /// Hosts that ran both.
    pub hosts: usize,
    /// Start of the first run on the new kernel.
    pub since_unix_s: i64,
}

/// The upgrades, largest changes first; `columns` are what hosts of a group have in common, without the kernel.
pub fn upgrades(all: &[Observation], columns: &[String]) -> Vec<Upgrade> {
    let changes = steps(all, columns).into_iter().filter_map(|(transition, steps)| upgrade(transition, &steps));
    let mut found: Vec<Upgrade> = changes.collect();
    found.sort_by(|a, b| {
        let size = (b.ratio - 1.0).abs().total_cmp(&(a.ratio - 1.0).abs());
        let key = |one: &Upgrade| (one.case.clone(), one.group.clone(), one.kernel_from.clone(), one.kernel_to.clone());
        size.then_with(|| key(a).cmp(&key(b)))
    });
    found
}

/// One host's step from a kernel to the next.
struct Step {
    change: f64,
    since_unix_s: i64,
}

struct OnKernel {
    first_s: i64,
    kernel: String,
    ns: f64,
}

/// A group, and the kernels before and after.
type Transition = (Group, String, String);

/// Every host's steps. The order of its kernels is that of their first runs.
fn steps(all: &[Observation], columns: &[String]) -> Vec<(Transition, Vec<Step>)> {
    let timed = all.iter().filter_map(|one| Some((one, one.started_unix_s?, one.place.columns.get("kernel")?)));
    let runs =
        grouped(timed.map(|(one, start, kernel)| ((one.group(columns), &one.place.host, kernel), (start, one.ns))));
    let hosts = grouped(runs.into_iter().map(|((group, host, kernel), runs)| {
        let first_s = runs.iter().map(|(start, _)| *start).min().unwrap_or_default();
        let ns = median(runs.iter().map(|(_, ns)| *ns).collect()).unwrap_or(f64::NAN);
        ((group, host), OnKernel { first_s, kernel: kernel.clone(), ns })
    }));
    let steps = hosts.into_iter().flat_map(|((group, _), mut kernels)| {
        kernels.sort_by(|a, b| (a.first_s, &a.kernel).cmp(&(b.first_s, &b.kernel)));
        let step = |pair: &[OnKernel]| {
            let step = Step { change: pair[1].ns / pair[0].ns, since_unix_s: pair[1].first_s };
            ((group.clone(), pair[0].kernel.clone(), pair[1].kernel.clone()), step)
        };
        kernels.windows(2).map(step).collect::<Vec<_>>()
    });
    grouped(steps).into_iter().collect()
}

fn upgrade(((case, group), kernel_from, kernel_to): Transition, steps: &[Step]) -> Option<Upgrade> {
    let ratio = median(steps.iter().map(|step| step.change).collect())?;
    let deviations = steps.iter().map(|step| (step.change - ratio).abs()).collect();
    let error = scale(mad(deviations)) * MEDIAN_ERROR / (steps.len() as f64).sqrt();
    let is_seen = steps.len() >= FEWEST_UPGRADED && is_change(ratio - 1.0, error, steps.len());
    let since_unix_s = steps.iter().map(|step| step.since_unix_s).min()?;
    let deviations = (ratio - 1.0) / error;
    let hosts = steps.len();
    is_seen.then_some(Upgrade { case, group, kernel_from, kernel_to, ratio, deviations, hosts, since_unix_s })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{columns, fleet, noise};
    use super::*;

    fn kernel(host: usize, day: i64) -> &'static str {
        if day >= 10 + host as i64 % 3 { "6.12" } else { "6.1" }
    }

    #[test]
    fn an_upgrade_is_found_with_its_kernels_hosts_and_first_day() {
        let ns = |host, day| 100.0 * noise(host, day) * if kernel(host, day) == "6.12" { 1.2 } else { 1.0 };
        let found = upgrades(&fleet(12, 30, ns, kernel), &columns(&["cpu"]));
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        assert_eq!((one.kernel_from.as_str(), one.kernel_to.as_str(), one.hosts), ("6.1", "6.12", 12));
        assert_eq!(one.since_unix_s, 10 * 86_400 + 60);
        assert!((one.ratio - 1.2).abs() < 0.01, "{one:?}");
    }

    #[test]
    fn an_upgrade_that_changes_nothing_is_not_one() {
        let ns = |host, day| 100.0 * noise(host, day);
        assert_eq!(upgrades(&fleet(12, 30, ns, kernel), &columns(&["cpu"])), []);
    }

    #[test]
    fn fewer_than_ten_hosts_are_too_few() {
        let ns = |host, day| if kernel(host, day) == "6.12" { 300.0 } else { 100.0 };
        assert_eq!(upgrades(&fleet(9, 30, ns, kernel), &columns(&["cpu"])), []);
        assert_eq!(upgrades(&fleet(10, 30, ns, kernel), &columns(&["cpu"])).len(), 1);
    }
}
