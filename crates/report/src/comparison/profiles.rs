//! Profiles side by side, as a table with notes, and the findings of their gate.

use super::gate::{Finding, Outcome, finding_lines, rows};
use crate::comparison::row::{number, share};
use crate::numbers::{signed, thousands};
use crate::profile::class;
use crate::profile::notes::CLASSES;
use crate::{Cell, Columns, Records, Style, Table};
use analysis::compare::{
    Budget, CountKind, Counts, Exceeded, MEMORY, Part, ProfileComparison, ProfileGatedRow,
    ProfileRow, ProfileVerdict, Span,
};
use document::{Block, Document};
use indexmap::IndexMap;
use itertools::Itertools;
use model::prose::{counted, note_on, plural, some};
use model::{ObjectKind, Profile};
use std::cmp::Reverse;

const MOST_PATHS: usize = 3;

/// The table of calls, which continues below itself if there are more than two columns, and the gate's verdict.
pub fn profiles_document(comparison: &ProfileComparison) -> Document {
    let table = calls_side_by_side(comparison)
        .titled(headline(comparison))
        .noted(notes(comparison));
    let table = if comparison.columns.len() == 2 {
        Block::Table(table)
    } else {
        Block::Pages(table)
    };
    Document {
        blocks: vec![Block::Message(verdict(comparison)), table],
        records: records(comparison),
    }
}

/// `3 system calls changed, 27 unchanged`
fn headline(comparison: &ProfileComparison) -> String {
    let noun = if comparison.total.is_some() {
        "system call"
    } else {
        "count"
    };
    match (comparison.rows.len(), comparison.left_out) {
        (_, 0) => String::new(),
        (0, same) => format!("Unchanged: all {}.", counted(same, noun)),
        (changed, same) => format!("{} changed, {same} unchanged.", counted(changed, noun)),
    }
}

type Quantities = fn(&Counts) -> Option<Span>;

/// Whether the gate fails because of such a count.
fn has_grown(comparison: &ProfileComparison, of: CountKind) -> bool {
    let mut rows = comparison.gate.iter().flat_map(|gate| &gate.rows);
    rows.any(
        |row| matches!(row.verdict, ProfileVerdict::Grown { count_kind, .. } if count_kind == of),
    )
}

fn calls_side_by_side(comparison: &ProfileComparison) -> Table {
    let rows: Vec<&ProfileRow> = comparison.rows.iter().chain(&comparison.total).collect();
    let mut columns = Columns::new(&rows).left("call", |row| &row.call);

    for (index, column) in comparison.columns.iter().enumerate() {
        columns = columns.right(&format!("calls {}", column.label), |row| {
            span(row, index, |counts| Some(counts.calls))
        });
    }
    for column in (0..comparison.columns.len()).filter(|column| *column != comparison.baseline) {
        let title = if comparison.columns.len() == 2 {
            "change".into()
        } else {
            format!("change {}", comparison.columns[column].label)
        };
        columns = columns.right(&title, |row| change(row, column, comparison.baseline));
    }
    let mut counts = rows.iter().flat_map(|row| &row.counts);
    let timed = if counts.any(|c| c.on_cpu_ns.is_some_and(|span| span.most > 0)) {
        &comparison.columns[..]
    } else {
        &[]
    };
    for (index, column) in timed.iter().enumerate() {
        columns = columns
            .right(&format!("CPU ms {}", column.label), |row| {
                on_cpu(row, index)
            })
            .expendable(2);
    }
    for (name, count_kind, quantity, order) in [
        (
            "errors",
            CountKind::Errors,
            (|c| Some(c.errors)) as Quantities,
            3,
        ),
        ("bytes", CountKind::Bytes, |c| c.bytes, 4),
    ] {
        let order = order * u8::from(!has_grown(comparison, count_kind));
        for (index, column) in comparison.columns.iter().enumerate() {
            columns = columns
                .right(&format!("{name} {}", column.label), |row| {
                    span(row, index, quantity)
                })
                .expendable(order);
        }
    }
    let last = comparison.rows.len();
    columns
        .left("what", |row| what(row))
        .wrapping()
        .table()
        .with_headings(|row| row == last)
        .without_empty()
}

/// `1,204`, or over runs that differ `1,198 .. 1,207`.
pub fn span(row: &ProfileRow, column: usize, quantity: impl Fn(&Counts) -> Option<Span>) -> Cell {
    quantity(&row.counts[column])
        .filter(|span| span.most > 0)
        .map_or(Cell::default(), |span| {
            Cell::number(spelled(span), span.median as f64)
        })
}

fn spelled(span: Span) -> String {
    let (least, most) = (thousands(span.least as f64), thousands(span.most as f64));
    if least == most {
        least
    } else {
        format!("{least} .. {most}")
    }
}

fn on_cpu(row: &ProfileRow, column: usize) -> Cell {
    Cell::known(
        row.counts[column]
            .on_cpu_ns
            .map(|ns| ns.median as f64 / 1e6),
        |ms| format!("{ms:.3}"),
    )
}

