//! What the workload would take with the unit costs of another run: another machine, kernel, environment or article. Pure;
//! `attribute` calls it.
//!
//! Class by class, seconds there = seconds here x (unit cost there / unit cost here), see `scaled`. Seconds here are measured CPU
//! time, or calls x unit cost where only counts are known. A call whose operation mostly waits, such as fsync, is taken with the
//! time that it was blocked, in a line of its own: that is no CPU time. Calls that no operation resembles change by their bare
//! crossing, which every call makes; that their work changes as that of the others does is in the range.

use super::charged::share;
use super::comparison::Comparison;
use super::costs::Costs;
use super::lines::{self, ChangeLine, ChangeRow, Group, LineKind};
use super::scaled::{Calls, scaled};
use super::spread::s;
use super::waits;
use super::wall::{Wall, wall};
use crate::model::{By, CallCount, Profile};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// A workload here and with other unit costs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The unit costs that it is compared with.
    #[serde(rename = "costs")]
    pub there: String,
    /// Classes with a unit cost on both sides, the greatest change first.
    #[serde(rename = "calls")]
    pub rows: Vec<ChangeRow>,
    /// Parts of the total.
    pub lines: Vec<ChangeLine>,
    /// All lines together.
    pub total: ChangeLine,
    /// Bare crossings of all calls; `lines` includes those of calls with a unit cost.
    pub crossings: Option<ChangeLine>,
    /// Families of calls: parts of the calls.
    pub families: Vec<ChangeLine>,
    /// Calls without a unit cost on both sides.
    pub unpriced: Vec<UnpricedCall>,
    /// Their share of the calls' CPU time, or of the calls where only counts are known; `None` if there are none.
    pub unpriced_share: Option<f64>,
    /// Time blocked in calls.
    pub blocked_s: Option<f64>,
    /// `None` where the wall time here is not known.
    pub wall: Option<Wall>,
}

/// A call without a unit cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnpricedCall {
    #[serde(rename = "name")]
    pub call: String,
    pub calls: u64,
    pub on_cpu_s: Option<f64>,
}

/// What would change with the unit costs `there`.
pub fn change(profile: &Profile, here: &Costs, there: &Costs) -> Change {
    let costs = Comparison::new(here, there);
    let (mut rows, mut others) = (Vec::new(), CallCount::default());
    let mut unpriced: IndexMap<String, CallCount> = IndexMap::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count) {
        match row(&count, &costs) {
            Some(row) => rows.push(row),
            None => {
                others.add(&count);
                unpriced.entry(count.call.clone()).or_default().add(&count);
            }
        }
    }
    rows.sort_by(|a, b| b.change.value.abs().total_cmp(&a.change.value.abs()));
    let left_out =
        |(call, count): (_, CallCount)| UnpricedCall { call, calls: count.calls, on_cpu_s: count.on_cpu_ns.map(s) };
    let all = profile.all_calls();
    let groups = lines::groups(profile, &rows, &others, &costs);
    Change {
        there: there.label.clone(),
        crossings: lines::all_crossings(&all, &costs),
        families: lines::families(&rows, &costs),
        unpriced: unpriced.into_iter().map(left_out).collect(),
        unpriced_share: share(&others, &all),
        blocked_s: all.blocked_ns.map(s),
        wall: wall(profile, &costs, &groups),
        lines: groups.iter().map(|group| group.line(&costs)).collect(),
        total: Group::merged(LineKind::Total, &groups).line(&costs),
        rows,
    }
}

fn row(count: &CallCount, costs: &Comparison) -> Option<ChangeRow> {
    let (a, b) = costs.prices(count)?;
    let waits = waits::waits(&a.basis.operation);
    let blocked_s = count.blocked_ns.filter(|_| waits).map_or(0.0, s);
    let measured = count.on_cpu_ns.map(|ns| s(ns) + blocked_s);
    let here_s = measured.unwrap_or(count.calls as f64 * a.cost.ns / 1e9);
    let own = Calls { calls: count.calls, here_s, measured: measured.is_some() };
    let mut parts = scaled(own, &a, &b, costs.null_calls());
    parts.work = parts.work.at_least(-here_s);
    Some(ChangeRow {
        call: count.call.clone(),
        class: count.class.clone(),
        calls: count.calls,
        here_s,
        ratio: b.cost.ns / a.cost.ns,
        change: parts.whole().shifted(costs.shift.sd, here_s),
        basis: a.basis,
        waits,
        parts,
    })
}
