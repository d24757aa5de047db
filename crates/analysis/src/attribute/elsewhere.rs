//! The cost of a workload's calls with the unit costs of another machine, kernel, environment or article.
//!
//! Calls x (unit cost there - unit cost here), class by class. Calls that no operation resembles change by their bare crossing, so their
//! line is a lower bound. Changes that unit costs cannot predict are named and left out: waits, and processes, which depend on the program's memory.

use super::costs::{Basis, Costs, Price};
use super::seconds::{added, s};
use super::units::{CREATION, FAMILIES, bare_name, has};
use super::waits;
use indexmap::IndexMap;
use model::{By, CallCount, Profile};
use schemars::JsonSchema;
use serde::Serialize;

/// A workload's calls with other unit costs.
#[derive(Serialize, JsonSchema)]
pub struct Elsewhere {
    /// The unit costs here.
    pub here: String,
    /// The unit costs there.
    pub there: String,
    /// Calls with a unit cost on both sides, the greatest change first.
    pub calls: Vec<Change>,
    /// Bare crossings of the calls without one.
    pub crossings: Option<Change>,
    /// Families of calls, and the bare crossings of all calls: parts of the changes above.
    pub parts: Vec<Change>,
    /// `calls` and `crossings` together, in seconds.
    pub total_s: f64,
    /// Calls whose change is not predicted, the most time first.
    pub left_out: Vec<LeftOut>,
}

/// Calls here and there.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The system call.
    pub name: String,
    /// How many.
    pub calls: u64,
    /// The mean of these calls here.
    pub here_ns: f64,
    /// The same there.
    pub there_ns: f64,
    /// There minus here, in seconds.
    pub change_s: f64,
    /// The operation that prices most of them.
    pub unit: Option<Basis>,
}

#[derive(Serialize, JsonSchema)]
pub struct LeftOut {
    /// The system call.
    pub name: String,
    /// How many.
    pub calls: u64,
    pub why: Unpredicted,
    /// Time in these calls as traced; null if it is not known.
    pub seconds: Option<f64>,
}

/// The reason why a unit cost predicts nothing.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unpredicted {
    /// It waits for a device, another program or the clock.
    Waits,
    /// It creates or ends processes, which depends on their memory.
    Creates,
    /// No operation resembles it on both sides.
    Unpriced,
}

pub fn elsewhere(profile: &Profile, here: &Costs, there: &Costs) -> Elsewhere {
    let mut classes: IndexMap<String, Vec<Change>> = IndexMap::new();
    let mut unpriced: IndexMap<String, CallCount> = IndexMap::new();
    for total in profile.totals(By::Class) {
        let count = total.count;
        let changes = classes.entry(count.call.clone()).or_default();
        match prices(&count, here, there) {
            Some((a, b)) => changes.push(Change {
                unit: Some(a.basis),
                ..change("", count.calls, (a.ns, b.ns))
            }),
            None => unpriced.entry(count.call.clone()).or_default().add(&count),
        }
    }
    let mut calls: Vec<Change> = classes
        .iter()
        .filter_map(|(name, changes)| merged(name, changes))
        .collect();
    calls.sort_by(|a, b| b.change_s.abs().total_cmp(&a.change_s.abs()));
    let null_calls = here.null_calls(there);
    let unpriced_calls = added(unpriced.values().map(|count| count.calls));
    let others = crossings("other calls, bare", unpriced_calls, null_calls);
    let mut parts: Vec<Change> = FAMILIES
        .iter()
        .filter_map(|(name, names)| {
            let members = calls
                .iter()
                .filter(|change| has(names, bare_name(&change.name)));
            Some(Change {
                unit: None,
                ..merged(name, members)?
            })
        })
        .collect();
    parts.extend(crossings(
        "the bare calls",
        profile.all_calls().calls,
        null_calls,
    ));
    let total_s = calls
        .iter()
        .chain(&others)
        .map(|change| change.change_s)
        .sum();
    Elsewhere {
        here: here.label.clone(),
        there: there.label.clone(),
        calls,
        crossings: others,
        parts,
        total_s,
        left_out: left_out(profile, unpriced),
    }
}

fn crossings(name: &str, calls: u64, null_calls: Option<(f64, f64)>) -> Option<Change> {
    if calls > 0 {
        Some(change(name, calls, null_calls?))
    } else {
        None
    }
}

fn change(name: &str, calls: u64, means: (f64, f64)) -> Change {
    let (here_ns, there_ns) = means;

    Change {
        name: name.to_string(),
        calls,
        here_ns,
        there_ns,
        change_s: calls as f64 * (there_ns - here_ns) / 1e9,
        unit: None,
    }
}

pub(super) fn prices(count: &CallCount, here: &Costs, there: &Costs) -> Option<(Price, Price)> {
    let prices = here
        .prices(there, count)
        .filter(|(price, _)| !waits::waits(&price.basis.operation))?;
    (!has(CREATION, bare_name(&count.call))).then_some(prices)
}

/// The sum has the unit of most calls. `None` without changes.
fn merged<'a>(name: &str, changes: impl IntoIterator<Item = &'a Change>) -> Option<Change> {
    let changes: Vec<&Change> = changes.into_iter().collect();
    let most = changes.iter().rev().max_by_key(|change| change.calls)?;
    let calls = added(changes.iter().map(|change| change.calls));
    let means = (
        mean_ns(&changes, |change| change.here_ns),
        mean_ns(&changes, |change| change.there_ns),
    );
    Some(Change {
        unit: most.unit.clone(),
        ..change(name, calls, means)
    })
}

fn mean_ns(changes: &[&Change], ns: fn(&Change) -> f64) -> f64 {
    let sum: f64 = changes
        .iter()
        .map(|change| change.calls as f64 * ns(change))
        .sum();
    let calls = added(changes.iter().map(|change| change.calls));
    sum / calls.max(1) as f64
}

fn left_out(profile: &Profile, unpriced: IndexMap<String, CallCount>) -> Vec<LeftOut> {
    fn row(name: &str, count: &CallCount, why: Unpredicted, ns: Option<u64>) -> LeftOut {
        LeftOut {
            name: name.to_string(),
            calls: count.calls,
            why,
            seconds: ns.map(s),
        }
    }

    let mut rows = Vec::new();
    for total in profile.totals(By::Call) {
        let count = total.count;
        let ns = count
            .blocked_ns
            .filter(|ns| *ns > 0)
            .and(count.stalled_ns.or(count.blocked_ns));
        if ns > Some(0) {
            rows.push(row(&count.call, &count, Unpredicted::Waits, ns));
        }
    }
    rows.extend(unpriced.iter().map(|(name, count)| {
        let why = if has(CREATION, bare_name(name)) {
            Unpredicted::Creates
        } else {
            Unpredicted::Unpriced
        };
        row(name, count, why, count.on_cpu_ns)
    }));
    rows.sort_by(|a, b| {
        b.seconds
            .unwrap_or(0.0)
            .total_cmp(&a.seconds.unwrap_or(0.0))
            .then(b.calls.cmp(&a.calls))
    });
    rows
}
