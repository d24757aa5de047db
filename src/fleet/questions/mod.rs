//! What the runs of many hosts say: which hosts are outliers, which kernel upgrade changed a cost, since when, and how far costs
//! scatter. The definitions are those of the SQL in `fleet/sql`, which engines run where there are more rows than fit here;
//! tests/files/fleet_sql.rs holds both to the same answers.
//!
//! Pure. Called by `syscost report` on a directory. Comparing a few runs with intervals is `compare`.

mod level;
mod observation;
mod outliers;
mod since;
mod spread;
mod survey;
mod upgrades;

pub use level::{DEVIATIONS, FEWEST_DAYS, FEWEST_HOSTS, FEWEST_UPGRADED, LEAST_CHANGE, LEAST_SCALE, SMALL_GROUPS};
pub use observation::{CaseName, Observation, Place};
pub use outliers::{Outlier, outliers};
pub use since::{Day, Since, days, since};
pub use spread::{Spread, spread};
pub use survey::{HeatRow, HostGroup, Survey, survey};
pub use upgrades::{Upgrade, upgrades};

use level::{Level, is_change};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The hosts of one case that are compared with each other: the case, and what they have in common.
pub type Group = (Arc<CaseName>, Vec<String>);

/// The values of each key.
fn by<K: Ord, T>(items: impl IntoIterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut found: BTreeMap<K, Vec<T>> = BTreeMap::new();
    items.into_iter().for_each(|(key, item)| found.entry(key).or_default().push(item));
    found
}

/// What `host` costs in a group.
struct HostCost {
    host: String,
    ns: f64,
    runs: usize,
}

/// The median of each host, by group.
fn host_costs(all: &[Observation], columns: &[String]) -> BTreeMap<Group, Vec<HostCost>> {
    let runs = by(all.iter().map(|one| ((one.group(columns), one.place.host.as_str()), one.ns)));
    by(runs.into_iter().map(|((group, host), ns)| {
        let runs = ns.len();
        (group, HostCost { host: host.to_string(), ns: Level::of(ns).median, runs })
    }))
}

/// Fleets for tests.
#[cfg(test)]
pub mod fixtures {
    use super::*;

    /// `count` hosts with one processor; `ns` gives the cost of a host on a day, `kernel` what it runs then.
    pub fn fleet(
        count: usize,
        days: i64,
        ns: impl Fn(usize, i64) -> f64,
        kernel: impl Fn(usize, i64) -> &'static str,
    ) -> Vec<Observation> {
        let case = Arc::new(CaseName { operation: "file.fstat".into(), ..CaseName::default() });
        let one = |host: usize, day: i64| {
            let columns = [("cpu", "x"), ("kernel", kernel(host, day))].map(|(k, v)| (k.to_string(), v.to_string()));
            let place = Arc::new(Place { host: format!("n{host:02}"), columns: columns.into() });
            Observation { case: case.clone(), place, started_unix_s: Some(day * 86_400 + 60), ns: ns(host, day) }
        };
        (0..count).flat_map(|host| (0..days).map(move |day| (host, day))).map(|(host, day)| one(host, day)).collect()
    }

    /// A scatter of about one percent that is the same every time.
    pub fn noise(host: usize, day: i64) -> f64 {
        1.0 + ((host as i64 * 7919 + day * 104_729) % 31 - 15) as f64 / 1500.0
    }

    pub fn columns(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }
}
