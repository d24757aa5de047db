//! What the page shows first of a run: the slowest operations, those without system calls, and the surprises, each with
//! the rule that selects it. Pure; called by `html`.

use crate::compare::area;
use crate::model::{Case, REFERENCE};
use crate::report::figure::{Distribution, Kernel};
use crate::report::numbers::{nanoseconds, three_figures};
use crate::report::run::detail::Detail;
use crate::report::run::figures::{cost, kernel, modes_in_words, name};
use crate::summary::{Row, Summary};
use std::collections::{HashMap, HashSet};

const MOST: usize = 5;

/// Items of one kind of surprise before the next kind.
const TURN: usize = 2;

/// An operation whose cost per kernel entry exceeds its area's median by this factor is a surprise.
const FAR: f64 = 10.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Highlight {
    pub name: String,
    /// The cost in nanoseconds.
    pub ns: f64,
    /// Why it is listed; empty if the list's heading is enough.
    pub why: String,
}

/// The rule of the surprises, for the page.
pub const SURPRISES_RULE: &str = "in turn, the slowest of each kind first: is named after a system call but makes \
                                  none; makes no system call but costs more than the reference system call \
                                  id.getppid (a page fault, another trap, or work in user mode); has two modes; costs \
                                  over ten times the median of its area per kernel entry";

pub fn slowest(summary: &Summary) -> Vec<Highlight> {
    top(&summary.rows, |row| cost(row).map(|ns| (ns, entries_words(row))))
}

/// Up to five that make no system call, the slowest first.
pub fn no_system_calls(summary: &Summary) -> Vec<Highlight> {
    top(&summary.rows, |row| cost(row).filter(|_| kernel(row) == Kernel::Never).map(|ns| (ns, String::new())))
}

pub fn never_enters(summary: &Summary) -> usize {
    firsts(&summary.rows).iter().filter(|row| cost(row).is_some() && kernel(row) == Kernel::Never).count()
}

fn entries_words(row: &Row) -> String {
    match (kernel(row), &row.entries) {
        (Kernel::Never, _) => "no system call".to_string(),
        (Kernel::Enters, Some(entries)) => crate::report::numbers::entries(entries),
        _ => String::new(),
    }
}

/// The rows of each case's first environment: those of others are the same operations.
pub fn firsts(rows: &[Row]) -> Vec<&Row> {
    let mut known = HashSet::new();
    let case = |row: &Row| Case { environment: String::new(), ..row.case.clone() };
    rows.iter().filter(|row| known.insert(case(row))).collect()
}

/// The slowest five of those that `pick` selects, without those whose cost may be different in the next run, and without
/// cold calls, of which the largest size would win.
fn top(rows: &[Row], pick: impl Fn(&Row) -> Option<(f64, String)>) -> Vec<Highlight> {
    let steady = firsts(rows).into_iter().filter(|row| !row.depends_on_history() && row.case.cold().is_none());
    let picked = steady.filter_map(|row| pick(row).map(|(ns, why)| Highlight { name: name(row), ns, why }));
    let mut picked: Vec<Highlight> = picked.collect();
    picked.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    picked.truncate(MOST);
    picked
}

/// Up to five surprises, by the rule above.
pub fn surprises(detail: &Detail) -> Vec<Highlight> {
    let kinds = [named_after_a_call(detail), slower_than_entering(detail), two_modes(detail), far_from_area(detail)];
    let longest = kinds.iter().map(Vec::len).max().unwrap_or(0);
    let mut chosen: Vec<Highlight> = Vec::new();
    for start in (0..longest).step_by(TURN) {
        for item in kinds.iter().flat_map(|kind| kind.iter().skip(start).take(TURN)) {
            if chosen.iter().all(|other| other.name != item.name) {
                chosen.push(item.clone());
            }
        }
    }
    chosen.truncate(MOST);
    chosen
}

/// The name of a system call in the operation or snippet: `getpid` for `call.getpid`.
fn system_call_name(row: &Row) -> Option<&str> {
    let text = row.case.operation.as_str();
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.skip(usize::from(row.case.language.is_none())).find(|word| crate::syscall_names::is_known(word))
}

fn named_after_a_call(detail: &Detail) -> Vec<Highlight> {
    top(&detail.summary.rows, |row| {
        let ns = cost(row).filter(|_| kernel(row) == Kernel::Never)?;
        let call = system_call_name(row)?;
        Some((ns, format!("named after {call} but makes no system call: answered in user space")))
    })
}

fn slower_than_entering(detail: &Detail) -> Vec<Highlight> {
    let all = detail.summary.rows.iter().chain(&detail.summary.baselines);
    let reference = all.filter(|row| row.case.operation == REFERENCE && row.case.language.is_none()).find_map(cost);
    let Some(reference) = reference else { return Vec::new() };
    top(&detail.summary.rows, |row| {
        let ns = cost(row).filter(|ns| kernel(row) == Kernel::Never && *ns > reference)?;
        let times = three_figures(ns / reference);
        Some((ns, format!("no system call, but {times} times the cost of getppid")))
    })
}

