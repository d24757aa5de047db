//! An attribution on one screen: where the wall time went, the calls with most of it and who made
//! them, what could be saved, and what they would cost elsewhere.

use super::ledger::ledger_table;
use super::rings::{rings, shoot_downs};
use super::time::{LEAST, time_table};
use super::{advice, csv, elsewhere, notes};
use crate::numbers::{TimeUnit, counted, percent, seconds};
use crate::profile::notes::{title, tree};
use crate::{Cell, Columns, Table};
use analysis::attribute::Attribution;
use analysis::attribute::calls::CallRow;
use analysis::attribute::seconds::s;
use analysis::attribute::spent::{PartKind, Spent};
use analysis::compare::RaceFound;
use document::{Block, Document};
use model::program::ProgramInKernels;
use model::{CallCount, JsonDocument, Profile};
use schemars::JsonSchema;
use serde::Serialize;

const MOST_CALLS: usize = 5;
const MOST_LOCKS: usize = 3;
const MOST_SAVINGS: usize = 5;
const MOST_PATHS: usize = 4;
const MOST_WARNINGS: usize = 2;

/// From this share of user mode on, system calls are not the problem.
const USER_BOUND: f64 = 0.8;

/// What `syscost why` prints: where the time of a command went, and what could be saved.
#[derive(Serialize, JsonSchema)]
pub struct WhyDocument<'a> {
    #[serde(flatten)]
    pub found: &'a Attribution,
    /// Of `--env`: the command in environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<&'a RaceFound>,
    /// Of `--env`: the command in emulated kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<&'a ProgramInKernels>,
}

impl JsonDocument for WhyDocument<'_> {
    const SCHEMA: &'static str = "syscost.why/1";
}

pub fn why_document(profile: &Profile, attribution: &Attribution) -> Document {
    Document {
        blocks: why_tables(profile, attribution)
            .into_iter()
            .map(Block::Table)
            .collect(),
        records: csv::records(attribution),
    }
}

fn why_tables(profile: &Profile, attribution: &Attribution) -> Vec<Table> {
    let title = title(profile);
    let threads = attribution.threads.as_ref();
    // Services have no end that something could delay: their wall time is not divided.
    let by_wall = threads.is_none() || !profile.is_service();
    let threads = threads.map(|ledger| ledger_table(profile, &title, attribution, ledger));
    let wall = if by_wall {
        Some(time_table(&title, &attribution.time, &attribution.waits))
    } else {
        None
    };
    let mut tables: Vec<Table> = threads.into_iter().chain(wall).collect();
    if let Some(last) = tables.last_mut() {
        let verdicts = verdicts(attribution, by_wall).into_iter();
        last.notes.extend(verdicts.chain(gap(profile)));
    }
    tables.extend([
        calls(profile, attribution),
        rings(profile, attribution),
        savings(profile, attribution),
    ]);
    tables.extend(attribution.elsewhere.iter().map(elsewhere::table));
    if let Some(last) = tables.last_mut() {
        let incomplete = if attribution.incomplete {
            Some("the profile is incomplete: all counts are lower bounds".to_string())
        } else {
            None
        };
        let warnings = incomplete
            .iter()
            .chain(&attribution.warnings)
            .take(MOST_WARNINGS);
        last.notes
            .extend(warnings.map(|warning| format!("Warning: {}.", warning.trim_end_matches('.'))));
    }
    tables.retain(|table| !table.rows().is_empty() || !table.notes.is_empty());
    tables.iter().map(Table::without_empty).collect()
}

fn verdicts(attribution: &Attribution, by_wall: bool) -> Vec<String> {
    attribution
        .entering
        .as_ref()
        .map(|entering| {
            let of = match (entering.of_wall, is_traced(&attribution.time)) {
                (true, true) => "of the wall time without tracing",
                (true, false) => "of the wall time",
                (false, _) => "of the CPU time",
            };
            // Behind stops only the least time of calls is known.
            let at_most = if attribution.time.seconds_of(PartKind::Stops) > 0.0 {
                "at most "
            } else {
                ""
            };
            format!(
                "If entering the kernel cost nothing: {at_most}{}% less {of} ({} x {:.0} ns).",
                percent(100.0 * entering.share),
                counted(entering.calls, "call"),
                entering.null_call_ns
            )
        })
        .into_iter()
        .chain(stopped(&attribution.time))
        .chain(if by_wall {
            user_bound(&attribution.time)
        } else {
            None
        })
        .collect()
}

