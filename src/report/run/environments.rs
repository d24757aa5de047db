//! The table of a run in several environments: one row per case, with the costs of each environment in columns.

use crate::model::{Case, REFERENCE};
use crate::report::numbers::{nanoseconds, three_figures};
use crate::report::run::columns::{Line, environments};
use crate::report::study::Scaled;
use crate::report::{Cell, Spec, Style, Table};
use crate::stats::Interval;
use crate::summary::{Row, RowCost, Summary};
use indexmap::IndexMap;

/// Maximum number of environments side by side; with more, each record has its own row.
pub const MOST_ENVIRONMENTS: usize = 32;

/// The lines of one case or derived row in all environments.
type Group<'a> = Vec<&'a Line<'a>>;

/// The table for people, without title and notes; `lines` in the order to be shown.
pub fn environment_table(summary: &Summary, lines: &[Line]) -> Table {
    let scaled = Scaled::of(summary);
    let mut specs =
        vec![Spec::left("operation", |group: &Group| group.first().map_or(Cell::default(), |line| line.name.clone()))];
    let paired = summary.rows.iter().any(|row| row.versus.is_some());
    let first = environments(summary).first().copied().filter(|_| paired);
    for environment in environments(summary) {
        let there = move |group: &Group, cell: &dyn Fn(&Line) -> Cell| {
            group.iter().find(|line| line.environment == environment).map_or(Cell::default(), |line| cell(line))
        };
        specs.push(Spec::right(&format!("{environment} ns/op"), move |group| there(group, &cost)));
        specs.push(Spec::right("±", move |group| there(group, &precision)).expendable(2));
        if let Some(first) = first.filter(|first| *first != environment) {
            specs.push(Spec::right(&format!("/ {first}"), move |group| there(group, &versus)));
            specs.push(Spec::right("interval", move |group| there(group, &versus_interval)).expendable(1));
        }
        specs.extend(scaled.as_ref().map(|scaled| {
            let heading = format!("{environment} {}", scaled.heading());
            Spec::right(&heading, move |group| there(group, &|line| scaled.cell(line.scale, line.time))).expendable(1)
        }));
    }
    specs.push(Spec::left("kernel entries", entries_cell).wrapping());
    Table::of(&specs, &grouped(lines))
}

