//! A self-contained page about a profile: where the time of a workload went. Pure; called by `syscost report`.
//!
//! Like the page about result files it loads nothing, and everything is in the markup: see `html`.

mod calls;
mod machine;
pub mod parts;
mod time;

pub use parts::ProfilePage;

use super::charts::figure;
use super::head;
use crate::attribute::Attribution;
use crate::model::{By, ObjectKind, Profile};
use crate::report::attribution::attribution_tables;
use crate::report::profile::latency::{Latency, latencies, latency_table};
use crate::report::profile::{Weight, figures, flame_figure, notes, slowest_table};
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};
pub(super) use machine::one_line as machine_line;
use parts::MOST_ROWS;
use parts::top_by;
pub(super) use parts::{CHANGES, SMALL, plain, section, top};
use std::collections::HashMap;
use std::io::{self, Write};

/// Characters of a title.
const TITLE: usize = 200;

/// Writes the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_profile_page(page: &ProfilePage, out: &mut dyn Write) -> io::Result<()> {
    let latencies = latencies(page.profile);
    let mut html = Markup::new();
    let name = notes::title(page.profile);
    let title = if name.is_empty() { "Where the time of system calls went".to_string() } else { cut(&name, TITLE) };
    head::frame(&mut html, &title, &machine::one_line(page.profile), &sections(page, &latencies));
    html.raw("<main id=\"main\">");
    time::warnings(&mut html, page.profile);
    time::write(&mut html, page);
    calls::write(&mut html, page.profile, &latencies);
    duration_section(&mut html, page.profile, &latencies);
    object_section(&mut html, page.profile);
    stack_section(&mut html, page);
    page.attribution.iter().for_each(|found| attribution_section(&mut html, page.profile, found));
    machine::write(&mut html, page.profile);
    html.raw("</main>");
    let numbers = "Times of calls are between entry and return, without what the tracer is known to add.";
    head::footer(&mut html, "a profile", numbers);
    out.write_all(html.as_str().as_bytes())
}

fn sections(page: &ProfilePage, latencies: &[Latency]) -> Vec<(&'static str, &'static str)> {
    let profile = page.profile;
    let all = [
        (true, ("answer", "Time")),
        (true, ("calls", "Calls")),
        (!latencies.is_empty() || !profile.slowest.is_empty(), ("latency", "Latency")),
        (!profile.objects.is_empty(), ("objects", "Paths and descriptors")),
        (!profile.stacks.is_empty(), ("stacks", "Stacks")),
        (page.attribution.is_some(), ("attribution", "By unit costs")),
        (true, ("host", "Machine")),
    ];
    all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, section)| section).collect()
}

fn duration_section(html: &mut Markup, profile: &Profile, latencies: &[Latency]) {
    if latencies.is_empty() && profile.slowest.is_empty() {
        return;
    }
    section(html, ("latency", "Latency"), |html| {
        figures::histograms(latencies).iter().for_each(|drawn| figure(html, drawn, "durations"));
        if !latencies.is_empty() {
            plain(html, &latency_table(profile, latencies), "Elapsed time of single calls, in microseconds");
        }
        if !profile.slowest.is_empty() {
            html.raw("<h3>The slowest calls</h3>");
            top(html, slowest_table(profile), "The slowest calls, one by one", |_| false);
        }
    });
}

fn object_section(html: &mut Markup, profile: &Profile) {
    if profile.objects.is_empty() {
        return;
    }
    let has = |kind| profile.objects.iter().any(|object| object.kind == kind);
    section(html, ("objects", "Paths and descriptors"), |html| {
        for (kind, by, caption) in [
            (ObjectKind::Path, By::Path, "Calls by path, of the paths used most"),
            (ObjectKind::Descriptor, By::Descriptor, "Calls by descriptor, of the descriptors used most"),
        ] {
            if has(kind) {
                top_by(html, profile, by, caption);
            }
        }
        cells::notes(html, notes::dropped(profile).iter());
    });
}

fn stack_section(html: &mut Markup, page: &ProfilePage) {
    if page.profile.stacks.is_empty() {
        return;
    }
    let attributed = page.attribution.map(|found| Weight::Attributed(each_s(found)));
    let weights = [Weight::Calls, Weight::OnCpu, Weight::Blocked].into_iter().chain(attributed);
    section(html, ("stacks", "Stacks"), |html| {
        for (i, drawn) in weights.filter_map(|weight| flame_figure(page.profile, &weight)).enumerate() {
            figure(html, &drawn, &format!("flame{i}"));
        }
        html.raw("<p class=\"rule\">Processes at the top, below each function those that it calls, system calls at the bottom. ");
        html.raw("Point at a box to read its name and share; click to zoom. Inverted, calls are at the top and below each those ");
        html.raw("that made it.</p>");
    });
}

/// Seconds per call by unit costs, by name of the call.
pub fn each_s(found: &Attribution) -> HashMap<String, f64> {
    let mut sums: HashMap<String, (f64, u64)> = HashMap::new();
    for row in &found.here.rows {
        if let Some(priced) = row.priced {
            let sum = sums.entry(row.call.clone()).or_default();
            *sum = (sum.0 + priced.value, sum.1.saturating_add(row.calls));
        }
    }
    sums.into_iter().filter(|(_, (_, calls))| *calls > 0).map(|(call, (s, calls))| (call, s / calls as f64)).collect()
}

fn attribution_section(html: &mut Markup, profile: &Profile, found: &Attribution) {
    section(html, ("attribution", "By unit costs"), |html| {
        for table in attribution_tables(profile, found, MOST_ROWS) {
            let caption = if table.title.is_empty() { "In all".to_string() } else { table.title.clone() };
            plain(html, &table, &caption);
        }
    });
}
