//! What the workload would take with the unit costs of another run: another machine, kernel, environment or article. Pure;
//! `attribute` calls it.
//!
//! Class by class, seconds there = seconds here x (unit cost there / unit cost here). Seconds here are measured CPU time, or
//! calls x unit cost where only counts are known. Where a null call is known on both sides, the bare crossing and the work
//! each have their own ratio: what makes every crossing slower (a tracer, a filter, another hypervisor) adds the same to a
//! call of 100 ns and to one of 10 us, however cold its caches are. Rejected: one ratio for the whole call, which multiplies
//! work that takes longer in the program than in its operation by the cost of a slower crossing. For the same reason the
//! ratio of work is at most `MOST_RATIO`; the rest is added to each call.
//!
//! The error is that of the change: with equal unit costs nothing changes, whatever else the call does. Calls that no
//! operation resembles are left out and listed; their bare crossing, which every call makes, has a line of its own.

use super::breakdown::{fault_count, s};
use super::costs::{Basis, Costs, Price, UnitCost};
use super::spread::{MODEL_SD, Seconds, Z, sum, sum_by_call};
use super::units::{CREATION, FAMILIES, FAULTS, bare_name};
use crate::model::{By, CallCount, Class, Profile};
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
    /// Calls without a unit cost on both sides, left out of the total.
    pub unpriced: Vec<UnpricedCall>,
    /// Time blocked in calls, which is not predicted.
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

/// Wall time here, and there: between all of the change lying on the longest path and all CPUs sharing it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Wall {
    pub here_s: f64,
    pub there_s: Seconds,
}

/// The change of one class of calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeRow {
    #[serde(rename = "name")]
    pub call: String,
    #[serde(flatten)]
    pub class: Class,
    pub calls: u64,
    pub here_s: f64,
    /// Unit cost there over unit cost here.
    pub ratio: f64,
    /// There minus here.
    #[serde(rename = "change_s")]
    pub change: Seconds,
    #[serde(rename = "unit")]
    pub basis: Basis,
}

/// Seconds here, and the difference with its range.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeLine {
    #[serde(flatten)]
    pub kind: LineKind,
    pub here_s: f64,
    /// There minus here.
    #[serde(rename = "change_s")]
    pub change: Seconds,
}

/// What a line sums up, with the numbers that it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LineKind {
    /// Calls with a unit cost on both sides.
    Calls,
    /// Those of them that create and end processes.
    Creation,
    Faults {
        count: u64,
        #[serde(rename = "unit")]
        basis: Basis,
    },
    /// Calls without a unit cost.
    OtherCrossings(Crossings),
    AllCrossings(Crossings),
    /// A family of calls.
    Family {
        name: &'static str,
    },
    Total,
}

/// Bare crossings: calls x nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Crossings {
    pub calls: u64,
    pub here_ns: f64,
    pub there_ns: f64,
}

impl ChangeLine {
    /// Seconds there.
    pub fn there_s(&self) -> f64 {
        self.here_s + self.change.value
    }
}

/// Work that is a smaller share of its operation's null call says nothing about how much more work costs.
const LEAST_WORK: f64 = 0.1;

/// Work that takes longer by more than this factor is not the same work on another machine. The rest counts as something
/// added to each call, such as what a tracer does with its arguments, and is not multiplied by the call's size or cold caches.
const MOST_RATIO: f64 = 4.0;

/// What would change with the unit costs `there`.
pub fn change(profile: &Profile, here: &Costs, there: &Costs) -> Change {
    let (mut rows, mut others) = (Vec::new(), CallCount::default());
    let mut unpriced: IndexMap<String, CallCount> = IndexMap::new();
    for count in profile.totals(By::Class).into_iter().map(|total| total.count) {
        match row(&count, here, there) {
            Some(row) => rows.push(row),
            None => {
                others.add(&count);
                unpriced.entry(count.call.clone()).or_default().add(&count);
            }
        }
    }
    rows.sort_by(|a, b| b.change.value.abs().total_cmp(&a.change.value.abs()));
    let all = profile.all_calls();
    let lines = lines(profile, &rows, &others, here, there);
    let total = total(&lines);
    let left_out = |(call, count): (String, CallCount)| UnpricedCall {
        call,
        calls: count.calls,
        on_cpu_s: count.on_cpu_ns.map(s),
    };
    Change {
        there: there.label.clone(),
        crossings: crossings(&all, here, there, LineKind::AllCrossings),
        families: families(&rows),
        unpriced: unpriced.into_iter().map(left_out).collect(),
        blocked_s: all.blocked_ns.map(s),
        wall: wall(profile, total.change),
        rows,
        lines,
        total,
    }
}

