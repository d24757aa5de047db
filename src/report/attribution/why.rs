//! An attribution on one screen: where the wall time went, the calls with most of it and who made them, what could be saved, and what
//! they would cost elsewhere. Called by `cli::why`.

use super::{advice, csv, elsewhere, notes};
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

/// Parts under this share of the time are in one row together.
const LEAST: f64 = 0.005;

/// Share of the CPU time in user mode from which on system calls are not the problem.
const USER_BOUND: f64 = 0.8;

/// The screen. All of it is in the records for programs.
pub fn why_document(profile: &Profile, found: &Attribution) -> Document {
    let blocks = why_tables(profile, found).into_iter().map(Block::Table).collect();
    Document { blocks, records: csv::records(found) }
}

/// The tables of the screen.
fn why_tables(profile: &Profile, found: &Attribution) -> Vec<Table> {
    let mut tables = parts(profile, found);
    if let Some(last) = tables.last_mut() {
        last.notes.extend(verdicts(found));
    }
    tables.extend([calls(profile, found), savings(profile, found)]);
    tables.extend(found.elsewhere.iter().map(elsewhere::table));
    if let Some(last) = tables.last_mut() {
        let incomplete = found.incomplete.then(|| "the profile is incomplete: all counts are lower bounds".to_string());
        let warnings = incomplete.iter().chain(&found.warnings).take(MOST_WARNINGS);
        last.notes.extend(warnings.map(|warning| format!("Warning: {}.", warning.trim_end_matches('.'))));
    }
    tables.retain(|table| !table.rows().is_empty() || !table.notes.is_empty());
    tables.iter().map(Table::without_empty).collect()
}

/// A row of the first table.
struct Line {
    part: String,
    seconds: f64,
    what: String,
}

/// What the wall time was, and within it the CPU time. The CPU time has a table of its own where the wall time is not known or where
/// several threads ran at once.
fn parts(profile: &Profile, found: &Attribution) -> Vec<Table> {
    let cpu = cpu_lines(found);
    let cpu_s = found.cpu.seconds;
    let Some(path) = &found.wall else {
        let heading = format!("{}: {}", title(profile), whole(cpu_s, "of CPU time"));
        return vec![table(heading, cpu_s, cpu)];
    };
    let heading = format!("{}: {}", title(profile), whole(Some(path.wall_s), "of wall time"));
    if path.serial {
        return vec![table(heading, Some(path.wall_s), within(path, &cpu, cpu_s))];
    }
    let wall = path.parts.iter().map(wall_line).collect();
    let mut tables = vec![table(heading, Some(path.wall_s), wall)];
    tables.extend(cpu_s.map(|s| table(whole(Some(s), "of CPU time, of all threads together"), cpu_s, cpu)));
    tables
}

fn whole(seconds: Option<f64>, kind: &str) -> String {
    seconds.map_or_else(|| "time unknown".to_string(), |s| format!("{} s {kind}", notes::seconds(s)))
}

fn cpu_lines(found: &Attribution) -> Vec<Line> {
    let line = |part: &Part| Line {
        part: notes::part(part.kind).to_string(),
        seconds: part.seconds,
        what: match part.kind {
            PartKind::UserMode => some(&found.cpu.functions, MOST_WAITS),
            PartKind::Calls => busiest(found),
            _ => String::new(),
        },
    };
    found.cpu.parts.iter().map(line).collect()
}

/// The calls with most CPU time.
fn busiest(found: &Attribution) -> String {
    let mut rows: Vec<&CallRow> = found.calls.iter().filter(|row| row.on_cpu_s > Some(0.0)).collect();
    rows.sort_by(|a, b| b.on_cpu_s.unwrap_or(0.0).total_cmp(&a.on_cpu_s.unwrap_or(0.0)));
    some(&rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), MOST_WAITS)
}

/// The parts of the wall time, with the CPU time's in place of that on a CPU.
fn within(path: &Path, cpu: &[Line], cpu_s: Option<f64>) -> Vec<Line> {
    let (on_cpu, others): (Vec<_>, Vec<_>) =
        path.parts.iter().partition(|part| matches!(part.kind, PathKind::OnCpu { .. }));
    let on_cpu_s: f64 = on_cpu.iter().map(|part| part.seconds).sum();
    // Both are measured, by two clocks.
    let scale = cpu_s.filter(|cpu_s| *cpu_s > 0.0).map(|cpu_s| on_cpu_s / cpu_s);
    let mut lines: Vec<Line> = match scale {
        Some(scale) => {
            let of =
                |line: &Line| Line { part: line.part.clone(), seconds: scale * line.seconds, what: line.what.clone() };
            cpu.iter().map(of).collect()
        }
        None => on_cpu.into_iter().map(wall_line).collect(),
    };
    lines.extend(others.into_iter().map(wall_line));
    lines
}

fn wall_line(part: &PathPart) -> Line {
    let what = match &part.kind {
        PathKind::Blocked { calls, .. } => {
            some(&calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), MOST_WAITS)
        }
        _ => String::new(),
    };
    Line { part: notes::path(&part.kind), seconds: part.seconds, what }
}

