//! The calls with most time, and who makes them.

use super::{notes, rings};
use crate::numbers::{TimeUnit, counted};
use crate::profile::notes::{programs, tree};
use crate::{Cell, Columns, Table};
use analysis::attribute::Attribution;
use analysis::attribute::calls::CallRow;
use analysis::attribute::seconds::{added, s};
use model::{CallCount, Profile};

const MOST_LOCKS: usize = 3;

/// From this share of the wall time on, a lock of the kernel is shown.
const LEAST_LOCKED: f64 = 0.01;

fn kernel_locks(attribution: &Attribution) -> Option<String> {
    let least_s = LEAST_LOCKED * attribution.time.wall_s.unwrap_or(0.0);
    let shown = attribution
        .locks
        .iter()
        .filter(|lock| s(lock.waited_ns) > least_s);
    let locks: Vec<String> = shown.take(MOST_LOCKS).map(notes::kernel_lock).collect();
    if locks.is_empty() {
        return None;
    }
    Some(format!(
        "Kernel locks, summed over threads: {}.",
        locks.join(", ")
    ))
}

/// The cells of one time column. All are empty if no row has such a time, so that the column is dropped.
fn time_cell<'r>(
    rows: &[&'r CallRow],
    unit: TimeUnit,
    ns: fn(&CallCount) -> Option<u64>,
) -> impl Fn(&&'r CallRow) -> Cell + use<'r> {
    let is_some = rows.iter().any(|row| ns(&row.count) > Some(0));
    move |row| {
        let unknown = row.count.is_untimed();
        let known = ns(&row.count).filter(|ns| is_some && (!unknown || *ns > 0));
        Cell::known_unless(unknown, known.map(s), |seconds| unit.text(seconds))
    }
}

/// At most so many calls, and as many processes.
pub fn table(profile: &Profile, attribution: &Attribution, most: usize) -> Table {
    let (shown, left_out) = divided(&attribution.calls, most);
    let others = others(&left_out);
    let rows: Vec<&CallRow> = shown.into_iter().chain(&others).collect();
    let unit = TimeUnit::for_seconds(rows.iter().map(|row| row.seconds()).fold(0.0, f64::max));

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
    let columns = Columns::new(&rows)
        .left("call", |row| &row.count.call)
        .right("calls", |row| row.count.calls)
        .right("errors", |row| {
            Some(row.count.failures()).filter(|failures| *failures > 0)
        })
        .right(
            &unit.title("on CPU"),
            time_cell(&rows, unit, |count| count.on_cpu_ns),
        )
        .right(&unit.title("waiting"), time_cell(&rows, unit, waiting))
        .yielding(1)
        .right(&unit.title(elapsed), |row| {
            Cell::known(row.count.elapsed_ns.map(s), |seconds| unit.text(seconds))
        })
        .right("us each", |row| {
            // Untimed calls add no time, so they must not lower the mean.
            let timed = row.count.calls.saturating_sub(row.count.untimed);
            let each = each_s(row, by_threads) * 1e6 / timed.max(1) as f64;
            let known = Some(each).filter(|each| *each > 0.0);
            Cell::known_unless(row.count.is_untimed(), known, |each| format!("{each:.2}"))
        })
        .yielding(2)
        .left("who", |row| match &row.function {
            Some(function) => format!("{}: {}", row.process, notes::function(function)),
            None => row.process.clone(),
        })
        .wrapping();
    let waits = rows.iter().any(|row| waiting(&row.count) > Some(0));
    let notes = legend(by_threads, waits).map(str::to_string).into_iter();
    let runs = by_threads && rows.iter().any(|row| row.count.on_cpu_ns > Some(0));
    let by = if runs { "time on a CPU" } else { "time" };
    columns
        .table()
        .titled(format!("System calls by {by}"))
        .noted(
            notes
                .chain(kernel_locks(attribution))
                .chain(rings::shoot_downs(profile, attribution))
                .chain(programs(profile, most))
                .chain(tree(profile, most)),
        )
}

fn legend(by_threads: bool, waits: bool) -> Option<&'static str> {
    match (by_threads, waits) {
        (true, true) => Some("Waiting and us each: elapsed time, summed over threads."),
        (true, false) => Some("us each: elapsed time, summed over threads."),
        (false, true) => Some("Waiting: time in which nothing else in the program ran."),
        (false, false) => None,
    }
}

fn each_s(row: &CallRow, by_threads: bool) -> f64 {
    match row.count.elapsed_ns() {
        Some(ns) if by_threads => s(ns),
        _ => row.seconds(),
    }
}

/// Those that are shown, and the others. A call that is more frequent than all others together is among the former.
fn divided(calls: &[CallRow], most: usize) -> (Vec<&CallRow>, Vec<&CallRow>) {
    let mut rows: Vec<&CallRow> = calls.iter().collect();
    let all: u64 = added(calls.iter().map(|row| row.count.calls));
    let frequent = rows.iter().position(|row| row.count.calls > all / 2);
    if let Some(place) = frequent.filter(|place| most > 0 && *place >= most) {
        let row = rows.remove(place);
        rows.insert(most - 1, row);
    }
    let left_out = rows.split_off(rows.len().min(most));
    (rows, left_out)
}

fn others(rows: &[&CallRow]) -> Option<CallRow> {
    let mut count = CallCount {
        call: counted(rows.len() as u64, "other"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_more_frequent_than_all_others_is_shown() {
        let row = |call: &str, calls| CallRow {
            count: CallCount {
                call: call.to_string(),
                calls,
                ..CallCount::default()
            },
            ..CallRow::default()
        };
        let names = |rows: Vec<&CallRow>| -> Vec<String> {
            rows.iter().map(|row| row.count.call.clone()).collect()
        };
        let calls = [
            row("fsync", 1),
            row("read", 2),
            row("close", 3),
            row("newfstatat", 20),
        ];
        let (shown, left_out) = divided(&calls, 2);
        assert_eq!(names(shown), ["fsync", "newfstatat"]);
        assert_eq!(names(left_out), ["read", "close"]);
        assert_eq!(names(divided(&calls[..3], 2).0), ["fsync", "read"]);
        assert!(divided(&calls, 0).0.is_empty());
    }
}
