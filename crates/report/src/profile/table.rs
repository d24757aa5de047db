//! A profile as a table: like `strace -c`, but with separate times on the CPU and blocked,
//! quantiles, and the kernel's own accounting below.

use crate::numbers::{TimeUnit, in_seconds, significant, thousands};
use crate::profile::latency::Latency;
use crate::profile::notes;
use crate::profile::sections::sections_table;
use crate::{Cell, Columns, Table};
use model::{By, CallCount, Profile, Total};
use stats::share_interval;

/// The most expensive first, and for people a line of totals.
pub fn profile_table(profile: &Profile, by: By) -> Table {
    if by == By::Section {
        return sections_table(profile);
    }
    let mut totals = profile.totals(by);
    let records = columns(profile, by, &totals).records();
    let rows = totals.len();
    if rows > 0 && covers_all(by) {
        totals.push(Total {
            group: String::new(),
            count: CallCount {
                call: "total".into(),
                ..profile.all_calls()
            },
        });
    }
    let table = columns(profile, by, &totals)
        .table()
        .with_headings(|row| row == rows)
        .with_records(records);
    let none = if rows == 0 {
        notes::none(profile, by)
    } else {
        None
    };
    let notes = none
        .into_iter()
        .chain(notes::of_rows(profile, by))
        .chain(notes::notes(profile));
    table.titled(notes::title(profile)).noted(notes)
}

fn covers_all(by: By) -> bool {
    matches!(
        by,
        By::Call | By::Class | By::Process | By::Cgroup | By::Thread
    )
}

fn group(by: By) -> Option<&'static str> {
    match by {
        By::Call | By::Class | By::Section => None,
        By::Process => Some("process"),
        By::Cgroup => Some("cgroup"),
        By::Thread => Some("thread"),
        By::Error => Some("error"),
        By::Path => Some("path"),
        By::Descriptor => Some("descriptor"),
    }
}

type TotalColumns<'r> = Columns<'r, Total>;

fn columns<'r>(profile: &Profile, by: By, totals: &'r [Total]) -> TotalColumns<'r> {
    let columns = names(by, totals);
    if let Some(samples) = profile.samples() {
        let columns = shares(columns, samples);
        return states(columns, &profile.all_calls(), true);
    }
    let columns = columns
        .counts("calls", "calls", |t| t.count.calls)
        .right("errors", |t| failures(t.count.failures()))
        .expendable(1)
        .shown_if(by != By::Error)
        .field("errors", |t| t.count.failures());
    times(columns, profile, by)
}

fn names(by: By, totals: &[Total]) -> TotalColumns<'_> {
    let mut columns = Columns::new(totals);
    if let Some(title) = group(by) {
        columns = columns.same(title, |t| &t.group);
        if matches!(by, By::Path | By::Descriptor | By::Cgroup) {
            columns = columns.wrapping();
        }
    }
    columns = columns.same("call", |t| &t.count.call);
    if by == By::Class {
        columns = columns.same("class", |t| super::class(&t.count.class));
    }
    columns
}

fn times<'r>(columns: TotalColumns<'r>, profile: &Profile, by: By) -> TotalColumns<'r> {
    let latency = |t: &Total| (by == By::Call).then(|| Latency::new(profile, &t.count.call))?;
    // Only what a log of strace cannot divide has a mean of the whole.
    let all = profile.all_calls();
    let shown = by != By::Error;
    let timed = by == By::Call && !profile.latencies.is_empty();
    let columns = states(columns, &all, shown);
    let columns = each(columns, "CPU us/call", "mean_on_cpu_us", |t| {
        t.count.mean_on_cpu_ns()
    })
    .expendable(3)
    .shown_if(shown && all.on_cpu_ns.is_some());
    let columns = each(columns, notes::mean(profile), "mean_us", |t| {
        t.count.mean_ns()
    })
    .expendable(3)
    .shown_if(shown && all.elapsed_ns.is_some());
    let columns = each(columns, "p50 us", "p50_us", |t| latency(t)?.p50_ns)
        .expendable(4)
        .shown_if(timed);
    let columns = each(columns, "p99 us", "p99_us", |t| latency(t)?.p99_ns)
        .expendable(5)
        .shown_if(timed);
    columns
        .numbers(
            "% wall",
            "wall_percent",
            |p| format!("{p:.1}"),
            |t| percent_of_wall(t.count.elapsed_ns(), profile.usage.wall_ns),
        )
        .shown_if(shown && profile.usage.wall_ns.is_some())
}

