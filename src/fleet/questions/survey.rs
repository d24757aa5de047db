//! Everything that one page says about the runs of many hosts. Called by `syscost report DIR`.

use super::{
    CaseName, Day, Group, Observation, Outlier, Since, Spread, Upgrade, days, outliers, since, spread, upgrades,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub struct Survey {
    /// What hosts of a group of the heat map have in common.
    pub columns: Vec<String>,
    pub hosts: usize,
    /// Starts of the first and the last run; `None` if unknown.
    pub span_unix_s: Option<(i64, i64)>,
    /// Groups of the heat map, most hosts first.
    pub groups: Vec<HostGroup>,
    pub cases: Vec<HeatRow>,
    /// By processor and kernel.
    pub outliers: Vec<Outlier>,
    /// The most hosts that have processor and kernel in common.
    pub most_alike: usize,
    /// By processor.
    pub upgrades: Vec<Upgrade>,
    pub since: Vec<Since>,
    pub days: BTreeMap<Group, Vec<Day>>,
}

/// A column of the heat map.
pub struct HostGroup {
    /// The values of the columns; empty where unknown.
    pub values: Vec<String>,
    pub hosts: usize,
}

pub struct HeatRow {
    pub case: Arc<CaseName>,
    /// Median of all hosts' medians.
    pub median_ns: f64,
    /// The group's median to that of all hosts, in the order of the groups; `None` if no host of it ran the case.
    pub ratios: Vec<Option<f64>>,
}

pub fn survey(all: &[Observation], columns: &[String]) -> Survey {
    let (alike, cpu) = (["cpu".to_string(), "kernel".to_string()], ["cpu".to_string()]);
    let spreads = spread(all, columns);
    let groups = groups(&spreads);
    let starts = || all.iter().filter_map(|one| one.started_unix_s);
    Survey {
        columns: columns.to_vec(),
        hosts: all.iter().map(|one| one.place.host.as_str()).collect::<BTreeSet<&str>>().len(),
        span_unix_s: starts().min().zip(starts().max()),
        cases: heat(&spreads, &spread(all, &[]), &groups),
        groups,
        outliers: outliers(all, &alike),
        most_alike: spread(all, &alike).iter().map(|one| one.hosts).max().unwrap_or(0),
        upgrades: upgrades(all, &cpu),
        since: since(all, &cpu),
        days: days(all, &cpu),
    }
}

fn groups(spreads: &[Spread]) -> Vec<HostGroup> {
    let mut hosts: BTreeMap<&[String], usize> = BTreeMap::new();
    for one in spreads {
        let most = hosts.entry(&one.group).or_default();
        *most = one.hosts.max(*most);
    }
    let group = |(values, hosts): (&[String], usize)| HostGroup { values: values.to_vec(), hosts };
    let mut groups: Vec<HostGroup> = hosts.into_iter().map(group).collect();
    groups.sort_by(|a, b| b.hosts.cmp(&a.hosts).then_with(|| a.values.cmp(&b.values)));
    groups
}

/// `spreads` are by group, `all` over all hosts.
fn heat(spreads: &[Spread], all: &[Spread], groups: &[HostGroup]) -> Vec<HeatRow> {
    let place: BTreeMap<&[String], usize> =
        groups.iter().enumerate().map(|(i, group)| (&group.values[..], i)).collect();
    let mut medians: BTreeMap<&CaseName, Vec<Option<f64>>> = BTreeMap::new();
    for one in spreads {
        let row = medians.entry(&one.case).or_insert_with(|| vec![None; groups.len()]);
        row[place[&one.group[..]]] = Some(one.median_ns);
    }
    let row = |whole: &Spread| {
        let medians = medians.remove(&*whole.case).unwrap_or_default();
        let ratios = medians.into_iter().map(|ns| Some(ns? / whole.median_ns)).collect();
        HeatRow { case: whole.case.clone(), median_ns: whole.median_ns, ratios }
    };
    all.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{columns, fleet, noise};
    use super::*;

    #[test]
    fn groups_are_columns_with_ratios_to_all_hosts() {
        let kernel = |host: usize, _| if host < 20 { "6.1" } else { "6.12" };
        let ns = |host, day| 100.0 * noise(host, day) * if host < 20 { 1.0 } else { 1.5 };
        let found = survey(&fleet(30, 12, ns, kernel), &columns(&["kernel"]));
        let groups: Vec<(&str, usize)> = found.groups.iter().map(|g| (g.values[0].as_str(), g.hosts)).collect();
        assert_eq!(groups, [("6.1", 20), ("6.12", 10)]);
        assert_eq!((found.hosts, found.most_alike, found.cases.len()), (30, 20, 1));
        assert_eq!(found.span_unix_s, Some((60, 11 * 86_400 + 60)));
        let ratios: Vec<f64> = found.cases[0].ratios.iter().map(|ratio| ratio.unwrap()).collect();
        assert!((ratios[0] - 1.0).abs() < 0.01 && (ratios[1] - 1.5).abs() < 0.02, "{ratios:?}");
    }

    #[test]
    fn nothing_makes_an_empty_survey() {
        let found = survey(&[], &columns(&["cpu"]));
        assert_eq!((found.hosts, found.groups.len(), found.cases.len(), found.span_unix_s), (0, 0, 0, None));
    }
}
