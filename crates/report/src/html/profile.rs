//! The page about a profile: the parts of a workload's time, in the tables that `show` prints, with figures; and the page
//! about two profiles, before and after.

use super::host;
use super::kernel::CHANGES;
use super::page::{Page, Part, Section, blocks};
use crate::attribution::{ALL, all_lines, ledger_table, time_figure};
use crate::figure::Figure;
use crate::numbers::{counted, duration, significant};
use crate::profile::latency::{Latency, histograms, latencies, latency_table, small};
use crate::profile::{Weight, flame_difference, flame_figure, notes, slowest_table};
use crate::{profile_table, profiles_document, svg};
use analysis::attribute::attribute;
use analysis::compare::ProfileComparison;
use document::write::html::Drawings;
use document::write::markup::Markup;
use document::{Block, Filter, Table};
use itertools::Itertools;
use model::prose::more;
use model::{By, CallCount, Drives, ObjectKind, Profile, Total, drives};
use std::collections::HashMap;

const MOST_ROWS: usize = 100;
const WEIGHTS: [Weight; 3] = [Weight::Calls, Weight::OnCpu, Weight::Blocked];

/// The page about one profile.
pub fn profile_page(profile: &Profile) -> Page {
    let latencies = latencies(profile);
    let mut title = notes::title(profile);
    if title.is_empty() {
        title = "Where the time of system calls went".to_string();
    }
    let calls = calls(profile, &latencies);
    let machine = vec![Part::table(host::of_profile(profile))];
    Page {
        title,
        subtitle: machine_line(profile),
        warnings: notes::cautions(profile),
        sections: vec![
            Section::new("answer", "Time", time(profile)).headed("Where did the time go?"),
            Section::new("calls", "Calls", calls).headed("System calls"),
            Section::new("latency", "Latency", durations(profile, &latencies)),
            Section::new("objects", "Paths and descriptors", objects(profile)),
            Section::new("stacks", "Stacks", stacks(profile)),
            Section::new("host", "Machine", machine).headed("The machine"),
        ],
        made_from: "a profile".to_string(),
        numbers: "Times of calls are between entry and return, without the known overhead of the tracer.",
        ..Page::default()
    }
}

/// The page about two profiles: times of both, then the comparison and the difference of their stacks.
pub fn profiles_page(profiles: [&Profile; 2], comparison: &ProfileComparison) -> Page {
    let labels: Vec<&str> = comparison
        .columns
        .iter()
        .map(|column| column.label.as_str())
        .collect();
    let mut times = Vec::new();
    for (profile, label) in profiles.into_iter().zip(&labels) {
        times.push(Part::heading(*label));
        times.extend(time_figure(profile).map(Part::Figure));
    }
    let stacks = flames(|weight| flame_difference(profiles, weight), CHANGES);
    Page {
        title: format!("From {}", labels.join(" to ")),
        subtitle: machine_line(profiles[1]),
        sections: vec![
            Section::new("answer", "Time", times).headed("Where did the time go?"),
            Section::new("calls", "Calls", blocks(profiles_document(comparison)))
                .headed("System calls"),
            Section::new("stacks", "Stacks", stacks),
        ],
        made_from: "two profiles".to_string(),
        numbers: "Counts and times are of one run of each.",
        ..Page::default()
    }
}

fn machine_line(profile: &Profile) -> String {
    [
        Some(host::one_line(&profile.host)).filter(|text| !text.is_empty()),
        host::started(profile.started_unix_s),
    ]
    .into_iter()
    .flatten()
    .join(", ")
}

fn time(profile: &Profile) -> Vec<Part> {
    let unknown = "The wall time cannot be divided: several threads ran, and the tracer did not record when each was on a CPU.";
    let attribution = attribute(profile, None, &[]);
    let threads = attribution.threads.as_ref();
    let title = notes::title(profile);
    let threads = threads.map(|ledger| ledger_table(profile, &title, ledger, ALL));
    let by_wall = threads.is_none() || !profile.is_service();
    let mut parts: Vec<Part> = threads.map(Part::table).into_iter().collect();
    if by_wall {
        parts.push(time_figure(profile).map_or_else(|| Part::note(unknown), Part::Figure));
    }
    parts.push(Part::heading("Possible savings"));
    parts.extend(all_lines(profile, &attribution).into_iter().map(Part::Lead));
    parts.push(Part::Block(Block::Notes(notes::accounting(profile))));
    parts
}

