//! What the runs of many hosts say: which hosts are outliers, which kernel upgrade changed a cost, since when, and how far costs
//! scatter. The definitions are those of the SQL in `fleet/sql`, which engines run where there are more rows than fit here;
//! tests/files/fleet_sql.rs holds both to the same answers.
//!
//! Pure. Called by `syscost report` on a directory. Comparing a few runs with intervals is `compare`.

mod outliers;
mod since;
mod spread;
mod survey;
mod upgrades;

pub use outliers::{Outlier, outliers};
pub use since::{Day, Since, days, since};
pub use spread::{Spread, spread};
pub use survey::{HeatRow, HostGroup, Survey, survey};
pub use upgrades::{Upgrade, upgrades};

use crate::stats::median;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Median absolute deviation to standard deviation, for normal noise.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// A change that is called one differs from 1 by at least this.
pub const LEAST_CHANGE: f64 = 0.05;
/// No scatter is taken to be less than this share of the cost: clocks and batches do not repeat better.
pub const LEAST_SCALE: f64 = 0.005;
/// How many standard deviations are far, with very many hosts. With `DEVIATIONS + SMALL_GROUPS / count` about 1 group of
/// 178 unchanged cases in 20 has one that is called far, whatever its size (bench/fleet verdicts).
pub const DEVIATIONS: f64 = 5.5;
pub const SMALL_GROUPS: f64 = 80.0;
/// Hosts that a group needs for outliers.
pub const FEWEST_HOSTS: usize = 10;
/// Hosts that must have taken an upgrade: the MAD of fewer is too often small by chance.
pub const FEWEST_UPGRADED: usize = 10;
/// Days that a change in time needs.
pub const FEWEST_DAYS: usize = 10;

/// The standard error of a median is this times that of a mean, sqrt(pi / 2).
const MEDIAN_ERROR: f64 = 1.2533;

/// What was measured, the same on every host.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaseName {
    pub operation: String,
    pub params: String,
    pub environment: String,
    pub language: String,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    pub host: String,
    /// Columns of rows that hosts are grouped by: `cpu`, `kernel`, `label_pool`. What is not known is missing.
    pub columns: BTreeMap<String, String>,
}

/// A case of one run: its cost in nanoseconds, positive.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub case: Arc<CaseName>,
    pub place: Arc<Origin>,
    pub started_unix_s: Option<i64>,
    pub ns: f64,
}

impl Origin {
    /// The value of `column`; empty if it is not known.
    pub fn column(&self, column: &str) -> &str {
        match column {
            "host" => &self.host,
            _ => self.columns.get(column).map_or("", String::as_str),
        }
    }
}

impl Observation {
    /// The case and the values of `columns`.
    pub fn group(&self, columns: &[String]) -> Group {
        (self.case.clone(), columns.iter().map(|column| self.place.column(column).to_string()).collect())
    }
}

/// The hosts of one case that are compared with each other: the case, and what they have in common.
pub type Group = (Arc<CaseName>, Vec<String>);

/// Where values are, and how far they scatter relative to that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    median: f64,
    /// Median of the absolute deviations from the median, divided by it.
    mad: f64,
}

impl Level {
    /// Of `values`, which are positive; NaN without any.
    fn from_values(values: Vec<f64>) -> Level {
        let centre = median(values.clone()).unwrap_or(f64::NAN);
        Level { median: centre, mad: mad(values.iter().map(|value| (value / centre - 1.0).abs()).collect()) }
    }

    /// The standard deviation relative to the median, at least the least that is believed.
    fn scale(&self) -> f64 {
        scale(self.mad)
    }
}

/// The middle of absolute deviations.
fn mad(deviations: Vec<f64>) -> f64 {
    median(deviations).unwrap_or(f64::NAN)
}

/// The standard deviation for a MAD, at least the least that is believed.
fn scale(mad: f64) -> f64 {
    (MAD_TO_DEVIATION * mad).max(LEAST_SCALE)
}

/// Whether `relative`, a difference from 1, is a change: large enough, and far beyond `error` as `count` values estimate it.
fn is_change(relative: f64, error: f64, count: usize) -> bool {
    relative.abs() >= LEAST_CHANGE && relative.abs() >= error * (DEVIATIONS + SMALL_GROUPS / count as f64)
}

fn grouped<K: Ord, T>(items: impl IntoIterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut found: BTreeMap<K, Vec<T>> = BTreeMap::new();
    items.into_iter().for_each(|(key, item)| found.entry(key).or_default().push(item));
    found
}

struct HostCost {
    host: String,
    ns: f64,
    runs: usize,
}

/// The median of each host, by group.
fn host_costs(all: &[Observation], columns: &[String]) -> BTreeMap<Group, Vec<HostCost>> {
    let runs = grouped(all.iter().map(|one| ((one.group(columns), one.place.host.as_str()), one.ns)));
    grouped(runs.into_iter().map(|((group, host), ns)| {
        let runs = ns.len();
        (group, HostCost { host: host.to_string(), ns: Level::from_values(ns).median, runs })
    }))
}

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
            let place = Arc::new(Origin { host: format!("n{host:02}"), columns: columns.into() });
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
