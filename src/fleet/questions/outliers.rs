//! Hosts whose cost is far from that of the others in their group: `fleet/sql/outliers.sql`.

use super::{CaseName, FEWEST_HOSTS, Group, HostCost, Level, Observation, host_costs, is_change};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A case whose cost on one host is far from that on its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    pub case: Arc<CaseName>,
    pub group: Vec<String>,
    pub host: String,
    /// Medians of the host and of the group.
    pub host_ns: f64,
    pub group_ns: f64,
    pub ratio: f64,
    /// Standard deviations between hosts; negative if the host is cheaper.
    pub deviations: f64,
    pub hosts: usize,
    pub runs: usize,
    /// How often the host is an outlier, over all cases and groups.
    pub flagged_cases: usize,
}

/// The outliers, hosts with most of them first; `columns` are what hosts of a group have in common.
pub fn outliers(all: &[Observation], columns: &[String]) -> Vec<Outlier> {
    let costs = host_costs(all, columns);
    let mut found: Vec<Outlier> = costs.into_iter().flat_map(|(group, hosts)| of_group(&group, hosts)).collect();
    let mut flagged: BTreeMap<String, usize> = BTreeMap::new();
    found.iter().for_each(|one| *flagged.entry(one.host.clone()).or_default() += 1);
    found.iter_mut().for_each(|one| one.flagged_cases = flagged[&one.host]);
    found.sort_by(|a, b| {
        let first = b.flagged_cases.cmp(&a.flagged_cases).then_with(|| a.host.cmp(&b.host));
        first.then_with(|| b.deviations.abs().total_cmp(&a.deviations.abs())).then_with(|| a.case.cmp(&b.case))
    });
    found
}

fn of_group((case, group): &Group, hosts: Vec<HostCost>) -> Vec<Outlier> {
    let (level, count) = (Level::from_values(hosts.iter().map(|host| host.ns).collect()), hosts.len());
    if count < FEWEST_HOSTS {
        return Vec::new();
    }
    let outlier = |host: HostCost| {
        let ratio = host.ns / level.median;
        let is_far = is_change(ratio - 1.0, level.scale(), count);
        is_far.then(|| Outlier {
            case: case.clone(),
            group: group.clone(),
            host: host.host,
            host_ns: host.ns,
            group_ns: level.median,
            ratio,
            deviations: (ratio - 1.0) / level.scale(),
            hosts: count,
            runs: host.runs,
            flagged_cases: 0,
        })
    };
    hosts.into_iter().filter_map(outlier).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{columns, fleet, noise};
    use super::*;

    #[test]
    fn a_host_that_costs_a_fifth_more_is_found_and_no_other() {
        let slow = |host, day| 100.0 * noise(host, day) * if host == 3 { 1.2 } else { 1.0 };
        let found = outliers(&fleet(30, 5, slow, |_, _| "6.1"), &columns(&["cpu", "kernel"]));
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        assert_eq!((one.host.as_str(), one.hosts, one.runs, one.flagged_cases), ("n03", 30, 5, 1));
        assert_eq!(one.group, ["x", "6.1"]);
        assert!((one.ratio - 1.2).abs() < 0.02 && one.deviations > 10.0, "{one:?}");
    }

    #[test]
    fn few_hosts_have_no_outliers() {
        let slow = |host, _| if host == 3 { 900.0 } else { 100.0 };
        assert_eq!(outliers(&fleet(9, 5, slow, |_, _| "6.1"), &columns(&["cpu"])), []);
        assert_eq!(outliers(&fleet(10, 5, slow, |_, _| "6.1"), &columns(&["cpu"])).len(), 1);
        assert_eq!(outliers(&[], &columns(&["cpu"])), []);
    }
}