fn stopped(time: &Spent) -> Option<String> {
    let is_hidden = time.seconds_of(PartKind::Stops) > 0.0;
    if !is_hidden {
        return None;
    }
    Some("ptrace stops the program at each call for longer than most calls take, so the time of calls is not known; as root, eBPF \
         measures it."
            .to_string())
}

/// Whether tracing is a row of the table of parts.
fn is_traced(time: &Spent) -> bool {
    let traced_s = time.seconds_of(PartKind::Tracer) + time.seconds_of(PartKind::Stops);
    time.whole_s()
        .is_some_and(|whole_s| traced_s >= LEAST * whole_s)
}

/// From this share of the wall time on, the longest time between two calls is shown.
const LEAST_GAP: f64 = 0.01;

fn gap(profile: &Profile) -> Option<String> {
    let usage = &profile.usage;
    let gap = usage.longest_gap.as_ref()?;
    let with = match profile.all_calls().elapsed_ns {
        Some(_) => "",
        None => ", with the first of them",
    };
    if gap.ns as f64 >= LEAST_GAP * usage.wall_ns? as f64 {
        Some(format!(
            "The longest time between two calls{with}: {} s, from {} to {} (line {}).",
            seconds(s(gap.ns)),
            gap.after,
            gap.before,
            gap.line
        ))
    } else {
        None
    }
}

/// Waiting for a CPU is not counted: that is the doing of other programs.
fn user_bound(time: &Spent) -> Option<String> {
    let (whole_s, user_s) = (time.whole_s()?, time.seconds_of(PartKind::UserMode));
    let waiting_s = time.seconds_of(PartKind::WaitingForCpu);
    let share = user_s / (whole_s - waiting_s);
    if share.is_nan() || share < USER_BOUND {
        return None;
    }
    let of = match time.wall_s {
        Some(_) => "wall time",
        None => "CPU time",
    };
    let without = if waiting_s > 0.0 {
        format!(
            ", {}% of what is left without waiting for a CPU",
            percent(100.0 * share)
        )
    } else {
        String::new()
    };
    Some(format!(
        "System calls are not the problem: {}% of the {of} is user mode{without}; 'perf record -g' shows its functions.",
        percent(100.0 * user_s / whole_s)
    ))
}

/// From this share of the wall time on, a lock of the kernel is shown.
const LEAST_LOCKED: f64 = 0.01;

fn kernel_locks(attribution: &Attribution) -> Option<String> {
    let least_s = LEAST_LOCKED * attribution.time.wall_s.unwrap_or(0.0);
    let shown = attribution
        .locks
        .iter()
        .filter(|lock| s(lock.waited_ns) > least_s);
    let own: Vec<String> = shown.take(MOST_LOCKS).map(notes::kernel_lock).collect();
    if own.is_empty() {
        return None;
    }
    Some(format!(
        "Kernel locks, summed over threads: {}.",
        own.join(", ")
    ))
}