fn calls(profile: &Profile, latencies: &[Latency]) -> Vec<Part> {
    let other = [
        (profile.groups.len() > 1, By::Process, "By process"),
        (
            profile.groups.iter().any(|group| group.cgroup.is_some()),
            By::Cgroup,
            "By control group",
        ),
        (
            true,
            By::Class,
            "By class: size, kind of descriptor, depth of path, operation",
        ),
        (profile.all_calls().failures() > 0, By::Error, "By error"),
        (!profile.sections.is_empty(), By::Section, "By section"),
    ];
    let mut parts = vec![by_call(profile, latencies)];
    for (is_there, by, title) in other {
        if is_there {
            let table = Part::table(table_by(profile, by, title));
            parts.push(Part::Folded(title.to_string(), false, vec![table]));
        }
    }
    parts
}

/// Has the notes on its rows only: those on the profile stand above.
fn table_by(profile: &Profile, by: By, title: &str) -> Table {
    let mut table = profile_table(profile, by)
        .titled(title)
        .noted(notes::of_rows(profile, by));
    let left_out = table.rows().len().saturating_sub(MOST_ROWS);
    table.truncate(MOST_ROWS);
    table
        .notes
        .extend(more(left_out, "more rows are in the profile."));
    table
}

const KINDS: &[(&str, &str)] = &[
    ("errors", "those that failed"),
    ("running", "those mostly on a CPU"),
    ("waiting", "those mostly waiting for a CPU"),
    ("blocked", "those mostly blocked"),
];

fn by_call(profile: &Profile, latencies: &[Latency]) -> Part {
    let totals = profile.totals(By::Call);
    let mut table = profile_table(profile, By::Call).titled("System calls");
    table.notes = notes::of_rows(profile, By::Call);
    let rows = totals
        .iter()
        .map(|total| (area(&total.count).to_string(), kinds(&total.count)))
        .collect();
    let longest = totals
        .iter()
        .filter_map(|total| total.count.elapsed_ns())
        .max()
        .unwrap_or(0);
    let mut drawn = Vec::new();
    if longest > 0 {
        drawn.push(drawings("time", &totals, |count| {
            Some(time_bar(count, longest))
        }));
    }
    if !latencies.is_empty() {
        let by_call: HashMap<&str, &Latency> = latencies
            .iter()
            .map(|latency| (latency.call.as_str(), latency))
            .collect();
        drawn.push(drawings("latency", &totals, |count| {
            Some(histogram(by_call.get(count.call.as_str())?))
        }));
    }
    let stacks = profile
        .stacks
        .iter()
        .map(|stack| stack.call.as_str())
        .counts();
    if !stacks.is_empty() {
        drawn.push(drawings("stacks", &totals, |count| {
            stacks_link(&count.call, *stacks.get(count.call.as_str())?)
        }));
    }
    // On a narrow screen the first columns are seen.
    let table = table
        .with_first(&["call", "% wall", "% CPU"])
        .filtered(Filter { kinds: KINDS, rows });
    Part::Drawn(table, drawn)
}

fn drawings(
    title: &str,
    totals: &[Total],
    cell: impl Fn(&CallCount) -> Option<(f64, Markup)>,
) -> Drawings {
    Drawings {
        title: title.to_string(),
        cells: totals.iter().map(|total| cell(&total.count)).collect(),
    }
}

fn histogram(latency: &Latency) -> (f64, Markup) {
    let first = latency.counts().next().map_or(0.0, |(ns, _)| ns);
    let most = latency.max_ns.unwrap_or(0.0);
    let [low, high] = [first, most].map(|ns| significant(ns / 1e3));
    let words = format!("{} of {low} to {high} us", counted(latency.calls, "call"));
    (most, svg::spark(&small(latency), &words))
}