/// `+231 (x2.16)`, by medians; `ranges overlap` if the ranges of the two columns do.
pub fn change(row: &ProfileRow, column: usize, baseline: usize) -> Cell {
    let (counts, base) = (&row.counts[column], &row.counts[baseline]);
    let (counts, base) = (counts.calls, base.calls);
    // Overlapping ranges of repeated runs show no change, even if their medians differ.
    if counts.least <= base.most && base.least <= counts.most {
        return if counts == base {
            Cell::default()
        } else {
            Cell::styled("ranges overlap", Style::Faint)
        };
    }
    let more = counts.median > base.median;
    let by = signed(counts.median as f64 - base.median as f64, thousands);
    let ratio = if base.median > 0 {
        format!(" (x{})", number(counts.median as f64 / base.median as f64))
    } else {
        " (new)".into()
    };
    Cell::styled(by + &ratio, if more { Style::Bad } else { Style::Good })
}

/// `+180 depth 3, -118 ENOENT`
pub fn what(row: &ProfileRow) -> String {
    let parts = row.grew.iter().chain(&row.fell).flatten();
    parts
        .filter(|part| says_more(part, &row.call))
        .sorted_by_key(|part| std::cmp::Reverse(part.calls.abs_diff(part.baseline_calls)))
        .take(2)
        .map(|part| grown(part, &row.call))
        .join(", ")
}

/// Calls without classes have one part: themselves.
fn says_more(part: &Part, row: &str) -> bool {
    part.call != row || !part_name(part).is_empty()
}

fn grown(part: &Part, row: &str) -> String {
    let by = part.calls as f64 - part.baseline_calls as f64;
    format!("{} {}", signed(by, thousands), named(part, row))
}

/// The error or the class of a part: `ENOENT`, `depth 3`.
pub fn part_name(part: &Part) -> String {
    part.error.clone().unwrap_or_else(|| class(&part.class))
}

/// `depth 3`, `ENOENT`, `openat depth 3`
fn named(part: &Part, row: &str) -> String {
    let class = part_name(part);
    match part.call.as_str() {
        call if class.is_empty() => call.to_string(),
        call if call != row => format!("{call} {class}"),
        _ => class,
    }
}

fn notes(comparison: &ProfileComparison) -> Vec<String> {
    let mut notes = Vec::new();
    for column in &comparison.columns {
        let command = match column.command.join(" ") {
            none if none.is_empty() => "an unknown command".to_string(),
            command => command,
        };
        let incomplete = if column.complete {
            ""
        } else {
            "; incomplete: its counts are lower bounds"
        };
        notes.push(format!(
            "{}: {} of {command}, traced by {}{incomplete}",
            column.label,
            counted(column.runs, "run"),
            column.tracer
        ));
    }
    if comparison.total.is_none() {
        notes.push(format!(
            "Counts are per iteration: a whole number, or a range if they are not close to one. Not judged, because they depend on earlier calls: {}.",
            MEMORY.join(", ")
        ));
    }
    notes.extend(lacking(comparison));
    let mut parts = comparison
        .rows
        .iter()
        .flat_map(|row| row.grew.iter().chain(&row.fell).flatten());
    if parts.any(|part| part.class.size.is_some() || part.class.depth.is_some()) {
        notes.push(CLASSES.to_string());
    }
    if !comparison
        .columns
        .iter()
        .map(|column| &column.tracer)
        .all_equal()
    {
        notes.push("Different tracers classify calls and errors differently.".to_string());
    }
    if comparison.columns.iter().any(|column| column.runs > 1) {
        notes.push(
            "a .. b: minimum and maximum over the runs; changes compare medians.".to_string(),
        );
    }
    let rows = comparison.rows.iter().chain(&comparison.total);
    if rows
        .flat_map(|row| &row.counts)
        .any(|counts| counts.on_cpu_ns.is_some())
    {
        notes.push("Times are not judged, because they vary from run to run.".to_string());
    }
    notes
}

/// Sections that are not compared, since another column lacks them.
fn lacking(comparison: &ProfileComparison) -> Vec<String> {
    let columns = &comparison.columns;
    let text = "sections not compared, because another file lacks them";
    let notes = columns.iter().filter_map(|column| {
        let names = column.sections.iter();
        let alone = names.filter(|name| !columns.iter().all(|one| one.sections.contains(name)));
        note_on(&format!("{}: {text}", column.label), alone)
    });
    notes.collect()
}

/// The gate's decision on each call; empty without a gate.
pub fn profile_findings(comparison: &ProfileComparison) -> Vec<Finding> {
    let Some(gate) = &comparison.gate else {
        return Vec::new();
    };
    gate.rows
        .iter()
        .map(|row| finding(comparison, row, gate.limit))
        .collect()
}

