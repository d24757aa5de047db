//! An attribution on one screen: where the wall time went, the calls with most of it, who made them, what could be saved, and what
//! other environments would change. Called by `cli::why`.

use super::{advice, csv, notes, verdict, warnings};
use crate::attribute::Attribution;
use crate::attribute::advice::Advice;
use crate::attribute::breakdown::{CallRow, Part, PartKind};
use crate::attribute::path::{Path, PathKind, PathPart};
use crate::document::{Block, Document};
use crate::model::Profile;
use crate::prose::some;
use crate::report::numbers::{TimeUnit, percent, thousands};
use crate::report::profile::notes::{title, tree};
use crate::report::{Cell, Spec, Table};

/// Rows and lines of each part of the screen.
const MOST_CALLS: usize = 5;
const MOST_SAVINGS: usize = 5;
const MOST_PATHS: usize = 4;
const MOST_WARNINGS: usize = 2;
const MOST_WAITS: usize = 4;

/// Parts under this share of the time have no row.
const LEAST: f64 = 0.005;

/// Below predictions.
const MEASURED: &str = "These are predictions; 'syscost race --env NAMES -- COMMAND' measures.";

/// The screen. All of it is in the records for programs.
pub fn why_document(profile: &Profile, found: &Attribution) -> Document {
    let mut tables = parts(profile, found);
    tables.extend([calls(profile, found), savings(profile, found)]);
    if let Some(last) = tables.last_mut() {
        last.notes.extend(found.versus.iter().map(|change| format!("{}: {}", change.there, verdict::wall(change))));
        last.notes.extend((!found.versus.is_empty()).then(|| MEASURED.to_string()));
        let warnings = found.warnings.iter().take(MOST_WARNINGS);
        last.notes.extend(warnings.map(|warning| format!("Warning: {}.", warnings::warning(warning))));
    }
    tables.retain(|table| !table.rows().is_empty() || !table.notes.is_empty());
    let blocks = tables.iter().map(Table::without_empty).map(Block::Table).collect();
    Document { blocks, records: csv::records(found) }
}

/// A row of the first table.
struct Line {
    part: String,
    seconds: f64,
    share: f64,
    what: String,
}

/// What the wall time was, and within it the CPU time. The CPU time has a table of its own where the wall time is not known or where
/// several threads ran at once, so that both have their own shares.
fn parts(profile: &Profile, found: &Attribution) -> Vec<Table> {
    let account = &found.here.account;
    let of_cpu = |prefix: &str, whole: f64| -> Vec<Line> {
        account.parts.iter().filter_map(|part| in_cpu_time(part, prefix, whole)).collect()
    };
    let Some(path) = &found.here.path else {
        let heading = format!("{}: {}", title(profile), whole(account.whole, "of CPU time"));
        return vec![table(heading, account.whole, &account.whole.map_or_else(Vec::new, |whole| of_cpu("", whole)))];
    };
    let within = if path.serial { of_cpu("  ", path.wall_s) } else { Vec::new() };
    let heading = format!("{}: {}", title(profile), whole(Some(path.wall_s), "of wall time"));
    let mut tables = vec![table(heading, Some(path.wall_s), &wall_lines(path, within, found))];
    if let Some(cpu_s) = account.whole.filter(|_| !path.serial) {
        tables.push(table(whole(Some(cpu_s), "of CPU time, of all threads together"), Some(cpu_s), &of_cpu("", cpu_s)));
    }
    tables
}

fn whole(seconds: Option<f64>, kind: &str) -> String {
    seconds.map_or_else(|| "time unknown".to_string(), |s| format!("{} s {kind}", notes::seconds(s)))
}

fn table(heading: String, whole: Option<f64>, lines: &[Line]) -> Table {
    let lines: Vec<&Line> = lines.iter().filter(|line| line.share >= LEAST).collect();
    let unit = TimeUnit::of(whole.unwrap_or(0.0));
    let columns = [
        Spec::left("part", |line: &&Line| line.part.as_str().into()),
        Spec::right(&unit.title("time"), move |line: &&Line| Cell::number(unit.text(line.seconds), line.seconds)),
        Spec::right("%", |line: &&Line| Cell::number(percent(100.0 * line.share), line.share)),
        Spec::left("what", |line: &&Line| line.what.as_str().into()).wrapping(),
    ];
    Table::of(&columns, &lines).titled(heading)
}