/// With its call, which the script searches for in the flame graphs.
fn stacks_link(call: &str, stacks: usize) -> Option<(f64, Markup)> {
    let mut html = Markup::new();
    html.raw("<a href=\"#stacks\"")
        .set("data-call", call)
        .raw(">");
    html.text(&counted(stacks as u64, "stack")).raw("</a>");
    Some((stacks as f64, html))
}

/// Kind of row, name, nanoseconds.
fn times(count: &CallCount) -> [(&'static str, &'static str, u64); 3] {
    [
        ("running", "on a CPU", count.on_cpu_ns.unwrap_or(0)),
        (
            "waiting",
            "waiting for a CPU",
            count.runnable_ns.unwrap_or(0),
        ),
        ("blocked", "blocked", count.blocked_ns.unwrap_or(0)),
    ]
}

/// The bar of `longest` fills the column.
fn time_bar(count: &CallCount, longest: u64) -> (f64, Markup) {
    let times = times(count);
    let words = times
        .iter()
        .map(|(_, name, ns)| format!("{} {name}", duration(*ns as f64 / 1e9)))
        .join(", ");
    let shares = times.map(|(.., ns)| ns as f64 / longest as f64);
    (
        count.elapsed_ns().unwrap_or(0) as f64,
        svg::time_bar(shares, &words),
    )
}

fn kinds(count: &CallCount) -> Vec<&'static str> {
    let times = times(count);
    let most = times.iter().map(|(.., ns)| *ns).max();
    let mostly = times.iter().filter(|(.., ns)| *ns > 0 && Some(*ns) == most);
    let mut kinds: Vec<&str> = mostly.map(|(kind, ..)| *kind).collect();
    if count.failures() > 0 {
        kinds.push("errors");
    }
    kinds
}

/// Groups calls by what determines their cost.
fn area(count: &CallCount) -> &'static str {
    match drives(count.call.split('(').next().unwrap_or_default()) {
        Some((Drives::Bytes, _)) => "moves data",
        Some((Drives::Descriptor, _)) => "descriptors",
        Some((Drives::Path, _)) => "paths",
        Some((Drives::Length, _)) => "memory",
        Some((Drives::Set, _)) => "polls",
        None => "other",
    }
}

fn durations(profile: &Profile, latencies: &[Latency]) -> Vec<Part> {
    let mut parts: Vec<Part> = histograms(latencies)
        .map(Part::Figure)
        .into_iter()
        .collect();
    if !latencies.is_empty() {
        parts.push(Part::table(latency_table(profile, latencies)));
    }
    if !profile.slowest.is_empty() {
        parts.push(Part::table(slowest_table(profile)));
    }
    parts
}

fn objects(profile: &Profile) -> Vec<Part> {
    let kinds = [
        (
            ObjectKind::Path,
            By::Path,
            "Calls by path: the paths used most",
        ),
        (
            ObjectKind::Descriptor,
            By::Descriptor,
            "Calls by descriptor: the descriptors used most",
        ),
    ];
    kinds
        .into_iter()
        .filter(|(kind, ..)| profile.objects.iter().any(|object| object.kind == *kind))
        .map(|(_, by, title)| Part::table(table_by(profile, by, title)))
        .collect()
}

fn stacks(profile: &Profile) -> Vec<Part> {
    let note = "Processes at the top, below each function those that it calls, system calls at the bottom. Hover over a box for its name and share; click to zoom. Inverted: system calls at the top, their callers below them.";
    flames(|weight| flame_figure(profile, weight), note)
}

/// One figure for each weight that there is, with a note below.
fn flames(flame: impl Fn(&Weight) -> Option<Figure>, note: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = WEIGHTS.iter().filter_map(flame).map(Part::Figure).collect();
    if !parts.is_empty() {
        parts.push(Part::note(note));
    }
    parts
}