/// The lines grouped by case, in the order of the first line of each.
fn grouped<'a>(lines: &'a [Line<'a>]) -> Vec<Group<'a>> {
    let mut groups: IndexMap<_, Group> = IndexMap::new();
    lines.iter().for_each(|line| groups.entry(key(line)).or_default().push(line));
    groups.into_values().collect()
}

/// A key that is equal for lines that differ only in their environment.
fn key(line: &Line) -> (&'static str, Case) {
    let derived = || Case { name: Some(line.label.to_string()), params: line.params.clone(), ..Case::native("") };
    let case = line.row.map_or_else(derived, |row| row.case.clone());
    (line.kind, Case { environment: String::new(), ..case })
}

/// The cost, or `failed`: the columns are too narrow for the reason, which is in the notes.
fn cost(line: &Line) -> Cell {
    line.failure().map_or_else(|| line.cost.clone(), |_| Cell::styled("failed", Style::Bad))
}

/// The ratio to the first environment, paired round by round.
fn versus(line: &Line) -> Cell {
    let ratio = line.row.and_then(|row| row.versus.as_ref()).map(|versus| versus.ratio.value);
    ratio.map_or(Cell::default(), |ratio| Cell::number(format!("{ratio:.3}"), ratio))
}

fn versus_interval(line: &Line) -> Cell {
    let ends = line.row.and_then(|row| row.versus.as_ref()?.ratio.low_high);
    ends.map_or(Cell::default(), |(low, high)| Cell::from(format!("{low:.3} .. {high:.3}")))
}

fn precision(line: &Line) -> Cell {
    line.failure().map_or_else(|| line.precision.clone(), |_| Cell::default())
}

/// The entries once if they are the same in all environments, else those of each.
fn entries_cell(group: &Group) -> Cell {
    let counted = group.iter().filter(|line| line.failure().is_none());
    let cells: Vec<(&str, Cell)> = counted.map(|line| (line.environment, line.entries.clone())).collect();
    match cells.first() {
        None => Cell::default(),
        Some((_, first)) if cells.iter().all(|(_, cell)| cell == first) => first.clone(),
        Some(_) => {
            let each = cells.iter().map(|(environment, cell)| format!("{environment}: {}", cell.text));
            Cell::from(each.collect::<Vec<_>>().join("; "))
        }
    }
}

/// Why cases failed, by environment.
pub fn failures(rows: &[&Row]) -> Vec<String> {
    let failed = rows.iter().filter_map(|row| Some((row, row.figure.as_ref().err()?)));
    failed.map(|(row, failure)| format!("{} in {}: {failure}", row.case, row.case.environment)).collect()
}

/// What each environment adds to the reference call, in one line: a filter, a tracer or another kernel is a tax on every
/// system call. `None` without a second environment that was timed in the same rounds.
pub fn overheads(summary: &Summary) -> Option<String> {
    let calls = summary.baselines.iter().filter(|row| row.case.is_plain(REFERENCE));
    let mut timed = calls.filter_map(|row| Some((row.case.environment.as_str(), row.figure.as_ref().ok()?)));
    let (first, cost) = timed.next()?;
    let added: Vec<String> = timed.map(|(name, own)| format!("{name} {}", added(cost, own))).collect();
    let whole = nanoseconds(cost.median.0);
    (!added.is_empty()).then(|| format!("{REFERENCE} takes {whole} ns in {first}; {}", added.join(", ")))
}

/// `+40.2 ns (x 1.49)`; `the same` if neither interval excludes it.
fn added(first: &RowCost, other: &RowCost) -> String {
    let apart = |(a, b): (Interval, Interval)| a.high < b.low || b.high < a.low;
    if !first.interval.zip(other.interval).is_none_or(apart) {
        return "the same".to_string();
    }
    let (more, times) = (other.median.0 - first.median.0, other.median / first.median);
    let sign = if more < 0.0 { "-" } else { "+" };
    format!("{sign}{} ns (x {})", nanoseconds(more.abs()), three_figures(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{entering, run};
    use crate::model::{Failure, FailureKind, Outcome, Record};
    use crate::report::run::columns::lines;
    use crate::summary::summarize;

    fn record(environment: &str, entries: &[(&str, f64)]) -> Record {
        let mut record = entering("call.getpid", 100, entries);
        record.case.environment = environment.into();
        record
    }

    #[test]
    fn each_environment_is_a_tax_on_the_reference_call() {
        let call = |environment: &str, ns| {
            let mut record = entering(REFERENCE, ns, &[]);
            record.case.environment = environment.into();
            record
        };
        let all = summarize(&run(vec![call("native", 100), call("filter", 150), call("box", 100)]));
        let expected = "id.getppid takes 100.0 ns in native; filter +50.0 ns (x 1.50), box the same";
        assert_eq!(overheads(&all).as_deref(), Some(expected));
        assert_eq!(overheads(&summarize(&run(vec![call("native", 100)]))), None);
    }

    #[test]
    fn environments_are_columns_and_entries_are_told_apart() {
        let mut failed = record("m32", &[]);
        failed.outcome = Outcome::Failed(Failure::new(FailureKind::Unsupported, "no compiler"));
        let native = record("native", &[("getpid", 1.0)]);
        let summary = summarize(&run(vec![native, record("static", &[("getpid", 2.0)]), failed]));
        let rows: Vec<&Row> = summary.rows.iter().collect();
        let table = environment_table(&summary, &lines(&summary, &rows));
        let text: Vec<&str> = table.rows()[0].iter().map(|cell| cell.text.as_str()).collect();
        let entries = "native: getpid x1; static: getpid x2";
        assert_eq!(text, ["call.getpid", "100.0", "3.5%", "100.0", "3.5%", "failed", "", entries]);
        assert_eq!(table.columns()[5].title, "m32 ns/op");
        assert_eq!(failures(&rows), ["call.getpid in m32: no compiler"]);
        let same = summarize(&run(vec![record("native", &[]), record("static", &[])]));
        let rows: Vec<&Row> = same.rows.iter().collect();
        let table = environment_table(&same, &lines(&same, &rows));
        let text: Vec<&str> = table.rows()[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(text, ["call.getpid", "100.0", "3.5%", "100.0", "3.5%", "1.000", "1.000 .. 1.000", "none"]);
        assert_eq!(table.columns()[5].title, "/ native");
    }
}
