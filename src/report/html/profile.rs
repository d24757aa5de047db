//! A self-contained page about a profile: where the time of a workload went. Pure; called by `syscost report`.
//!
//! Like the page about result files it loads nothing, and everything is in the markup: see `html`.

mod calls;
mod machine;
pub mod parts;
mod time;

use super::charts::figure;
use super::head;
use crate::model::{By, ObjectKind, Profile};
use crate::report::profile::latency::{Latency, latencies, latency_table};
use crate::report::profile::{Weight, figures, flame_figure, notes, slowest_table};
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};
pub(super) use machine::one_line as machine_line;
use parts::top_by;
pub(super) use parts::{CHANGES, SMALL, plain, section, top};
use std::io::{self, Write};

/// Characters of a title.
const TITLE: usize = 200;

/// Writes the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_profile_page(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let latencies = latencies(profile);
    let mut html = Markup::new();
    let name = notes::title(profile);
    let title = if name.is_empty() { "Where the time of system calls went".to_string() } else { cut(&name, TITLE) };
    head::frame(&mut html, &title, &machine::one_line(profile), &sections(profile, &latencies));
    html.raw("<main id=\"main\">");
    time::warnings(&mut html, profile);
    time::write(&mut html, profile);
    calls::write(&mut html, profile, &latencies);
    duration_section(&mut html, profile, &latencies);
    object_section(&mut html, profile);
    stack_section(&mut html, profile);
    machine::write(&mut html, profile);
    html.raw("</main>");
    let numbers = "Times of calls are between entry and return, without what the tracer is known to add.";
    head::footer(&mut html, "a profile", numbers);
    out.write_all(html.as_str().as_bytes())
}

fn sections(profile: &Profile, latencies: &[Latency]) -> Vec<(&'static str, &'static str)> {
    let all = [
        (true, ("answer", "Time")),
        (true, ("calls", "Calls")),
        (!latencies.is_empty() || !profile.slowest.is_empty(), ("latency", "Latency")),
        (!profile.objects.is_empty(), ("objects", "Paths and descriptors")),
        (!profile.stacks.is_empty(), ("stacks", "Stacks")),
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

fn stack_section(html: &mut Markup, profile: &Profile) {
    if profile.stacks.is_empty() {
        return;
    }
    let weights = [Weight::Calls, Weight::OnCpu, Weight::Blocked];
    section(html, ("stacks", "Stacks"), |html| {
        for (i, drawn) in weights.into_iter().filter_map(|weight| flame_figure(profile, &weight)).enumerate() {
            figure(html, &drawn, &format!("flame{i}"));
        }
        html.raw("<p class=\"rule\">Processes at the top, below each function those that it calls, system calls at the bottom. ");
        html.raw("Point at a box to read its name and share; click to zoom. Inverted, calls are at the top and below each those ");
        html.raw("that made it.</p>");
    });
}
