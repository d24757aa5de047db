//! Machines over time: the points at which an operation's cost changed for good, and what changed on the machine at
//! that point. Called by `compare --history`. `stats::change_points` has the method; its input is the logarithms of the
//! medians, one per run.

use super::column::{Column, ColumnInfo};
use super::conditions::{CONDITIONS, Condition, Known};
use super::matching::matched;
use super::row::{ComparedRow, Key};
use super::same_work::{Work, work};
use super::select::Selection;
use crate::model::{Entries, PANEL, PANEL_IN_USER_MODE};
use crate::stats::{FEWEST_RUNS, change_points, median};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};

/// One machine and its runs, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Its host name; `unknown` if the files do not have it.
    pub host: String,
    pub runs: Vec<ColumnInfo>,
    pub series: Vec<Series>,
    /// Rows that are left out because they are numbers of instructions, which have no noise to find a change in.
    pub counted_rows: usize,
}

/// One operation over the runs of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    #[serde(flatten)]
    pub key: Key,
    pub area: String,
    /// Whether there are enough runs to find a change.
    pub enough_runs: bool,
    /// Whether the cost depends on earlier file system activity: no changes are sought then.
    pub depends_on_history: bool,
    pub points: Vec<Point>,
    pub changes: Vec<Change>,
}

/// The operation's cost in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Index of the run.
    pub run: usize,
    #[serde(rename = "median_ns")]
    pub cost_ns: f64,
    /// The same at the machine's usual speed over all its runs, if that makes the series steadier; changes are sought in it.
    pub steady_ns: f64,
}

/// A point at which the cost changed for good.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Index of the first run with the new cost.
    pub run: usize,
    /// Median over the runs before the change, and over those after it.
    pub before_ns: f64,
    pub after_ns: f64,
    /// `after_ns` divided by `before_ns`.
    pub ratio: f64,
    /// What changed between the previous run and this one; empty if nothing known did.
    pub host_changes: Vec<HostChange>,
}

/// A difference between two consecutive runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostChange {
    /// The operation does other work.
    OtherWork {
        before: Entries,
        after: Entries,
    },
    /// A condition and its values in both runs.
    Fact {
        fact: &'static str,
        before: Option<Known>,
        after: Option<Known>,
    },
    Mitigations(SetChange),
    /// Kinds of taxes on every system call.
    Taxes(SetChange),
}

/// What was added and what was removed, in alphabetical order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SetChange {
    pub come: Vec<String>,
    pub gone: Vec<String>,
}

/// The history of each machine, in the order of their names. Articles have no date and are left out, copies of a run
/// count once, and changes of less than `margin` (a share) are ignored.
pub fn histories(columns: Vec<Column>, selection: &Selection, margin: f64) -> Vec<Machine> {
    let mut seen = HashSet::new();
    let mut by_host: IndexMap<String, Vec<Column>> = IndexMap::new();
    for column in columns.into_iter().filter(|column| column.info.source.is_none()) {
        let host = column.info.host.name.clone().unwrap_or("unknown".to_string());
        if seen.insert((host.clone(), column.info.started_unix_s, column.info.seed)) {
            by_host.entry(host).or_default().push(column);
        }
    }
    by_host.sort_keys();
    by_host.into_iter().map(|(host, columns)| machine(host, columns, selection, margin)).collect()
}

