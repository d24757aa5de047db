//! Calls whose time in the program differs by a large factor from that of the operation that prices them: they do other work than
//! the operation. Pure; `attribute` calls it.

use super::charged::Charged;
use super::costs::Costs;
use super::spread::s;
use crate::model::{By, Profile};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// The factor, either way.
pub const UNLIKE: f64 = 4.0;

/// Calls that take a smaller share of the CPU time are not named.
const LEAST_SHARE: f64 = 0.05;

/// A call whose unit cost does not explain its time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnlikeCall {
    pub name: String,
    /// CPU time of one call in the program.
    pub each_ns: f64,
    /// CPU time of one call by unit costs.
    pub alone_ns: f64,
}

/// The calls of `profile` whose unit costs in `costs` do not explain their time, the one with most time first.
pub fn unlike(profile: &Profile, costs: &Costs) -> Vec<UnlikeCall> {
    let whole_s = Charged::from_profile(profile).map_or(f64::INFINITY, |charged| charged.cpu_s);
    // By call: how many, seconds on a CPU, seconds by unit costs.
    let mut calls: IndexMap<String, (u64, f64, f64)> = IndexMap::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count) {
        let priced = costs.price_of_calls(&count).map(|price| price.cost.ns * count.calls as f64 / 1e9);
        let Some((alone_s, measured_s)) = priced.zip(count.on_cpu_ns.map(s)) else { continue };
        let own = calls.entry(count.call).or_default();
        *own = (own.0 + count.calls, own.1 + measured_s, own.2 + alone_s);
    }
    let is_unlike = |measured_s: f64, alone_s: f64| measured_s > UNLIKE * alone_s || alone_s > UNLIKE * measured_s;
    calls.retain(|_, (_, measured_s, alone_s)| {
        measured_s.max(*alone_s) >= LEAST_SHARE * whole_s && is_unlike(*measured_s, *alone_s)
    });
    let mut found: Vec<_> = calls.into_iter().collect();
    found.sort_by(|(_, a), (_, b)| b.1.total_cmp(&a.1));
    let each = |seconds: f64, calls: u64| seconds * 1e9 / calls.max(1) as f64;
    let call = |(name, (calls, measured_s, alone_s)): (String, (u64, f64, f64))| UnlikeCall {
        name,
        each_ns: each(measured_s, calls),
        alone_ns: each(alone_s, calls),
    };
    found.into_iter().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{counted, run, varying};
    use crate::model::{CallCount, ProcessGroup, Usage};

    #[test]
    fn a_call_that_takes_much_longer_than_its_operation_is_named() {
        let costs = run(vec![counted(varying("id.getppid", |_| 100), &[("getppid", 1.0)])]);
        let costs = Costs::from_run(&costs, None).unwrap();
        let of = |each_ns: u64, user_ns: u64| {
            let on_cpu_ns = Some(1_000 * each_ns);
            let call = CallCount { call: "getppid".into(), calls: 1_000, on_cpu_ns, ..CallCount::default() };
            let usage = Usage { user_ns: Some(user_ns), system_ns: on_cpu_ns, ..Usage::default() };
            let groups = vec![ProcessGroup { calls: vec![call], ..ProcessGroup::default() }];
            unlike(&Profile { groups, usage, ..Profile::default() }, &costs)
        };
        let named = of(500, 0);
        assert!(named[0].name == "getppid" && (named[0].each_ns - 500.0).abs() < 1e-6, "{named:?}");
        assert_eq!([of(300, 0).len(), of(20, 0).len(), of(500, 100_000_000).len()], [0, 1, 0]);
    }
}
