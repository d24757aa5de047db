//! Machines over time: the points at which an operation's cost changed for good, and what changed on the machine at
//! that point; or many hosts that have a processor, kernel or label in common, as one. Called by `compare --history`.
//! `stats::change_points` has the method for one host, `stats::change_points_across` for several; their input is the
//! logarithms of the medians, one per run.

mod machine;

pub use machine::{Change, HostChange, Machine, Point, Scatter, Series, SetChange};

use super::column::{Column, ColumnInfo};
use super::conditions::{CONDITIONS, Condition, Known};
use super::group_by::GroupBy;
use super::matching::matched;
use super::row::ComparedRow;
use super::same_work::{Work, work};
use super::select::Selection;
use crate::model::{PANEL, PANEL_IN_USER_MODE};
use crate::stats::{self, FEWEST_RUNS, HostRun, change_points, change_points_across, median};
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeSet, HashSet};

/// The history of each machine, or of each group that agrees in all of `by`, in the order of their names. Articles have no
/// date and are left out, copies of a run count once, and changes of less than `margin` (a share) are ignored.
pub fn histories(columns: Vec<Column>, by: &[GroupBy], selection: &Selection, margin: f64) -> Vec<Machine> {
    let mut seen = HashSet::new();
    let mut groups: IndexMap<String, Vec<Column>> = IndexMap::new();
    for column in columns.into_iter().filter(|column| column.info.source.is_none()) {
        if seen.insert((host(&column.info), column.info.started_unix_s, column.info.seed)) {
            groups.entry(name(&column.info, by)).or_default().push(column);
        }
    }
    groups.sort_keys();
    groups.into_iter().map(|(name, columns)| machine(name, columns, selection, margin)).collect()
}

fn host(info: &ColumnInfo) -> String {
    info.host.name.clone().unwrap_or("unknown".to_string())
}

/// `vm`, or `kernel Linux 6.1, pool web`.
fn name(info: &ColumnInfo, by: &[GroupBy]) -> String {
    let parts: Vec<String> = by.iter().map(|by| format!("{} {}", by.key, by.value(info))).collect();
    if parts.is_empty() { host(info) } else { parts.join(", ") }
}

