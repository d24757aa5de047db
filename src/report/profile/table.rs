//! A profile as a table: like `strace -c`, but with separate times on the CPU and blocked, quantiles, and the kernel's
//! own accounting below. Called by `cli::show` and `cli::trace`.

use crate::model::{By, CallCount, Profile, Total};
use crate::report::numbers::{significant, thousands};
use crate::report::profile::class;
use crate::report::profile::notes;
use crate::report::{Cell, Format, ProfileDocument, Records, Screen, Spec, Table, write_json, write_table};
use anyhow::Result;
use std::io::Write;

/// Writes a profile with rows grouped `by`; JSON has all groupings.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_profile(profile: &Profile, by: By, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Json => write_json(&ProfileDocument::new(profile), out),
        format => write_table(&profile_table(profile, by), format, screen, out),
    }
}

/// One row per call (or class, or process and call), the most expensive first, and for people a line of totals.
pub fn profile_table(profile: &Profile, by: By) -> Table {
    let (columns, mut totals) = (columns(profile, by), profile.totals(by));
    let records = Records::of(&columns, &totals);
    let rows = totals.len();
    if rows > 0 {
        let count = CallCount { call: "total".into(), ..profile.all_calls() };
        totals.push(Total { process: String::new(), count });
    }
    let table = Table::of(&columns, &totals).with_headings(|row| row == rows).with_records(records);
    table.titled(notes::title(profile)).noted(notes::notes(profile))
}

fn columns<'a>(profile: &'a Profile, by: By) -> Vec<Spec<'a, Total>> {
    let call = || Spec::left("call", |t: &Total| t.count.call.clone().into()).text("call", |t| t.count.call.clone());
    let class = |t: &Total| class::class(&t.count.class);
    let quantile = move |t: &Total, share| (by == By::Call).then(|| profile.duration_ns(&t.count.call, share))?;
    let percent = |t: &Total| percent_of_wall(t.count.elapsed_ns(), profile.usage.wall_ns);
    let mut columns = match by {
        By::Call => vec![call()],
        By::Class => vec![call(), Spec::left("class", move |t| class(t).into()).text("class", class)],
        By::Process => {
            let process = |t: &Total| t.process.clone();
            vec![Spec::left("process", move |t| process(t).into()).text("process", process), call()]
        }
    };
    let micro = |ns: f64| ns / 1e3;
    columns.extend([
        Spec::right("calls", |t: &Total| Cell::number(thousands(t.count.calls as f64), t.count.calls as f64))
            .count("calls", |t| t.count.calls),
        Spec::right("errors", |t: &Total| failures(t.count.failures()))
            .expendable(1)
            .count("errors", |t| t.count.failures()),
        Spec::right("on CPU s", |t: &Total| seconds(t.count.on_cpu_ns))
            .number("on_cpu_s", |t| Some(t.count.on_cpu_ns? as f64 / 1e9)),
        Spec::right("blocked s", |t: &Total| seconds(t.count.blocked_ns))
            .number("blocked_s", |t| Some(t.count.blocked_ns? as f64 / 1e9)),
        Spec::right("mean us", |t: &Total| micros(t.count.mean_ns()))
            .expendable(3)
            .number("mean_us", move |t| t.count.mean_ns().map(micro)),
        Spec::right("p50 us", move |t: &Total| micros(quantile(t, 0.5)))
            .expendable(4)
            .number("p50_us", move |t| quantile(t, 0.5).map(micro)),
        Spec::right("p99 us", move |t: &Total| micros(quantile(t, 0.99)))
            .expendable(5)
            .number("p99_us", move |t| quantile(t, 0.99).map(micro)),
        Spec::right("% wall", move |t: &Total| {
            percent(t).map_or(Cell::default(), |p| Cell::number(format!("{p:.1}"), p))
        })
        .number("wall_percent", percent),
    ]);
    columns
}

fn failures(count: u64) -> Cell {
    let text = if count == 0 { String::new() } else { thousands(count as f64) };
    Cell::number(text, count as f64)
}

fn seconds(ns: Option<u64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(format!("{:.4}", ns as f64 / 1e9), ns as f64 / 1e9))
}

fn micros(ns: Option<f64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(significant(ns / 1e3), ns / 1e3))
}

fn percent_of_wall(elapsed_ns: Option<u64>, wall_ns: Option<u64>) -> Option<f64> {
    Some(100.0 * elapsed_ns? as f64 / wall_ns.filter(|wall| *wall > 0)? as f64)
}
