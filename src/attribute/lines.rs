//! The lines of a comparison: what the changes of calls, page faults and bare crossings add up to. Pure; `change` calls it.
//!
//! Errors of one call are shared by its classes, that of a null call by all crossings, and that of a run by everything; other
//! errors are independent (`spread`).

use super::breakdown::fault_count;
use super::charged::Charged;
use super::comparison::Comparison;
use super::costs::Basis;
use super::scaled::{Scaled, changed};
use super::spread::{MODEL_SD, Seconds, s, sum_by_call};
use super::units::{self, CREATION, FAMILIES, bare_name};
use crate::model::{CallCount, Class, Profile};
use schemars::JsonSchema;
use serde::Serialize;

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
    /// Whether the operation mostly waits: the seconds are then those blocked too.
    pub waits: bool,
    #[serde(skip)]
    pub parts: Scaled,
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
    /// Those of them that wait for a device, with the time that they were blocked.
    Waits,
    /// Those of them that create and end processes.
    Creation,
    Faults {
        count: u64,
        #[serde(rename = "unit")]
        basis: Basis,
    },
    /// Calls without a unit cost: the bare crossings are known.
    Unpriced(Crossings),
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

/// A line with the parts of its change, by what shares an error: the name of a call, or one of the names below.
#[derive(Clone, Debug)]
pub struct Group {
    pub kind: LineKind,
    here_s: f64,
    parts: Vec<(String, Seconds)>,
}

/// All bare crossings have the error of one null call.
const CROSSINGS: &str = "all crossings";
const FAULTS: &str = "all faults";
const UNPRICED: &str = "all calls without a unit cost";

impl Group {
    /// All of `groups` as one.
    pub fn merged<'a>(kind: LineKind, groups: impl IntoIterator<Item = &'a Group>) -> Group {
        let mut sum = Group { kind, here_s: 0.0, parts: Vec::new() };
        for group in groups {
            sum.here_s += group.here_s;
            sum.parts.extend(group.parts.iter().cloned());
        }
        sum
    }

    fn from_rows<'a>(kind: LineKind, rows: impl Iterator<Item = &'a ChangeRow>) -> Option<Group> {
        let mut group = Group { kind, here_s: 0.0, parts: Vec::new() };
        for row in rows {
            group.here_s += row.here_s;
            group.parts.push((CROSSINGS.to_string(), row.parts.crossing));
            group.parts.push((row.call.clone(), row.parts.work));
        }
        (!group.parts.is_empty()).then_some(group)
    }

    /// The change, with all errors.
    pub fn change(&self, costs: &Comparison) -> Seconds {
        let own = sum_by_call(self.parts.iter().map(|(name, part)| (name.as_str(), *part)));
        own.shifted(costs.shift.sd, self.here_s)
    }

    /// The group as it is shown.
    pub fn line(&self, costs: &Comparison) -> ChangeLine {
        ChangeLine { kind: self.kind.clone(), here_s: self.here_s, change: self.change(costs) }
    }
}

/// The lines that add up to the total. `others` are the calls without a unit cost.
pub fn groups(profile: &Profile, rows: &[ChangeRow], others: &CallCount, costs: &Comparison) -> Vec<Group> {
    let creates = |row: &ChangeRow| CREATION.contains(&bare_name(&row.call));
    let calls = Group::from_rows(LineKind::Calls, rows.iter().filter(|row| !creates(row) && !row.waits));
    let creation = Group::from_rows(LineKind::Creation, rows.iter().filter(|row| creates(row)));
    let priced = Group::merged(LineKind::Total, calls.iter().chain(&creation));
    let waits = Group::from_rows(LineKind::Waits, rows.iter().filter(|row| row.waits));
    let faults = faults(profile, costs);
    calls.into_iter().chain(waits).chain(creation).chain(faults).chain(unpriced(others, &priced, costs)).collect()
}

/// Faults x unit cost, at most the system time that calls leave over.
fn faults(profile: &Profile, costs: &Comparison) -> Option<Group> {
    let count = fault_count(profile).filter(|count| *count > 0)?;
    let (a, b) = costs.first_of(units::FAULTS)?;
    let most = Charged::from_profile(profile).map_or(f64::INFINITY, |charged| charged.other_system_s());
    let here_s = (count as f64 * a.cost.ns / 1e9).min(most);
    let change = changed(here_s, a.cost, b.cost, MODEL_SD);
    Some(Group { kind: LineKind::Faults { count, basis: a.basis }, here_s, parts: vec![(FAULTS.to_string(), change)] })
}

/// Calls without a unit cost: their crossings change by those of a null call, and their work by anything from nothing to what
/// that of the `priced` calls does.
fn unpriced(others: &CallCount, priced: &Group, costs: &Comparison) -> Option<Group> {
    let (crossings, change) = crossings(others, costs)?;
    let least_s = others.calls as f64 * crossings.here_ns / 1e9;
    let here_s = others.on_cpu_ns.map_or(least_s, s);
    let work: f64 = priced.parts.iter().map(|(_, part)| part.value).sum();
    let most = if priced.here_s > 0.0 { (here_s - least_s).max(0.0) * work / priced.here_s } else { 0.0 };
    let of_work = Seconds { value: 0.0, low: most.min(0.0), high: most.max(0.0) };
    let parts = vec![(CROSSINGS.to_string(), change), (UNPRICED.to_string(), of_work)];
    (others.calls > 0).then_some(Group { kind: LineKind::Unpriced(crossings), here_s, parts })
}

/// The bare crossing of `count` calls on both sides. It has no model error, because a null call does nothing else.
fn crossings(count: &CallCount, costs: &Comparison) -> Option<(Crossings, Seconds)> {
    let (a, b) = costs.null_calls()?;
    let here_s = count.calls as f64 * a.ns / 1e9;
    Some((Crossings { calls: count.calls, here_ns: a.ns, there_ns: b.ns }, changed(here_s, a, b, 0.0)))
}

pub fn all_crossings(all: &CallCount, costs: &Comparison) -> Option<ChangeLine> {
    let (crossings, change) = crossings(all, costs)?;
    let here_s = all.calls as f64 * crossings.here_ns / 1e9;
    let parts = vec![(CROSSINGS.to_string(), change)];
    Some(Group { kind: LineKind::AllCrossings(crossings), here_s, parts }.line(costs))
}

pub fn families(rows: &[ChangeRow], costs: &Comparison) -> Vec<ChangeLine> {
    let of = |&(name, calls): &(&'static str, &[&str])| {
        let own = rows.iter().filter(|row| calls.contains(&bare_name(&row.call)));
        Some(Group::from_rows(LineKind::Family { name }, own)?.line(costs))
    };
    FAMILIES.iter().filter_map(of).collect()
}