fn calls(profile: &Profile, attribution: &Attribution) -> Table {
    let shown = &attribution.calls[..attribution.calls.len().min(MOST_CALLS)];
    let others = others(&attribution.calls[shown.len()..]);
    let rows: Vec<&CallRow> = shown.iter().chain(&others).collect();
    let unit = TimeUnit::of(rows.iter().map(|row| row.seconds()).fold(0.0, f64::max));
    let time = |of: fn(&CallCount) -> Option<u64>| {
        move |row: &&CallRow| {
            let unknown = row.count.is_untimed();
            Cell::known_unless(unknown, of(&row.count).map(s), |seconds| unit.text(seconds))
        }
    };
    let by_threads = attribution.threads.is_some();
    let waiting: fn(&CallCount) -> Option<u64> = match by_threads {
        true => |count| count.blocked_ns,
        false => |count| count.stalled_ns,
    };
    let elapsed = if profile.is_table() {
        "time"
    } else {
        "elapsed"
    };
    let columns = Columns::of(&rows)
        .left("call", |row| &row.count.call)
        .right("calls", |row| row.count.calls)
        .right("errors", |row| {
            Some(row.count.failures()).filter(|failures| *failures > 0)
        })
        .right(&unit.title("on CPU"), time(|count| count.on_cpu_ns))
        .right(&unit.title("waiting"), time(waiting))
        .right(&unit.title(elapsed), |row| {
            Cell::known(row.count.elapsed_ns.map(s), |seconds| unit.text(seconds))
        })
        .right("us each", |row| {
            let timed = row.count.calls.saturating_sub(row.count.untimed);
            let each = each_s(row, by_threads) * 1e6 / timed.max(1) as f64;
            let known = Some(each).filter(|each| *each > 0.0);
            Cell::known_unless(row.count.is_untimed(), known, |each| format!("{each:.2}"))
        })
        .left("who", |row| match &row.function {
            Some(function) => format!("{} ({function})", row.process),
            None => row.process.clone(),
        });
    let stalled = attribution
        .calls
        .iter()
        .any(|row| row.count.stalled_ns.is_some());
    let note = match (by_threads, stalled) {
        (true, _) => Some("Waiting and us each: elapsed, summed over threads."),
        (false, true) => Some("Waiting: nothing else in the program ran meanwhile."),
        (false, false) => None,
    };
    let notes = note.map(str::to_string).into_iter();
    let by = if by_threads { "time on a CPU" } else { "time" };
    columns
        .table()
        .titled(format!("System calls by {by}"))
        .noted(
            notes
                .chain(kernel_locks(attribution))
                .chain(shoot_downs(profile, attribution))
                .chain(tree(profile, MOST_PATHS)),
        )
}

fn each_s(row: &CallRow, by_threads: bool) -> f64 {
    match row.count.elapsed_ns() {
        Some(ns) if by_threads => s(ns),
        _ => row.seconds(),
    }
}

fn others(rows: &[CallRow]) -> Option<CallRow> {
    let mut count = CallCount {
        call: format!("{} others", rows.len()),
        ..CallCount::default()
    };
    rows.iter().for_each(|row| count.add(&row.count));
    if rows.is_empty() {
        return None;
    }
    Some(CallRow {
        count,
        ..CallRow::default()
    })
}

fn savings(profile: &Profile, attribution: &Attribution) -> Table {
    let advice = &attribution.advice[..attribution.advice.len().min(MOST_SAVINGS)];
    let columns = Columns::of(advice)
        .right("saves s", |advice| {
            advice.saved.map_or_else(
                || Cell::from("?"),
                |saved| Cell::number(seconds(saved.value), saved.value),
            )
        })
        .right("range", |advice| {
            advice.saved.map(notes::range).unwrap_or_default()
        })
        .left("what", advice::what)
        .wrapping();
    let notes = if advice.is_empty() {
        advice::none(profile)
    } else {
        Vec::new()
    };
    columns.table().titled("What could be saved").noted(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::attribute::spent::Part;

    #[test]
    fn the_share_of_user_mode_is_that_of_the_table() {
        fn part(kind: PartKind, seconds: f64) -> Part {
            Part {
                kind,
                wall_s: Some(seconds),
                cpu_s: None,
                what: Vec::new(),
            }
        }

        let time = Spent {
            wall_s: Some(10.0),
            parts: vec![
                part(PartKind::WaitingForCpu, 8.0),
                part(PartKind::UserMode, 1.7),
            ],
            ..Spent::default()
        };
        let expected =
            "17% of the wall time is user mode, 85% of what is left without waiting for a CPU; ";
        let actual = user_bound(&time).unwrap();
        assert!(actual.contains(expected), "{actual}");
    }
}
