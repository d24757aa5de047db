//! A self-contained page about two profiles: what changed from the first to the second. Pure; called by `syscost report`.

use super::charts::figure;
use super::head;
use super::profile::{CHANGES, machine_line, section};
use crate::compare::ProfileComparison;
use crate::model::Profile;
use crate::report::profile::{Weight, flame_difference};
use crate::report::{profiles_document, time_figure};
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};
use std::io::{self, Write};

/// What the page is about.
pub struct ProfilesPage<'a> {
    /// Before and after.
    pub profiles: [&'a Profile; 2],
    pub comparison: &'a ProfileComparison,
}

/// Characters of a label.
const LABEL: usize = 80;

/// Writes the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_profiles_page(page: &ProfilesPage, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Markup::new();
    let labels: Vec<String> = page.comparison.columns.iter().map(|column| cut(&column.label, LABEL)).collect();
    let figures = differences(page.profiles);
    let mut sections = vec![("answer", "Time"), ("calls", "Calls")];
    sections.extend((!figures.is_empty()).then_some(("stacks", "Stacks")));
    head::frame(&mut html, &format!("From {}", labels.join(" to ")), &machine_line(page.profiles[1]), &sections);
    html.raw("<main id=\"main\">");
    section(&mut html, ("answer", "Where did the time go?"), |html| {
        for (i, (profile, label)) in page.profiles.into_iter().zip(&labels).enumerate() {
            html.element("h3", label);
            time_figure(profile).iter().for_each(|drawn| figure(html, drawn, &format!("time{i}")));
        }
    });
    section(&mut html, ("calls", "System calls"), |html| cells::document(html, &profiles_document(page.comparison)));
    if !figures.is_empty() {
        section(&mut html, ("stacks", "Stacks"), |html| {
            figures.iter().enumerate().for_each(|(i, drawn)| figure(html, drawn, &format!("flame{i}")));
            html.raw("<p class=\"rule\">").raw(CHANGES).raw("</p>");
        });
    }
    html.raw("</main>");
    head::footer(&mut html, "two profiles", "Counts and times are of one run of each.");
    out.write_all(html.as_str().as_bytes())
}

/// The flame graphs of what changed, by each weight that both have.
fn differences(profiles: [&Profile; 2]) -> Vec<crate::report::figure::Figure> {
    let weights = [Weight::Calls, Weight::OnCpu, Weight::Blocked];
    weights.iter().filter_map(|weight| flame_difference(profiles, weight)).collect()
}
