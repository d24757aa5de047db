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
type Mean<'p> = &'p dyn Fn(&Total) -> Option<f64>;
type Time = fn(&CallCount) -> Option<u64>;

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
    let mut columns = states(columns, &all, shown);
    let means: [(_, _, Mean, _, _); 4] = [
        (
            "CPU us/call",
            "mean_on_cpu_us",
            &|t| t.count.mean_on_cpu_ns(),
            3,
            shown && all.on_cpu_ns.is_some(),
        ),
        (
            notes::mean(profile),
            "mean_us",
            &|t| t.count.mean_ns(),
            3,
            shown && all.elapsed_ns.is_some(),
        ),
        ("p50 us", "p50_us", &|t| latency(t)?.p50_ns, 4, timed),
        ("p99 us", "p99_us", &|t| latency(t)?.p99_ns, 5, timed),
    ];
    for (title, field, ns, order, is_shown) in means {
        let micros = |t: &Total| ns(t).map(|ns| ns / 1e3);
        columns = columns
            .right(title, |t| {
                Cell::known_unless(t.count.is_untimed(), micros(t), significant)
            })
            .expendable(order)
            .shown_if(is_shown)
            .field(field, micros);
    }
    columns
        .numbers(
            "% wall",
            "wall_percent",
            |p| format!("{p:.1}"),
            |t| percent_of_wall(t.count.elapsed_ns(), profile.usage.wall_ns),
        )
        .shown_if(shown && profile.usage.wall_ns.is_some())
}

/// The calls of a sampled profile below its answer.
pub fn sampled_table(profile: &Profile) -> Table {
    let mut table = profile_table(profile, By::Call);
    table.cautions = notes::sampled_answer(profile);
    table
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

fn states<'r>(mut columns: TotalColumns<'r>, all: &CallCount, shown: bool) -> TotalColumns<'r> {
    // Worth the room of percentiles from a hundredth of the time on.
    let waited = all
        .runnable_ns
        .zip(all.elapsed_ns())
        .is_some_and(|(runnable, elapsed)| runnable > elapsed / 100);
    let waiting = if waited { 2 } else { 6 };
    let times: [(_, _, Time, _); 3] = [
        ("on CPU", "on_cpu_s", |count| count.on_cpu_ns, 0),
        ("runnable", "runnable_s", |count| count.runnable_ns, waiting),
        ("blocked", "blocked_s", |count| count.blocked_ns, 0),
    ];
    let largest = times.iter().filter_map(|(_, _, ns, _)| ns(all)).max();
    let unit = TimeUnit::for_seconds(largest.unwrap_or(0) as f64 / 1e9);
    for (title, field, ns, order) in times {
        let seconds = |t: &Total| in_seconds(ns(&t.count));
        columns = columns
            .right(&unit.title(title), |t| {
                Cell::known_unless(t.count.is_untimed(), seconds(t), |seconds| {
                    unit.text(seconds)
                })
            })
            .expendable(order)
            .shown_if(shown && ns(all).is_some())
            .field(field, seconds);
    }
    columns
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
