//! A profile as a table: like `strace -c`, but with separate times on the CPU and blocked,
//! quantiles, and the kernel's own accounting below.

use crate::numbers::{TimeUnit, counts, significant, thousands};
use crate::profile::latency::Latency;
use crate::profile::notes;
use crate::profile::sections::sections_table;
use crate::{Cell, Records, Spec, Table};
use model::{By, CallCount, Profile, Total};
use stats::share_interval;

/// The most expensive first, and for people a line of totals.
pub fn profile_table(profile: &Profile, by: By) -> Table {
    if by == By::Section {
        return sections_table(profile);
    }
    let (columns, mut totals) = (columns(profile, by), profile.totals(by));
    let records = Records::of(&columns, &totals);
    let rows = totals.len();
    if rows > 0 && covers_all(by) {
        let count = CallCount {
            call: "total".into(),
            ..profile.all_calls()
        };
        totals.push(Total {
            of: String::new(),
            count,
        });
    }
    let table = Table::of(&columns, &totals)
        .with_headings(|row| row == rows)
        .with_records(records);
    let missing = Some(notes::none(by)).filter(|_| rows == 0).flatten();
    let notes = missing
        .into_iter()
        .chain(notes::of_rows(profile, by))
        .chain(notes::notes(profile))
        .collect();
    table.titled(notes::title(profile)).noted(notes)
}

fn covers_all(by: By) -> bool {
    matches!(by, By::Call | By::Class | By::Process | By::Cgroup)
}

fn group(by: By) -> Option<&'static str> {
    match by {
        By::Call | By::Class | By::Section => None,
        By::Process => Some("process"),
        By::Cgroup => Some("cgroup"),
        By::Error => Some("error"),
        By::Path => Some("path"),
        By::Descriptor => Some("descriptor"),
    }
}

fn columns(profile: &Profile, by: By) -> Vec<Spec<'_, Total>> {
    let mut columns = names(by);
    if let Some(samples) = profile.samples() {
        columns.extend(shares(samples));
        columns.extend(states(&profile.all_calls()));
        return columns;
    }
    columns.push(counts("calls", "calls", |t: &Total| t.count.calls));
    columns.push(
        Spec::right("errors", |t: &Total| failures(t.count.failures()))
            .shown_if(by != By::Error)
            .expendable(1)
            .count("errors", |t| t.count.failures()),
    );
    columns.extend(
        times(profile, by)
            .into_iter()
            .map(|column| column.shown_if(by != By::Error)),
    );
    columns
}

fn names<'a>(by: By) -> Vec<Spec<'a, Total>> {
    let class = |t: &Total| super::class(&t.count.class);
    let of = group(by).map(|title| {
        let spec = Spec::same(title, |t: &Total| t.of.clone());
        if matches!(by, By::Path | By::Descriptor | By::Cgroup) {
            spec.wrapping()
        } else {
            spec
        }
    });
    let call = Spec::same("call", |t: &Total| t.count.call.clone());
    let class = (by == By::Class).then(|| Spec::same("class", class));
    of.into_iter().chain([call]).chain(class).collect()
}

fn times(profile: &Profile, by: By) -> Vec<Spec<'_, Total>> {
    let latency = move |t: &Total| (by == By::Call).then(|| Latency::of(profile, &t.count.call))?;
    let percent = |t: &Total| percent_of_wall(t.count.elapsed_ns(), profile.usage.wall_ns);
    let (p50, p99) = (
        move |t: &Total| latency(t)?.p50_ns,
        move |t: &Total| latency(t)?.p99_ns,
    );
    // Only what a log of strace cannot divide has a mean of the whole.
    let all = profile.all_calls();
    let timed = by == By::Call && !profile.latencies.is_empty();
    let mut columns: Vec<Spec<Total>> = states(&all).into();
    columns.extend([
        each("CPU us/call", "mean_on_cpu_us", |t: &Total| {
            t.count.mean_on_cpu_ns()
        })
        .shown_if(all.on_cpu_ns.is_some())
        .expendable(3),
        each("elapsed us/call", "mean_us", |t: &Total| t.count.mean_ns())
            .shown_if(all.elapsed_ns.is_some())
            .expendable(3),
        each("p50 us", "p50_us", p50).shown_if(timed).expendable(4),
        each("p99 us", "p99_us", p99).shown_if(timed).expendable(5),
        Spec::numbers("% wall", "wall_percent", |p| format!("{p:.1}"), percent)
            .shown_if(profile.usage.wall_ns.is_some()),
    ]);
    columns
}