fn machine(name: String, mut columns: Vec<Column>, selection: &Selection, margin: f64) -> Machine {
    columns.sort_by_key(|column| column.info.started_unix_s);
    let runs: Vec<ColumnInfo> = columns.iter().map(|column| column.info.clone()).collect();
    let mut names = IndexSet::new();
    let host_of_run: Vec<usize> = runs.iter().map(|info| names.insert_full(host(info)).0).collect();
    let rows = matched(&columns, selection, false).rows;
    let (counted, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(ComparedRow::is_in_instructions);
    let over = Over { runs: &runs, host_of_run: &host_of_run, slower: slower_by_host(&columns, &host_of_run), margin };
    let series = rows.into_iter().map(|row| over.series(row)).collect();
    Machine { host: name, hosts: names.len(), runs, series, counted_rows: counted.len() }
}

/// [`slower`] for each host by itself: what is usual for one is not for another.
fn slower_by_host(columns: &[Column], host_of_run: &[usize]) -> Vec<Option<f64>> {
    let mut found = vec![None; columns.len()];
    for host in host_of_run.iter().copied().collect::<BTreeSet<usize>>() {
        let own: Vec<usize> = (0..columns.len()).filter(|run| host_of_run[*run] == host).collect();
        let of_host: Vec<&Column> = own.iter().map(|run| &columns[*run]).collect();
        own.iter().zip(slower(&of_host)).for_each(|(run, slower)| found[*run] = slower);
    }
    found
}

/// ln of how much slower the machine was in each run than in all of them, by the panel's members in user mode: what the kernel
/// costs is what changes are sought in. `None` for a run that lacks one of the members, of which most runs have all.
fn slower(columns: &[&Column]) -> Vec<Option<f64>> {
    let members = &PANEL[..PANEL_IN_USER_MODE];
    let cost = |column: &Column, member: &str| Some(column.panel.first()?.get(member)?.ln());
    let usual = |member: &&str| median(columns.iter().filter_map(|column| cost(column, member)).collect());
    let Some(usual) = members.iter().map(usual).collect::<Option<Vec<f64>>>() else { return vec![None; columns.len()] };
    let of = |column: &&Column| {
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

struct Over<'a> {
    runs: &'a [ColumnInfo],
    host_of_run: &'a [usize],
    slower: Vec<Option<f64>>,
    margin: f64,
}

impl Over<'_> {
    fn series(&self, row: ComparedRow) -> Series {
        let points = points(&row, &self.slower);
        let depends_on_history = row.depends_on_history();
        let found = if depends_on_history { Vec::new() } else { self.lasting(&points, self.sought(&points)) };
        let changes = (0..found.len()).filter_map(|i| self.change(&row, &points, &found, i)).collect();
        let enough_runs = points.len() >= FEWEST_RUNS;
        let scatter = (!self.is_one_host(&points)).then(|| stats::host_scatter(&self.host_runs(&points)));
        let scatter = scatter.map(|found| Scatter { hosts: found.between, runs: found.within });
        Series { key: row.key, area: row.area, enough_runs, depends_on_history, points, changes, scatter }
    }

    fn is_one_host(&self, points: &[Point]) -> bool {
        let host = |point: &Point| self.host_of_run[point.run];
        points.first().is_none_or(|first| points.iter().all(|point| host(point) == host(first)))
    }

    fn host_runs(&self, points: &[Point]) -> Vec<HostRun> {
        points.iter().map(|point| HostRun { host: self.host_of_run[point.run], ln: point.steady_ns.ln() }).collect()
    }

    fn sought(&self, points: &[Point]) -> Vec<usize> {
        match self.is_one_host(points) {
            true => change_points(&points.iter().map(|point| point.steady_ns.ln()).collect::<Vec<f64>>()),
            false => change_points_across(&self.host_runs(points)),
        }
    }

    /// The cost before a change and after it: the medians of one host's runs, or what hosts cost before and what that
    /// becomes.
    fn levels(&self, before: &[Point], after: &[Point]) -> Option<(f64, f64)> {
        let old = level(before)?;
        if self.is_one_host(before) && self.is_one_host(after) && self.is_one_host(&[before, after].concat()) {
            return Some((old, level(after)?));
        }
        Some((old, old * stats::change_across(&self.host_runs(before), &self.host_runs(after))?.exp()))
    }

    fn change(&self, row: &ComparedRow, points: &[Point], found: &[usize], i: usize) -> Option<Change> {
        let (start, at, end) = (start(found, i), found[i], found.get(i + 1).copied().unwrap_or(points.len()));
        let (before_ns, after_ns) = self.levels(&points[start..at], &points[at..end])?;
        let host_changes = match self.is_one_host(points) {
            true => host_changes(row, self.runs, (points[at - 1].run, points[at].run)),
            false => self.fleet_changes(&points[start..at], &points[at..end]),
        };
        Some(Change { run: points[at].run, before_ns, after_ns, ratio: after_ns / before_ns, host_changes })
    }

    /// The facts of which most runs have another value after the change than before it.
    fn fleet_changes(&self, before: &[Point], after: &[Point]) -> Vec<HostChange> {
        let most = |points: &[Point], of: fn(&ColumnInfo) -> Option<Known>| {
            let mut counts: Vec<(Option<Known>, usize)> = Vec::new();
            for value in points.iter().map(|point| of(&self.runs[point.run])) {
                match counts.iter_mut().find(|(known, _)| *known == value) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((value, 1)),
                }
            }
            counts.into_iter().max_by_key(|(_, count)| *count).and_then(|(value, _)| value)
        };
        let fact = |(fact, of): &Condition| {
            let (before, after) = (most(before, *of), most(after, *of));
            (before != after).then_some(HostChange::Fact { fact, before, after })
        };
        CONDITIONS.iter().filter_map(fact).collect()
    }

    /// The changes that are larger than the margin: as long as there is a smaller one, the smallest is dropped and the states
    /// before and after it are merged.
    fn lasting(&self, points: &[Point], mut found: Vec<usize>) -> Vec<usize> {
        let mut sizes: Vec<f64> = (0..found.len()).map(|i| self.size(points, &found, i)).collect();
        loop {
            let smallest = (0..found.len()).min_by(|a, b| sizes[*a].total_cmp(&sizes[*b]));
            let Some(dropped) = smallest.filter(|i| sizes[*i] <= self.margin.ln_1p()) else { return found };
            found.remove(dropped);
            sizes.remove(dropped);
            // Only the changes next to the dropped one have a new neighbouring state.
            for (i, own) in sizes.iter_mut().enumerate().skip(dropped.saturating_sub(1)).take(2) {
                *own = self.size(points, &found, i);
            }
        }
    }

    /// The change of the logarithm of the cost at `found[i]`.
    fn size(&self, points: &[Point], found: &[usize], i: usize) -> f64 {
        let end = found.get(i + 1).copied().unwrap_or(points.len());
        let levels = self.levels(&points[start(found, i)..found[i]], &points[found[i]..end]);
        levels.map_or(0.0, |(before, after)| (after / before).ln().abs())
    }
}