fn two_modes(detail: &Detail) -> Vec<Highlight> {
    let by_row: HashMap<String, &Distribution> = detail
        .summary
        .rows
        .iter()
        .zip(&detail.distributions)
        .filter_map(|(row, one)| Some((name(row), one.as_ref()?)))
        .collect();
    top(&detail.summary.rows, |row| {
        let words = modes_in_words(by_row.get(&name(row))?)?;
        Some((cost(row)?, format!("two modes: {words}")))
    })
}

fn far_from_area(detail: &Detail) -> Vec<Highlight> {
    let rows = &detail.summary.rows;
    let per_entry = |row: &Row| {
        let entries = row.entries.as_ref()?.total();
        Some(cost(row)? / entries).filter(|each| kernel(row) == Kernel::Enters && each.is_finite())
    };
    let mut areas: HashMap<&str, Vec<f64>> = HashMap::new();
    for row in rows {
        areas.entry(area(&row.case)).or_default().extend(per_entry(row));
    }
    let medians: HashMap<&str, f64> = areas
        .into_iter()
        .filter(|(_, all)| all.len() >= 3)
        .filter_map(|(a, all)| Some((a, crate::stats::median(all)?)))
        .collect();
    top(rows, |row| {
        let (each, usual) = (per_entry(row)?, *medians.get(area(&row.case))?);
        let words = format!(
            "{} ns per kernel entry, against a median of {} ns in its area",
            nanoseconds(each),
            nanoseconds(usual)
        );
        (each > FAR * usual).then_some((cost(row)?, words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{counted, run};
    use crate::model::{Block, Case, Measurement, Outcome, Record};

    /// A record of this cost, in nanoseconds, that makes these system calls.
    fn costing(operation: &str, ns: impl Fn(u64) -> u64, entries: &[(&str, f64)]) -> Record {
        let block = |i: u64| Block { launch: 0, slots: vec![(0..10).map(|j| ns(10 * i + j)).collect()] };
        let m = Measurement { iterations: 1, blocks: (0..12).map(block).collect(), ..Measurement::default() };
        counted(Record::new(Case::native(operation), Outcome::Measured(m)), entries)
    }

    fn detail() -> Detail {
        Detail::new(&run(vec![
            costing("id.getppid", |_| 100, &[("getppid", 1.0)]),
            costing("call.getpid", |_| 2, &[]),
            costing("mem.fault", |_| 900, &[]),
            costing("file.stat", |_| 300, &[("newfstatat", 1.0)]),
            costing("file.lstat", |_| 310, &[("newfstatat", 1.0)]),
            costing("file.fsync", |_| 50_000, &[("fsync", 1.0)]),
            costing("ipc.pipe", |i| if i % 3 == 0 { 6000 } else { 4000 }, &[("read", 1.0)]),
            costing("call.direct", |_| 1, &[]),
        ]))
    }

    fn names(items: &[Highlight]) -> Vec<&str> {
        items.iter().map(|item| item.name.as_str()).collect()
    }

    #[test]
    fn lists_hold_the_slowest_of_their_kind() {
        let detail = detail();
        let slowest = slowest(&detail.summary);
        assert_eq!(names(&slowest), ["file.fsync", "ipc.pipe", "mem.fault", "file.lstat", "file.stat"]);
        assert_eq!((slowest[0].ns, slowest[0].why.as_str()), (50_000.0, "fsync x1"));
        assert_eq!(names(&no_system_calls(&detail.summary)), ["mem.fault", "call.getpid", "call.direct"]);
        assert_eq!(never_enters(&detail.summary), 3);
    }

    #[test]
    fn cold_calls_and_what_depends_on_history_are_not_ranked() {
        let mut cold = costing("file.stat", |_| 9_000, &[("newfstatat", 1.0)]);
        cold.case.params.insert("cold".into(), 4096);
        let mut removed = costing("file.creat_unlink", |_| 98_000, &[("unlink", 1.0)]);
        let Outcome::Measured(m) = &mut removed.outcome else { unreachable!() };
        m.history = true;
        let detail = Detail::new(&run(vec![cold, removed, costing("file.stat", |_| 300, &[("newfstatat", 1.0)])]));
        assert_eq!(slowest(&detail.summary).iter().map(|item| item.ns).collect::<Vec<_>>(), [300.0]);
    }

    #[test]
    fn each_kind_of_surprise_is_listed_with_its_reason() {
        let surprises = surprises(&detail());
        assert_eq!(names(&surprises), ["call.getpid", "mem.fault", "ipc.pipe", "file.fsync"]);
        let starts = [
            "named after getpid",
            "no system call, but 9.00 times",
            "two modes: 4,000 ns",
            "50,000 ns per kernel entry",
        ];
        for (item, start) in surprises.iter().zip(starts) {
            assert!(item.why.starts_with(start), "{item:?}");
        }
    }

    #[test]
    fn uncounted_operations_are_not_said_to_make_no_system_call() {
        let mut unknown = costing("call.getpid", |_| 2, &[]);
        unknown.entries = None;
        let detail = Detail::new(&run(vec![unknown]));
        assert_eq!((never_enters(&detail.summary), surprises(&detail)), (0, vec![]));
    }
}
