//! When the cost of a case changed: `fleet/sql/since.sql`. Days are UTC.

use super::{CaseName, FEWEST_DAYS, Group, Level, MEDIAN_ERROR, Observation, grouped, is_change, mad, scale};
use crate::stats::median;
use std::collections::BTreeMap;
use std::sync::Arc;

const DAY_S: i64 = 86_400;
/// Days on either side of a change.
const FEWEST_ON_A_SIDE: usize = 3;

/// A case that has cost something else since a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Since {
    pub case: Arc<CaseName>,
    pub group: Vec<String>,
    /// Start of the first day after the change.
    pub since_unix_s: i64,
    /// Days after to days before, by their medians.
    pub ratio: f64,
    /// Standard errors between the ratio and 1.
    pub deviations: f64,
    pub days: usize,
}

/// What a group cost on one day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Day {
    /// Days since 1970.
    pub day: i64,
    /// Median over the runs, each divided by the median of its host.
    pub level: f64,
    pub runs: usize,
}

/// The days of each group, in order.
pub fn days(all: &[Observation], columns: &[String]) -> BTreeMap<Group, Vec<Day>> {
    let timed = all.iter().filter_map(|one| Some((one, one.started_unix_s?.div_euclid(DAY_S))));
    let hosts = grouped(timed.map(|(one, day)| ((one.group(columns), &one.place.host), (day, one.ns))));
    let relative = hosts.into_iter().flat_map(|((group, _), runs)| {
        let usual = median(runs.iter().map(|(_, ns)| *ns).collect()).unwrap_or(f64::NAN);
        runs.into_iter().map(move |(day, ns)| ((group.clone(), day), ns / usual)).collect::<Vec<_>>()
    });
    grouped(grouped(relative).into_iter().map(|((group, day), levels)| {
        let runs = levels.len();
        (group, Day { day, level: Level::from_values(levels).median, runs })
    }))
}

/// The change of each group, largest first; `columns` are what hosts of a group have in common.
pub fn since(all: &[Observation], columns: &[String]) -> Vec<Since> {
    let mut found: Vec<Since> =
        days(all, columns).into_iter().filter_map(|(group, days)| change(group, &days)).collect();
    found.sort_by(|a, b| {
        let size = (b.ratio - 1.0).abs().total_cmp(&(a.ratio - 1.0).abs());
        size.then_with(|| (&a.case, &a.group).cmp(&(&b.case, &b.group)))
    });
    found
}

/// How many days are before the change: the sum of distances from the mean is farthest from zero there.
fn days_before(days: &[Day]) -> usize {
    let mean = days.iter().map(|day| day.level).sum::<f64>() / days.len() as f64;
    let mut sum = 0.0;
    let sums = days.iter().map(|day| {
        sum += day.level - mean;
        f64::abs(sum)
    });
    let inside = sums.enumerate().take(days.len() - FEWEST_ON_A_SIDE).skip(FEWEST_ON_A_SIDE - 1);
    let farthest = inside.fold((0, f64::NEG_INFINITY), |best, (i, sum)| if sum > best.1 { (i, sum) } else { best });
    farthest.0 + 1
}

fn change((case, group): Group, days: &[Day]) -> Option<Since> {
    if days.len() < FEWEST_DAYS {
        return None;
    }
    let (before, after) = days.split_at(days_before(days));
    let level = |days: &[Day]| Level::from_values(days.iter().map(|day| day.level).collect()).median;
    let (old, new) = (level(before), level(after));
    let around =
        |days: &[Day], level: f64| days.iter().map(|day| (day.level / level - 1.0).abs()).collect::<Vec<f64>>();
    let deviations = [around(before, old), around(after, new)].concat();
    let error = scale(mad(deviations)) * MEDIAN_ERROR * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
    let ratio = new / old;
    let since_unix_s = after.first()?.day * DAY_S;
    let (deviations, count) = ((ratio - 1.0) / error, days.len());
    is_change(ratio - 1.0, error, count).then_some(Since { case, group, since_unix_s, ratio, deviations, days: count })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{columns, fleet, noise};
    use super::*;

    #[test]
    fn a_change_is_found_on_its_day_though_hosts_differ() {
        let ns = |host, day| (100.0 + 50.0 * host as f64) * noise(host, day) * if day >= 12 { 1.2 } else { 1.0 };
        let found = since(&fleet(6, 30, ns, |_, _| "6.1"), &columns(&["cpu"]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].since_unix_s, found[0].days), (12 * 86_400, 30));
        assert!((found[0].ratio - 1.2).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn without_a_change_or_with_few_days_there_is_none() {
        let ns = |host, day| 100.0 * noise(host, day);
        assert_eq!(since(&fleet(6, 30, ns, |_, _| "6.1"), &columns(&["cpu"])), []);
        let step = |_, day| if day >= 5 { 200.0 } else { 100.0 };
        assert_eq!(since(&fleet(6, 9, step, |_, _| "6.1"), &columns(&["cpu"])), []);
        assert_eq!(since(&fleet(6, 10, step, |_, _| "6.1"), &columns(&["cpu"])).len(), 1);
    }

    #[test]
    fn days_are_relative_to_each_host() {
        let ns = |host, _| 100.0 * (host + 1) as f64;
        let all = days(&fleet(5, 2, ns, |_, _| "6.1"), &columns(&["cpu"]));
        let days: Vec<Day> = all.into_values().flatten().collect();
        assert_eq!(days, [Day { day: 0, level: 1.0, runs: 5 }, Day { day: 1, level: 1.0, runs: 5 }]);
    }
}