/// Where the state before `found[i]` begins.
fn start(found: &[usize], i: usize) -> usize {
    if i == 0 { 0 } else { found[i - 1] }
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
    use crate::model::Entries;
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
        let machines = histories((0..24).map(one).collect(), &[], &Selection::default(), 0.01);
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
        let machines = histories(columns, &[], &Selection::default(), 0.01);
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

    /// Forty hosts of two kinds with one run each; from the middle on those of one kind cost a tenth more, and have a new kernel.
    #[test]
    fn hosts_that_have_something_in_common_are_one_history() {
        let one = |day: u64| {
            let (old_kind, new) = (day.is_multiple_of(2), day >= 40);
            let cost = 100_000 + 977 * (day * 7 % 11) + if old_kind && new { 10_000 } else { 0 };
            let host = Host {
                name: Some(format!("h{day}")),
                cpu: Some(if old_kind { "old" } else { "new" }.into()),
                kernel: Some(if new { "6.18" } else { "6.1" }.into()),
                ..Host::default()
            };
            let labels = [("pool".to_string(), "web".to_string())].into();
            Column::new("", &Run { host, labels, started_unix_s: 1000 + day, ..run(vec![record("file.stat", cost)]) })
        };
        let of = |by: &str| {
            histories(
                (0..80).map(one).collect(),
                &by.split(',').map(GroupBy::new).collect::<Vec<_>>(),
                &Selection::default(),
                0.01,
            )
        };
        let machines = of("CPU");
        let names: Vec<(&str, usize)> = machines.iter().map(|m| (m.host.as_str(), m.hosts)).collect();
        assert_eq!(names, [("CPU new", 40), ("CPU old", 40)]);
        assert_eq!(machines[0].series[0].changes, []);
        let change = &machines[1].series[0].changes[0];
        assert!(change.run.abs_diff(20) <= 1 && (change.ratio - 1.095).abs() < 0.01, "{change:?}");
        assert!(matches!(&change.host_changes[..], [HostChange::Fact { fact: "kernel", .. }]), "{change:?}");
        let both = of("pool,cpu");
        assert_eq!(both[1].host, "pool web, cpu old");
        assert!(of("host")[0].host == "host h0" && of("nothing")[0].host == "nothing none");
    }

    #[test]
    fn changes_within_the_margin_are_none() {
        let machines = histories(runs(16, 9, "vm"), &[], &Selection::default(), 0.25);
        assert_eq!(machines[0].series[0].changes, []);
        let points: Vec<Point> = [100.0, 100.5, 130.0]
            .iter()
            .flat_map(|ns| [*ns; 4])
            .enumerate()
            .map(|(run, cost_ns)| Point { run, cost_ns, steady_ns: cost_ns })
            .collect();
        let over = Over { runs: &[], host_of_run: &[0; 12], slower: Vec::new(), margin: 0.01 };
        assert_eq!(over.lasting(&points, vec![4, 8]), [8]);
    }

    #[test]
    fn other_work_is_said_first() {
        let one = |day: u64| {
            let entries: &[(&str, f64)] = if day < 8 { &[("getpid", 1.0)] } else { &[] };
            let cost = if day < 8 { 100_000 } else { 2_000 } + day % 3;
            Column::new("", &Run { started_unix_s: day + 1, ..run(vec![entering("call.getpid", cost, entries)]) })
        };
        let machines = histories((0..16).map(one).collect(), &[], &Selection::default(), 0.01);
        let changes = &machines[0].series[0].changes;
        assert_eq!(machines[0].host, "unknown");
        let before = Entries::from_iter([("getpid".to_string(), 1.0)]);
        assert_eq!(changes[0].host_changes, [HostChange::OtherWork { before, after: Entries::default() }]);
    }
}