fn row(count: &CallCount, here: &Costs, there: &Costs) -> Option<ChangeRow> {
    let (a, b) = here.prices(there, &count.call, &count.class)?;
    let here_s = count.on_cpu_ns.map_or(count.calls as f64 * a.cost.ns / 1e9, s);
    Some(ChangeRow {
        call: count.call.clone(),
        class: count.class.clone(),
        calls: count.calls,
        here_s,
        ratio: b.cost.ns / a.cost.ns,
        change: change_of_call(count, here_s, (here, &a), (there, &b)),
        basis: a.basis,
    })
}

/// The change of a class: that of its crossings, without the model's error, plus that of its work. One ratio for both where
/// the call costs less than a null call, or where no null call is known.
fn change_of_call(count: &CallCount, here_s: f64, here: (&Costs, &Price), there: (&Costs, &Price)) -> Seconds {
    let (a, b) = (here.1.cost, there.1.cost);
    let model_sd = MODEL_SD.hypot(here.1.beyond).hypot(there.1.beyond);
    let nulls = here.0.null_call().zip(there.0.null_call()).map(|(a, b)| (a.cost, b.cost));
    let Some((null_a, null_b)) = nulls.filter(|(null_a, null_b)| a.ns >= null_a.ns && b.ns >= null_b.ns) else {
        return changed(here_s, a, b, model_sd);
    };
    let crossing_s = count.calls as f64 * null_a.ns / 1e9;
    let crossing = changed(crossing_s, null_a, null_b, 0.0);
    let (work_a, work_b) = (a.ns - null_a.ns, b.ns - null_b.ns);
    let calls = count.calls as f64 / 1e9;
    // How often the work holds the operation's work: once per call where it cannot be told.
    let times = match count.on_cpu_ns {
        Some(_) if work_a > LEAST_WORK * null_a.ns => (here_s - crossing_s).max(0.0) / work_a,
        _ => calls,
    };
    let scaled_ns = work_b.min(MOST_RATIO * work_a.max(LEAST_WORK * null_a.ns));
    let work = Seconds::within(times * (scaled_ns - work_a) + calls * (work_b - scaled_ns), model_sd);
    let sd = |whole: UnitCost, null: UnitCost| (whole.ns * whole.log_sd).hypot(null.ns * null.log_sd);
    let ratio = scaled_ns / work_a.max(LEAST_WORK * null_a.ns);
    let error = Z * times * (ratio * sd(a, null_a)).hypot(sd(b, null_b).min(scaled_ns));
    sum([work.widened(error), crossing].into_iter())
}

/// The change of `here_s` from one unit cost to the other. The model's error is proportional to the change, that of the unit
/// costs to the seconds.
fn changed(here_s: f64, here: UnitCost, there: UnitCost, model_sd: f64) -> Seconds {
    let ratio = there.ns / here.ns;
    let model = Seconds::within(here_s * (ratio - 1.0), model_sd);
    model.widened(Z * here_s * ratio * here.log_sd.hypot(there.log_sd))
}

/// The bare crossing of `count` calls on both sides. It has no model error, because a null call does nothing else.
fn crossings(count: &CallCount, here: &Costs, there: &Costs, kind: fn(Crossings) -> LineKind) -> Option<ChangeLine> {
    let (a, b) = (here.null_call()?.cost, there.null_call()?.cost);
    let here_s = count.calls as f64 * a.ns / 1e9;
    let kind = kind(Crossings { calls: count.calls, here_ns: a.ns, there_ns: b.ns });
    Some(ChangeLine { kind, here_s, change: changed(here_s, a, b, 0.0) })
}