fn finding(comparison: &ProfileComparison, row: &ProfileGatedRow, limit: f64) -> Finding {
    let (outcome, text) = match &row.verdict {
        ProfileVerdict::Passed | ProfileVerdict::Unclear { .. } => (Outcome::Passed, String::new()),
        ProfileVerdict::Grown {
            count_kind,
            span,
            base,
        } => {
            let text = format!(
                "{}: {} {} in {}, {} in {}, over {}{}",
                row.call,
                spelled(*span),
                plural(span.most, noun(*count_kind, &row.call)),
                comparison.columns[row.column].label,
                spelled(*base),
                comparison.columns[comparison.baseline].label,
                share(limit),
                match count_kind {
                    // Calls do not explain bytes.
                    CountKind::Bytes => String::new(),
                    CountKind::Calls | CountKind::Errors => grew_of(comparison, row),
                }
            );
            (Outcome::Failed, text)
        }
    };
    Finding {
        name: row.call.clone(),
        outcome,
        text,
    }
}

/// `: +180 depth 3, +118 ENOENT`
fn grew_of(comparison: &ProfileComparison, row: &ProfileGatedRow) -> String {
    let compared_row = comparison.row(&row.call);
    let parts = compared_row.and_then(|compared_row| compared_row.grew.get(row.column));
    let parts = parts.into_iter().flatten();
    let parts = parts.filter(|part| says_more(part, &row.call));
    match some(parts.map(|part| grown(part, &row.call)), 3) {
        none if none.is_empty() => none,
        parts => format!(": {parts}"),
    }
}

/// `budget openat=200 exceeded: 431 calls, of which 380 depth 3, 120 ENOENT; /etc/passwd 40, /etc/group 40, /a 3 and 20 more`
pub fn exceeded_line(exceeded: &Exceeded, profile: &Profile) -> String {
    let call = &exceeded.budget.call;
    let parts = exceeded.parts.iter();
    let parts = parts.map(|part| format!("{} {}", thousands(part.calls as f64), named(part, call)));
    let which = match some(parts, 3) {
        none if none.is_empty() => none,
        parts => format!(", among them {parts}"),
    };
    format!(
        "--budget {} exceeded: {} {}{which}{}",
        exceeded.budget,
        spelled(exceeded.calls),
        plural(exceeded.calls.most, noun(CountKind::Calls, call)),
        paths(&exceeded.budget, profile)
    )
}

/// The paths of most of the calls, if they were recorded.
fn paths(budget: &Budget, profile: &Profile) -> String {
    let objects = profile.objects.iter().filter(|object| {
        let is_named = object.kind == ObjectKind::Path && !object.name.is_empty();
        is_named && budget.section.is_none() && object.count.call == budget.call
    });
    let mut calls: IndexMap<&str, u64> = IndexMap::new();
    for object in objects {
        *calls.entry(&object.name).or_default() += object.count.calls;
    }
    let most = calls
        .into_iter()
        .sorted_by_key(|(_, calls)| Reverse(*calls));
    let most = most.map(|(path, calls)| format!("{path} {}", thousands(calls as f64)));
    match some(most, MOST_PATHS) {
        none if none.is_empty() => none,
        paths => format!("; {paths}"),
    }
}

/// The unit of a row, also of a section's row.
fn noun(count_kind: CountKind, row: &str) -> &'static str {
    match (count_kind, row.rsplit(": ").next()) {
        (CountKind::Calls, Some("processes")) => "process",
        (CountKind::Calls, Some("programs")) => "program",
        (CountKind::Calls, Some("errors")) | (CountKind::Errors, _) => "error",
        (CountKind::Calls, _) => "call",
        (CountKind::Bytes, _) => "byte",
    }
}

fn verdict(comparison: &ProfileComparison) -> Vec<String> {
    let Some(gate) = &comparison.gate else {
        return Vec::new();
    };
    let findings = profile_findings(comparison);
    let failed = findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Failed);
    let mut lines = vec![format!(
        "{} grew by more than {}",
        rows(failed.count(), "call"),
        share(gate.limit)
    )];
    lines.extend(finding_lines(&findings));
    lines
}

fn records(comparison: &ProfileComparison) -> Records {
    let rows = comparison.rows.iter().chain(&comparison.total);
    let lines: Vec<(&ProfileRow, usize)> = rows
        .flat_map(|row| (0..row.counts.len()).map(move |column| (row, column)))
        .collect();
    Columns::new(&lines)
        .field("call", |(row, _)| &row.call)
        .field("file", |(_, column)| &comparison.columns[*column].label)
        .field("calls", |(row, i)| row.counts[*i].calls.median)
        .field("calls_least", |(row, i)| row.counts[*i].calls.least)
        .field("calls_most", |(row, i)| row.counts[*i].calls.most)
        .field("errors", |(row, i)| row.counts[*i].errors.median)
        .field("errors_least", |(row, i)| row.counts[*i].errors.least)
        .field("errors_most", |(row, i)| row.counts[*i].errors.most)
        .field("bytes", |(row, i)| Some(row.counts[*i].bytes?.median))
        .field("on_cpu_ns", |(row, i)| {
            Some(row.counts[*i].on_cpu_ns?.median)
        })
        .field("grew", |(row, column)| {
            let mut parts = row.grew[*column].iter().map(|part| grown(part, &row.call));
            parts.join("; ")
        })
        .records()
}
