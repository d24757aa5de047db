//! The calls: a table to sort and filter with a histogram of each call's durations, then by process, class and error.

use super::parts::{is_small, section, spelled, top_by};
use crate::model::{By, CallCount, Drives, Profile, Total, drives};
use crate::report::numbers::significant;
use crate::report::profile::latency::Latency;
use crate::report::profile::{figures, profile_table};
use crate::report::svg::{spark, time_bar};
use crate::report::{Align, Cell, Table};
use crate::write::markup::{Markup, cut};
use crate::write::{controls, html as cells};
use indexmap::IndexSet;

/// Marks of rows, and the choice of each.
const KINDS: &[(&str, &str)] = &[
    ("errors", "those that failed"),
    ("running", "those mostly on a CPU"),
    ("waiting", "those mostly waiting for a CPU"),
    ("blocked", "those mostly blocked"),
];

pub fn write(html: &mut Markup, profile: &Profile, latencies: &[Latency]) {
    section(html, ("calls", "System calls"), |html| {
        by_call(html, profile, latencies);
        if profile.groups.len() > 1 {
            details(html, profile, By::Process, "By process");
        }
        if profile.groups.iter().any(|group| group.cgroup.is_some()) {
            details(html, profile, By::Cgroup, "By control group");
        }
        details(html, profile, By::Class, "By class: size, kind of descriptor, depth of path, operation");
        if profile.all_calls().failures() > 0 {
            details(html, profile, By::Error, "By error");
        }
    });
}

fn details(html: &mut Markup, profile: &Profile, by: By, caption: &'static str) {
    html.raw("<details><summary>").raw(caption).raw("</summary>");
    top_by(html, profile, by, caption);
    html.raw("</details>");
}

fn by_call(html: &mut Markup, profile: &Profile, latencies: &[Latency]) {
    let totals = profile.totals(By::Call);
    // On a narrow screen the first columns are seen.
    let table = spelled(profile_table(profile, By::Call).without_empty()).with_first(&["call", "% wall", "% CPU"]);
    let longest = totals.iter().filter_map(|total| total.count.elapsed_ns()).max().unwrap_or(0);
    let drawn = (longest > 0).then_some(("time", Align::Left));
    html.raw("<div class=\"sortable\">");
    let kinds: IndexSet<&str> = totals.iter().map(|total| kind(&total.count)).collect();
    controls::labelled(html, ("call", "Kind"), kinds.into_iter(), KINDS);
    cells::open(html, "System calls, those with the most time first", "ops");
    let further = (!latencies.is_empty()).then_some(("latency", Align::Left));
    cells::head(html, titles(&table).chain(drawn).chain(further));
    // The table's last row is the total, which is not sorted with the others.
    let mut rows: Vec<(&Total, &Vec<Cell>)> = totals.iter().zip(table.rows()).collect();
    rows.sort_by_key(|(total, _)| std::cmp::Reverse(total.count.elapsed_ns()));
    for (total, row) in rows {
        html.raw("<tr").attribute("data-k", &marks(&total.count)).attribute("data-a", kind(&total.count));
        html.raw(if is_small(profile, total) { cells::SMALL } else { "" }).raw(">");
        cells::row(html, row, table.columns());
        drawn.iter().for_each(|_| time(html, &total.count, longest));
        if !latencies.is_empty() {
            histogram(html, latencies.iter().find(|latency| latency.call == total.count.call));
        }
        html.raw("</tr>");
    }
    cells::close(html);
    html.raw("</div>");
    cells::notes(html, crate::report::profile::notes::of_rows(profile, By::Call).iter());
}

fn titles(table: &Table) -> impl Iterator<Item = (&str, Align)> {
    table.columns().iter().map(|column| (column.title.as_str(), column.align))
}

fn histogram(html: &mut Markup, latency: Option<&Latency>) {
    let Some(latency) = latency else {
        html.raw("<td></td>");
        return;
    };
    let us = |ns: f64| significant(ns / 1e3);
    let first = latency.counts().next().map_or(0.0, |(ns, _)| ns);
    let words = format!("{} calls of {} to {} us", latency.calls, us(first), us(latency.max_ns.unwrap_or(0.0)));
    html.raw("<td").attribute("data-v", &cells::compact(latency.max_ns.unwrap_or(0.0)));
    html.attribute("title", &words).raw(">").add(&spark(&figures::small(latency), &words)).raw("</td>");
}

/// The times of a call: the mark of a row that has most of it, its name, and nanoseconds.
fn parts(count: &CallCount) -> [(&'static str, &'static str, u64); 3] {
    [
        ("running", "on a CPU", count.on_cpu_ns.unwrap_or(0)),
        ("waiting", "waiting for a CPU", count.runnable_ns.unwrap_or(0)),
        ("blocked", "blocked", count.blocked_ns.unwrap_or(0)),
    ]
}

/// The times of a call as a bar, in the colours of the bar of all wall time; as long as the page is wide for `longest`.
fn time(html: &mut Markup, count: &CallCount, longest: u64) {
    let known = parts(count);
    let seconds = |(_, name, ns): &(&str, &str, u64)| format!("{:.4} s {name}", *ns as f64 / 1e9);
    let words = known.iter().map(seconds).collect::<Vec<_>>().join(", ");
    html.raw("<td class=\"w\"").attribute("data-v", &cells::compact(count.elapsed_ns().unwrap_or(0) as f64));
    html.attribute("title", &words).raw(">").add(&time_bar(known.map(|(.., ns)| ns as f64 / longest as f64), &words));
    html.raw("</td>");
}

fn marks(count: &CallCount) -> String {
    let parts = parts(count);
    let most = parts.iter().map(|(.., ns)| *ns).max().filter(|ns| *ns > 0);
    let mostly = parts.iter().map(|(mark, _, ns)| (Some(*ns) == most, *mark));
    let marks: Vec<(bool, &str)> = std::iter::once((count.failures() > 0, "errors")).chain(mostly).collect();
    marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect::<Vec<_>>().join(" ")
}

/// What kind of work a call does, by what determines its cost.
fn kind(count: &CallCount) -> &'static str {
    let name = cut(&count.call, 40);
    match drives(name.split('(').next().unwrap_or_default()) {
        Some(Drives::Bytes { .. }) => "moves data",
        Some(Drives::Descriptor { .. }) => "descriptors",
        Some(Drives::Path { .. }) => "paths",
        Some(Drives::Length { .. }) => "memory",
        Some(Drives::Set { .. }) => "polls",
        None => "other",
    }
}