fn lines(profile: &Profile, rows: &[ChangeRow], others: &CallCount, here: &Costs, there: &Costs) -> Vec<ChangeLine> {
    let (creation, calls): (Vec<&ChangeRow>, Vec<&ChangeRow>) =
        rows.iter().partition(|row| CREATION.contains(&bare_name(&row.call)));
    let mut lines = vec![line(LineKind::Calls, &calls)];
    lines.extend((!creation.is_empty()).then(|| line(LineKind::Creation, &creation)));
    lines.extend(faults(profile, here, there));
    if others.calls > 0 {
        lines.extend(crossings(others, here, there, LineKind::OtherCrossings));
    }
    lines
}

fn line(kind: LineKind, rows: &[&ChangeRow]) -> ChangeLine {
    let change = sum_by_call(rows.iter().map(|row| (row.call.as_str(), row.change)));
    ChangeLine { kind, here_s: rows.iter().map(|row| row.here_s).sum(), change }
}

/// Faults x unit cost, on both sides at most the system time that calls leave over.
fn faults(profile: &Profile, here: &Costs, there: &Costs) -> Option<ChangeLine> {
    let count = fault_count(profile).filter(|count| *count > 0)?;
    let both = |operation: &&str| Some((here.price_of(operation)?, there.price_of(operation)?));
    let (a, b) = FAULTS.iter().find_map(both)?;
    let system = profile.usage.system_ns.zip(profile.all_calls().on_cpu_ns);
    let most = system.map_or(f64::INFINITY, |(all, calls)| s(all.saturating_sub(calls)));
    let here_s = (count as f64 * a.cost.ns / 1e9).min(most);
    let change = changed(here_s, a.cost, b.cost, MODEL_SD);
    Some(ChangeLine { kind: LineKind::Faults { count, basis: a.basis }, here_s, change })
}

fn families(rows: &[ChangeRow]) -> Vec<ChangeLine> {
    let of = |&(name, calls): &(&'static str, &[&str])| {
        let own: Vec<&ChangeRow> = rows.iter().filter(|row| calls.contains(&bare_name(&row.call))).collect();
        (!own.is_empty()).then(|| line(LineKind::Family { name }, &own))
    };
    FAMILIES.iter().filter_map(of).collect()
}

fn total(lines: &[ChangeLine]) -> ChangeLine {
    let here_s = lines.iter().map(|line| line.here_s).sum();
    ChangeLine { kind: LineKind::Total, here_s, change: sum(lines.iter().map(|line| line.change)) }
}

/// Wall time here and there. The change spreads over as many CPUs as the workload kept busy; the range also holds the case
/// that all of it is waited for.
fn wall(profile: &Profile, change: Seconds) -> Option<Wall> {
    let wall = profile.usage.wall_ns.map(s)?;
    let cpu = profile.usage.user_ns.zip(profile.usage.system_ns).map(|(user, system)| s(user) + s(system));
    let parallel = cpu.filter(|_| wall > 0.0).map_or(1.0, |cpu| (cpu / wall).max(1.0));
    let value = wall + change.value / parallel;
    let ends = [change.low, change.high, change.low / parallel, change.high / parallel].map(|end| wall + end);
    let low = ends.iter().copied().fold(value, f64::min).max(0.0);
    let there_s = Seconds { value, low, high: ends.iter().copied().fold(value, f64::max) };
    Some(Wall { here_s: wall, there_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_unit_costs_change_nothing() {
        let cost = UnitCost { ns: 100.0, log_sd: 0.0 };
        assert_eq!(changed(5.0, cost, cost, MODEL_SD), Seconds::exactly(0.0));
        let twice = changed(5.0, cost, UnitCost { ns: 200.0, ..cost }, MODEL_SD);
        assert!((twice.value - 5.0).abs() < 1e-9 && (twice.low - 2.5).abs() < 1e-9 && (twice.high - 10.0).abs() < 1e-9);
    }

    #[test]
    fn intervals_of_unit_costs_widen_the_range() {
        let cost = |ns| UnitCost { ns, log_sd: 0.01 };
        let change = changed(5.0, cost(100.0), cost(100.0), MODEL_SD);
        assert!(change.low < -0.1 && change.high > 0.1 && change.value == 0.0, "{change:?}");
    }
}