/// The parts of the wall time; below that on a CPU, the lines of `within` and what has no measured time.
fn wall_lines(path: &Path, within: Vec<Line>, found: &Attribution) -> Vec<Line> {
    let (on_cpu, others): (Vec<_>, Vec<_>) =
        path.parts.iter().partition(|part| matches!(part.kind, PathKind::OnCpu { .. }));
    let is_priced = |part: &&Part| matches!(part.kind, PartKind::Priced { .. } | PartKind::AllCrossings { .. });
    let priced = found.here.account.beside.iter().filter(is_priced);
    let line = |part: &PathPart| wall_line(path, part);
    let mut lines: Vec<Line> = on_cpu.into_iter().map(line).collect();
    lines.extend(within);
    lines.extend(priced.filter_map(|part| in_cpu_time(part, "  ", path.wall_s)));
    lines.extend(others.into_iter().map(line));
    lines
}

fn wall_line(path: &Path, part: &PathPart) -> Line {
    let (name, _) = notes::path(&part.kind);
    let what = match &part.kind {
        PathKind::Blocked { calls, .. } => {
            some(&calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), MOST_WAITS)
        }
        _ => String::new(),
    };
    Line { part: name, seconds: part.seconds, share: part.seconds / path.wall_s, what }
}

fn in_cpu_time(part: &Part, prefix: &str, whole: f64) -> Option<Line> {
    let what = match part.kind {
        PartKind::OffCpu => return None,
        PartKind::Faults { count, .. } => format!("{} page faults", thousands(count as f64)),
        PartKind::Crossings => "entering and leaving the kernel".to_string(),
        PartKind::Tracer => "added by tracing".to_string(),
        _ => String::new(),
    };
    let seconds = part.seconds.value;
    Some(Line { part: format!("{prefix}{}", notes::part(&part.kind).0), seconds, share: seconds / whole, what })
}

/// On a CPU, by unit costs where that was not measured.
fn on_cpu_s(row: &CallRow) -> Option<f64> {
    row.on_cpu_s.or(row.priced.map(|priced| priced.value))
}

/// In the call, with waiting.
fn time(row: &CallRow) -> f64 {
    [on_cpu_s(row), row.runnable_s, row.blocked_s].into_iter().flatten().sum()
}

fn calls(profile: &Profile, found: &Attribution) -> Table {
    let mut rows: Vec<&CallRow> = found.here.rows.iter().collect();
    rows.sort_by(|a, b| time(b).total_cmp(&time(a)));
    let more = rows.len().saturating_sub(MOST_CALLS);
    rows.truncate(MOST_CALLS);
    let unit = TimeUnit::of(rows.first().map_or(0.0, |row| time(row)));
    let column = |what: &str, of: fn(&CallRow) -> Option<f64>| {
        Spec::right(&unit.title(what), move |row: &&CallRow| {
            of(row).map_or(Cell::default(), |seconds| Cell::number(unit.text(seconds), seconds))
        })
    };
    let columns = [
        Spec::left("call", |row: &&CallRow| row.call.as_str().into()),
        Spec::right("calls", |row: &&CallRow| Cell::number(thousands(row.calls as f64), row.calls as f64)),
        column(if found.here.measured { "on CPU" } else { "by unit cost" }, on_cpu_s),
        column("runnable", |row| row.runnable_s),
        column("blocked", |row| row.blocked_s),
        Spec::right("us each", move |row: &&CallRow| {
            let each = time(row) * 1e6 / row.calls.max(1) as f64;
            Cell::number(format!("{each:.2}"), each)
        }),
    ];
    let mut notes: Vec<String> =
        (more > 0).then(|| format!("{more} more system calls took less.")).into_iter().collect();
    notes.extend(tree(profile, MOST_PATHS));
    Table::of(&columns, &rows).titled("System calls with most time").noted(notes)
}

fn savings(profile: &Profile, found: &Attribution) -> Table {
    let advice = &found.advice[..found.advice.len().min(MOST_SAVINGS)];
    let columns = [
        Spec::right("saves s", |advice: &Advice| Cell::number(notes::seconds(advice.saved.value), advice.saved.value)),
        Spec::right("range", |advice: &Advice| notes::range(advice.saved).into()),
        Spec::left("what", |advice: &Advice| advice::what(advice).into()).wrapping(),
    ];
    let nothing = || advice::none(profile).into_iter().take(1);
    let notes = if advice.is_empty() { nothing().collect() } else { Vec::new() };
    Table::of(&columns, advice).titled("What could be saved").noted(notes)
}