fn machine(host: String, mut columns: Vec<Column>, selection: &Selection, margin: f64) -> Machine {
    columns.sort_by_key(|column| column.info.started_unix_s);
    let runs: Vec<ColumnInfo> = columns.iter().map(|column| column.info.clone()).collect();
    let rows = matched(&columns, selection).rows;
    let (counted, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(ComparedRow::is_in_instructions);
    let slower = slower(&columns);
    let series = rows.into_iter().map(|row| series(row, &runs, &slower, margin)).collect();
    Machine { host, runs, series, counted_rows: counted.len() }
}

/// ln of how much slower the machine was in each run than in all of them, by the panel's members in user mode: what the kernel
/// costs is what changes are sought in. `None` for a run that lacks one of the members, of which most runs have all.
fn slower(columns: &[Column]) -> Vec<Option<f64>> {
    let members = &PANEL[..PANEL_IN_USER_MODE];
    let cost = |column: &Column, member: &str| Some(column.panel.first()?.get(member)?.ln());
    let usual = |member: &&str| median(columns.iter().filter_map(|column| cost(column, member)).collect());
    let Some(usual) = members.iter().map(usual).collect::<Option<Vec<f64>>>() else { return vec![None; columns.len()] };
    let of = |column: &Column| {
        let each = members.iter().zip(&usual).map(|(member, usual)| Some(cost(column, member)? - usual));
        median(each.collect::<Option<_>>()?)
    };
    columns.iter().map(of).collect()
}

/// The points of a row, at the machine's usual speed if that makes neighbours more alike.
fn points(row: &ComparedRow, slower: &[Option<f64>]) -> Vec<Point> {
    let cost = |run: usize| row.cost_ns(run).map(|cost_ns| (run, cost_ns));
    let costs: Vec<(usize, f64)> = (0..slower.len()).filter_map(cost).collect();
    let raw: Vec<f64> = costs.iter().map(|(_, ns)| ns.ln()).collect();
    let steady: Option<Vec<f64>> = costs.iter().zip(&raw).map(|((run, _), ln)| Some(ln - slower[*run]?)).collect();
    let logs = steady.filter(|steady| steps(steady) < steps(&raw)).unwrap_or(raw);
    costs.iter().zip(logs).map(|((run, ns), ln)| Point { run: *run, cost_ns: *ns, steady_ns: ln.exp() }).collect()
}

/// The median step from one value to the next: a change of level is one of many.
fn steps(logs: &[f64]) -> Option<f64> {
    median(logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect())
}

fn series(row: ComparedRow, runs: &[ColumnInfo], slower: &[Option<f64>], margin: f64) -> Series {
    let points = points(&row, slower);
    let logs: Vec<f64> = points.iter().map(|point| point.steady_ns.ln()).collect();
    let depends_on_history = row.depends_on_history();
    let found = if depends_on_history { Vec::new() } else { lasting(&points, change_points(&logs), margin) };
    let bounds = |i: usize| (if i == 0 { 0 } else { found[i - 1] }, found.get(i + 1).copied().unwrap_or(points.len()));
    let changes = found.iter().enumerate().filter_map(|(i, at)| {
        let (start, end) = bounds(i);
        let (before_ns, after_ns) = (level(&points[start..*at])?, level(&points[*at..end])?);
        let host_changes = host_changes(&row, runs, (points[*at - 1].run, points[*at].run));
        Some(Change { run: points[*at].run, before_ns, after_ns, ratio: after_ns / before_ns, host_changes })
    });
    let changes = changes.collect();
    let enough_runs = points.len() >= FEWEST_RUNS;
    Series { key: row.key, area: row.area, enough_runs, depends_on_history, points, changes }
}

/// The changes that are larger than `margin`: as long as there is a smaller one, the smallest is dropped and the states
/// before and after it are merged.
fn lasting(points: &[Point], mut found: Vec<usize>, margin: f64) -> Vec<usize> {
    let mut sizes: Vec<f64> = (0..found.len()).map(|i| size(points, &found, i)).collect();
    loop {
        let smallest = (0..found.len()).min_by(|a, b| sizes[*a].total_cmp(&sizes[*b]));
        let Some(dropped) = smallest.filter(|i| sizes[*i] <= margin.ln_1p()) else { return found };
        found.remove(dropped);
        sizes.remove(dropped);
        // Only the changes next to the dropped one have a new neighbouring state.
        for (i, own) in sizes.iter_mut().enumerate().skip(dropped.saturating_sub(1)).take(2) {
            *own = size(points, &found, i);
        }
    }
}

/// The change of the logarithm of the cost at `found[i]`.
fn size(points: &[Point], found: &[usize], i: usize) -> f64 {
    let start = if i == 0 { 0 } else { found[i - 1] };
    let end = found.get(i + 1).copied().unwrap_or(points.len());
    let levels = level(&points[start..found[i]]).zip(level(&points[found[i]..end]));
    levels.map_or(0.0, |(before, after)| (after / before).ln().abs())
}

fn level(points: &[Point]) -> Option<f64> {
    median(points.iter().map(|point| point.steady_ns).collect())
}

/// What changed between two runs: the work itself, the machine, the tool.
fn host_changes(row: &ComparedRow, runs: &[ColumnInfo], (old, new): (usize, usize)) -> Vec<HostChange> {
    let (before, after) = (&runs[old], &runs[new]);
    let kinds = |info: &ColumnInfo| info.host.taxes.iter().map(|tax| tax.kind.clone()).collect::<Vec<_>>();
    let fact = |(fact, of): &Condition| {
        let (before, after) = (of(before), of(after));
        (before != after).then_some(HostChange::Fact { fact, before, after })
    };
    let mitigations = changed_set(&before.host.mitigations, &after.host.mitigations).map(HostChange::Mitigations);
    let taxes = changed_set(&kinds(before), &kinds(after)).map(HostChange::Taxes);
    let facts = CONDITIONS.iter().filter_map(fact);
    other_work(row, (old, new)).into_iter().chain(facts).chain(mitigations).chain(taxes).collect()
}

fn other_work(row: &ComparedRow, (old, new): (usize, usize)) -> Option<HostChange> {
    let (before, after) = (row.cells[old].as_ref()?, row.cells[new].as_ref()?);
    let Work::Different(_) = work(after, before) else { return None };
    Some(HostChange::OtherWork { before: before.entries.clone()?, after: after.entries.clone()? })
}

fn changed_set(old: &[String], new: &[String]) -> Option<SetChange> {
    let (old, new): (BTreeSet<&String>, BTreeSet<&String>) = (old.iter().collect(), new.iter().collect());
    let without = |a: &BTreeSet<&String>, b: &BTreeSet<&String>| a.difference(b).map(ToString::to_string).collect();
    (old != new).then(|| SetChange { come: without(&new, &old), gone: without(&old, &new) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{entering, published, record, run};
    use crate::model::{Host, Run, Source};

    /// Runs a day apart, the newest first; from run `at` on the kernel is another one and file.stat costs 120.
    fn runs(count: u64, at: u64, host: &str) -> Vec<Column> {
        let one = |day: u64| {
            let new = day >= at;
            let cost = if new { 120_000 } else { 100_000 } + 97 * (day * 7 % 5);
            let host = Host {
                name: Some(host.into()),
                kernel: Some(if new { "6.18" } else { "6.1" }.into()),
                mitigations: if new { vec!["retbleed: IBPB".into()] } else { vec![] },
                ..Host::default()
            };
            let records = vec![record("file.stat", cost), entering("id.umask", 90_000 + day * 11 % 7, &[])];
            Column::new(&format!("run{day}"), &Run { host, started_unix_s: 1000 + day, ..run(records) })
        };
        (0..count).rev().map(one).collect()
    }

    /// The machine's speed has steps of 10%; file.stat grows by 4% in run 12, of which the raw medians show nothing.
    #[test]
    fn what_the_machine_does_is_not_taken_for_a_change_and_hides_none() {
        let one = |day: u64| {
            let speed = [100, 110, 121, 110, 100, 121][day as usize % 6];
            let panel = PANEL.iter().map(|operation| record(operation, 1000 * speed));
            let own = if day < 12 { 1000 } else { 1040 } + day * 7 % 3;
            let records = panel.chain([record("file.stat", own * speed), record("file.flat", 90_000 + day % 2)]);
            Column::new(&format!("run{day}"), &Run { started_unix_s: 1000 + day, ..run(records.collect()) })
        };
        let machines = histories((0..24).map(one).collect(), &Selection::default(), 0.01);
        let find = |operation: &str| machines[0].series.iter().find(|series| series.key.label == operation).unwrap();
        let stat = find("file.stat");
        assert_eq!(stat.changes.iter().map(|change| change.run).collect::<Vec<_>>(), [12]);
        assert!((stat.changes[0].ratio - 1.04).abs() < 0.002, "{:?}", stat.changes);
        let flat = find("file.flat");
        assert!(
            flat.points.iter().all(|point| (point.steady_ns - point.cost_ns).abs() < 1e-6),
            "not steadier that way"
        );
        assert_eq!(flat.changes, []);
    }

    #[test]
    fn a_change_is_dated_and_told_with_what_changed_in_the_machine() {
        let mut columns = runs(16, 9, "vm");
        columns.extend(runs(4, 2, "db"));
        columns.push(columns[3].clone());
        let source = Some(Source { title: "article".into(), note: String::new() });
        columns.push(Column::new("article", &Run { source, ..run(vec![published("file.stat", 5.0)]) }));
        let machines = histories(columns, &Selection::default(), 0.01);
        let hosts: Vec<(&str, usize)> = machines.iter().map(|m| (m.host.as_str(), m.runs.len())).collect();
        assert_eq!(hosts, [("db", 4), ("vm", 16)]);
        let series = &machines[1].series;
        assert_eq!((series[0].changes.len(), series[1].changes.len()), (1, 0));
        let change = &series[0].changes[0];
        assert_eq!(machines[1].runs[change.run].started_unix_s, 1009);
        assert!((change.ratio - 1.2).abs() < 0.002, "{change:?}");
        let kernel = |version: &str| Some(Known::Text(version.to_string()));
        let expected = [
            HostChange::Fact { fact: "kernel", before: kernel("6.1"), after: kernel("6.18") },
            HostChange::Mitigations(SetChange { come: vec!["retbleed: IBPB".into()], gone: vec![] }),
        ];
        assert_eq!(change.host_changes, expected);
        assert!(!machines[0].series[0].enough_runs && machines[0].series[0].changes.is_empty());
    }

    #[test]
    fn changes_within_the_margin_are_none() {
        let machines = histories(runs(16, 9, "vm"), &Selection::default(), 0.25);
        assert_eq!(machines[0].series[0].changes, []);
        let points: Vec<Point> = [100.0, 100.5, 130.0]
            .iter()
            .flat_map(|ns| [*ns; 4])
            .enumerate()
            .map(|(run, cost_ns)| Point { run, cost_ns, steady_ns: cost_ns })
            .collect();
        assert_eq!(lasting(&points, vec![4, 8], 0.01), [8]);
    }

    #[test]
    fn other_work_is_said_first() {
        let one = |day: u64| {
            let entries: &[(&str, f64)] = if day < 8 { &[("getpid", 1.0)] } else { &[] };
            let cost = if day < 8 { 100_000 } else { 2_000 } + day % 3;
            Column::new("", &Run { started_unix_s: day + 1, ..run(vec![entering("call.getpid", cost, entries)]) })
        };
        let machines = histories((0..16).map(one).collect(), &Selection::default(), 0.01);
        let changes = &machines[0].series[0].changes;
        assert_eq!(machines[0].host, "unknown");
        let before = Entries::from_iter([("getpid".to_string(), 1.0)]);
        assert_eq!(changes[0].host_changes, [HostChange::OtherWork { before, after: Entries::default() }]);
    }
}