fn shares(columns: TotalColumns<'_>, all: u64) -> TotalColumns<'_> {
    fn sampled(t: &Total) -> u64 {
        t.count.samples.unwrap_or(0)
    }

    fn percent_cell(percent: f64) -> Cell {
        Cell::number(format!("{percent:.1}"), percent)
    }

    let share = |t: &Total| 100.0 * sampled(t) as f64 / all.max(1) as f64;
    columns
        .counts("samples", "samples", sampled)
        .expendable(3)
        .right("% CPU", |t| percent_cell(share(t)))
        .field("cpu_percent", share)
        .right("±", |t| {
            let [low, high] = share_interval(sampled(t), all);
            let is_all = sampled(t) == all;
            percent_cell(if is_all { 0.0 } else { 50.0 * (high - low) })
        })
        .ends(["cpu_percent_low", "cpu_percent_high"], |t| {
            let ends = share_interval(sampled(t), all);
            Some(ends.map(|end| 100.0 * end).into())
        })
}

fn states<'r>(columns: TotalColumns<'r>, all: &CallCount, shown: bool) -> TotalColumns<'r> {
    let largest = [all.on_cpu_ns, all.runnable_ns, all.blocked_ns]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(0);
    let unit = TimeUnit::for_seconds(largest as f64 / 1e9);
    let time = |count: &CallCount, ns| {
        Cell::known_unless(count.is_untimed(), in_seconds(ns), |seconds| {
            unit.text(seconds)
        })
    };
    // Worth the room of percentiles from a hundredth of the time on.
    let waited = all
        .runnable_ns
        .zip(all.elapsed_ns())
        .is_some_and(|(runnable, elapsed)| runnable > elapsed / 100);
    columns
        .right(&unit.title("on CPU"), |t| time(&t.count, t.count.on_cpu_ns))
        .shown_if(shown && all.on_cpu_ns.is_some())
        .field("on_cpu_s", |t| in_seconds(t.count.on_cpu_ns))
        .right(&unit.title("runnable"), |t| {
            time(&t.count, t.count.runnable_ns)
        })
        .expendable(if waited { 2 } else { 6 })
        .shown_if(shown && all.runnable_ns.is_some())
        .field("runnable_s", |t| in_seconds(t.count.runnable_ns))
        .right(&unit.title("blocked"), |t| {
            time(&t.count, t.count.blocked_ns)
        })
        .shown_if(shown && all.blocked_ns.is_some())
        .field("blocked_s", |t| in_seconds(t.count.blocked_ns))
}

fn each<'r>(
    columns: TotalColumns<'r>,
    title: &str,
    field: &'static str,
    ns: impl Fn(&Total) -> Option<f64>,
) -> TotalColumns<'r> {
    columns
        .right(title, |t| {
            Cell::known_unless(t.count.is_untimed(), ns(t).map(|ns| ns / 1e3), significant)
        })
        .field(field, |t| ns(t).map(|ns| ns / 1e3))
}

fn failures(count: u64) -> Cell {
    let text = if count == 0 {
        String::new()
    } else {
        thousands(count as f64)
    };
    Cell::number(text, count as f64)
}

/// Nanoseconds as microseconds, with three digits.
pub fn micros(ns: Option<f64>) -> Cell {
    Cell::known(ns.map(|ns| ns / 1e3), significant)
}

/// Above 100 if several threads were in calls at once.
pub fn percent_of_wall(elapsed_ns: Option<u64>, wall_ns: Option<u64>) -> Option<f64> {
    Some(100.0 * elapsed_ns? as f64 / wall_ns.filter(|wall| *wall > 0)? as f64)
}