fn shares<'a>(all: u64) -> Vec<Spec<'a, Total>> {
    let found = |t: &Total| t.count.samples.unwrap_or(0);
    let share = move |t: &Total| 100.0 * found(t) as f64 / all.max(1) as f64;
    let interval = move |t: &Total| share_interval(found(t), all);
    let half = move |t: &Total| {
        let [low, high] = interval(t);
        if found(t) == all {
            0.0
        } else {
            50.0 * (high - low)
        }
    };
    let percent = |percent: f64| Cell::number(format!("{percent:.1}"), percent);
    vec![
        counts("samples", "samples", found).expendable(3),
        Spec::right("% CPU", move |t: &Total| percent(share(t))).number("cpu_percent", share),
        Spec::right("±", move |t: &Total| percent(half(t)))
            .ends(["cpu_percent_low", "cpu_percent_high"], move |t| {
                Some(interval(t).map(|end| 100.0 * end).into())
            }),
    ]
}

fn states<'a>(all: &CallCount) -> [Spec<'a, Total>; 3] {
    let largest = [all.on_cpu_ns, all.runnable_ns, all.blocked_ns]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(0);
    let unit = TimeUnit::of(largest as f64 / 1e9);
    // Worth the room of percentiles from a hundredth of the time on.
    let waited = all
        .runnable_ns
        .zip(all.elapsed_ns())
        .is_some_and(|(runnable, elapsed)| runnable > elapsed / 100);
    [
        seconds("on CPU", "on_cpu_s", unit, |count| count.on_cpu_ns)
            .shown_if(all.on_cpu_ns.is_some()),
        seconds("runnable", "runnable_s", unit, |count| count.runnable_ns)
            .shown_if(all.runnable_ns.is_some())
            .expendable(if waited { 2 } else { 6 }),
        seconds("blocked", "blocked_s", unit, |count| count.blocked_ns)
            .shown_if(all.blocked_ns.is_some()),
    ]
}

fn seconds<'a>(
    title: &str,
    field: &'static str,
    unit: TimeUnit,
    ns: fn(&CallCount) -> Option<u64>,
) -> Spec<'a, Total> {
    Spec::right(&unit.title(title), move |t: &Total| {
        time(unit, ns(&t.count))
    })
    .number(field, move |t| Some(ns(&t.count)? as f64 / 1e9))
}

fn each<'a>(
    title: &str,
    field: &'static str,
    ns: impl Fn(&Total) -> Option<f64> + Copy + 'a,
) -> Spec<'a, Total> {
    Spec::right(title, move |t: &Total| micros(ns(t)))
        .number(field, move |t| ns(t).map(|ns| ns / 1e3))
}

fn failures(count: u64) -> Cell {
    let text = if count == 0 {
        String::new()
    } else {
        thousands(count as f64)
    };
    Cell::number(text, count as f64)
}

fn time(unit: TimeUnit, ns: Option<u64>) -> Cell {
    Cell::known(ns.map(|ns| ns as f64 / 1e9), |seconds| unit.text(seconds))
}

pub fn micros(ns: Option<f64>) -> Cell {
    Cell::known(ns.map(|ns| ns / 1e3), significant)
}

pub fn percent_of_wall(elapsed_ns: Option<u64>, wall_ns: Option<u64>) -> Option<f64> {
    Some(100.0 * elapsed_ns? as f64 / wall_ns.filter(|wall| *wall > 0)? as f64)
}