/// Rows that add up to `whole`, the greatest first; the small ones are one.
fn table(heading: String, whole: Option<f64>, lines: Vec<Line>) -> Table {
    let sum: f64 = lines.iter().map(|line| line.seconds).sum();
    let whole = whole.unwrap_or(sum);
    let (mut shown, small): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|line| line.seconds >= LEAST * whole);
    shown.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let rest: f64 = small.iter().map(|line| line.seconds).sum();
    let names: Vec<&str> = small.iter().map(|line| line.part.as_str()).collect();
    if rest > LEAST * whole / 10.0 {
        shown.push(Line { part: "others".to_string(), seconds: rest, what: some(&names, MOST_WAITS) });
    }
    let unit = TimeUnit::of(whole);
    let columns = [
        Spec::left("part", |line: &Line| line.part.as_str().into()),
        Spec::right(&unit.title("time"), move |line: &Line| Cell::number(unit.text(line.seconds), line.seconds)),
        Spec::right("%", move |line: &Line| {
            let share = if whole > 0.0 { line.seconds / whole } else { 0.0 };
            Cell::number(percent(100.0 * share), share)
        }),
        Spec::left("what", |line: &Line| line.what.as_str().into()).wrapping(),
    ];
    Table::of(&columns, &shown).titled(heading)
}

/// What entering the kernel takes, and whether system calls matter at all.
fn verdicts(found: &Attribution) -> Vec<String> {
    let entering = found.entering.as_ref().map(|own| {
        let of = if own.of_wall { "of the wall time" } else { "of the CPU time" };
        format!(
            "If entering the kernel cost nothing: {}% less {of} ({} calls x {:.0} ns).",
            percent(100.0 * own.share),
            thousands(own.calls as f64),
            own.null_call_ns
        )
    });
    entering.into_iter().chain(user_bound(found)).collect()
}

/// System calls are not the problem of a program that is on a CPU, in user mode, most of the time.
fn user_bound(found: &Attribution) -> Option<String> {
    let user = found.cpu.parts.iter().find(|part| part.kind == PartKind::UserMode)?.seconds;
    let cpu_s = found.cpu.seconds?;
    let on_cpu = |path: &Path| -> f64 {
        let own = path.parts.iter().filter(|part| matches!(part.kind, PathKind::OnCpu { .. }));
        own.map(|part| part.seconds).sum::<f64>() / path.wall_s
    };
    let busy = found.wall.as_ref().map_or(1.0, on_cpu);
    (busy * user / cpu_s >= USER_BOUND).then(|| {
        format!(
            "System calls are not the problem: {}% of the CPU time is user mode; 'perf record -g' shows its functions.",
            percent(100.0 * user / cpu_s)
        )
    })
}

fn calls(profile: &Profile, found: &Attribution) -> Table {
    let shown = &found.calls[..found.calls.len().min(MOST_CALLS)];
    let others = others(&found.calls[shown.len()..]);
    let rows: Vec<&CallRow> = shown.iter().chain(&others).collect();
    let unit = TimeUnit::of(rows.iter().map(|row| row.seconds()).fold(0.0, f64::max));
    let column = |what: &str, of: fn(&CallRow) -> Option<f64>| {
        Spec::right(&unit.title(what), move |row: &&CallRow| {
            of(row).map_or(Cell::default(), |seconds| Cell::number(unit.text(seconds), seconds))
        })
    };
    let count = |calls: u64| Cell::number(thousands(calls as f64), calls as f64);
    let columns = [
        Spec::left("call", |row: &&CallRow| row.name.as_str().into()),
        Spec::right("calls", move |row: &&CallRow| count(row.calls)),
        Spec::right(
            "errors",
            move |row: &&CallRow| {
                if row.failures == 0 { Cell::default() } else { count(row.failures) }
            },
        ),
        column("on CPU", |row| row.on_cpu_s),
        column("waiting", |row| row.waiting_s),
        column("elapsed", |row| row.elapsed_s),
        Spec::right("us each", |row: &&CallRow| {
            let each = row.seconds() * 1e6 / row.calls.max(1) as f64;
            if each > 0.0 { Cell::number(format!("{each:.2}"), each) } else { Cell::default() }
        }),
        Spec::left("who", |row: &&CallRow| row.process.as_str().into()),
    ];
    let waiting = found.calls.iter().any(|row| row.waiting_s.is_some());
    let waiting = waiting.then(|| "Waiting: nothing else of the program ran meanwhile.".to_string());
    let notes = waiting.into_iter().chain(tree(profile, MOST_PATHS)).collect();
    Table::of(&columns, &rows).titled("System calls with most time").noted(notes)
}

/// The calls below those that are shown.
fn others(rows: &[CallRow]) -> Option<CallRow> {
    let sum = |of: fn(&CallRow) -> Option<f64>| rows.iter().filter_map(of).reduce(|a, b| a + b);
    (!rows.is_empty()).then(|| CallRow {
        name: format!("{} others", rows.len()),
        calls: rows.iter().fold(0, |sum, row| row.calls.saturating_add(sum)),
        failures: rows.iter().fold(0, |sum, row| row.failures.saturating_add(sum)),
        on_cpu_s: sum(|row| row.on_cpu_s),
        waiting_s: sum(|row| row.waiting_s),
        blocked_s: sum(|row| row.blocked_s),
        elapsed_s: sum(|row| row.elapsed_s),
        process: String::new(),
    })
}

fn savings(profile: &Profile, found: &Attribution) -> Table {
    let advice = &found.advice[..found.advice.len().min(MOST_SAVINGS)];
    let columns = [
        Spec::right("saves s", |advice: &Advice| Cell::number(notes::seconds(advice.saved.value), advice.saved.value)),
        Spec::right("range", |advice: &Advice| notes::range(advice.saved).into()),
        Spec::left("what", |advice: &Advice| advice::what(advice).into()).wrapping(),
    ];
    let notes = if advice.is_empty() { advice::none(profile) } else { Vec::new() };
    Table::of(&columns, advice).titled("What could be saved").noted(notes)
}
