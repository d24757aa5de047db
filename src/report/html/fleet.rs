//! A self-contained page about the runs of many hosts: how groups of them differ, which hosts are outliers, which upgrades
//! changed a cost, and costs over time. Pure; called by `syscost report DIR`.
//!
//! Like the page about result files it loads nothing, and everything is in the markup: see `html`. What there is to say is
//! decided in `fleet::questions`.

mod answer;
mod found;
mod heat;
mod names;
mod time;

use super::head;
use super::profile::parts::section;
use crate::fleet::questions::Survey;
use crate::prose::{counted, plural};
use crate::report::numbers::thousands;
use crate::write::html as cells;
use crate::write::markup::Markup;
use names::{Names, day};
use std::io::{self, Write};

/// Lines about files that were not read.
const MOST_SKIPPED: usize = 20;

/// What the page is about.
pub struct FleetPage<'a> {
    pub survey: &'a Survey,
    pub runs: usize,
    /// How many there are, and how many of them were not read.
    pub files: (usize, usize),
    /// Why files were not read, a line for each reason.
    pub skipped: &'a [String],
}

/// Writes the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_fleet_page(page: &FleetPage, out: &mut dyn Write) -> io::Result<()> {
    let (survey, names) = (page.survey, Names::of(page.survey));
    let mut html = Markup::new();
    let title = format!("What system calls cost on {}", hosts(survey.hosts));
    head::frame(&mut html, &title, &subtitle(page), &SECTIONS);
    html.raw("<main id=\"main\">");
    section(&mut html, SECTIONS[0], |html| answer::write(html, survey, &names));
    section(&mut html, SECTIONS[1], |html| heat::write(html, survey, &names));
    section(&mut html, SECTIONS[2], |html| found::outlier_section(html, survey, &names));
    section(&mut html, SECTIONS[3], |html| found::upgrade_section(html, survey, &names));
    section(&mut html, SECTIONS[4], |html| time::write(html, survey, &names));
    section(&mut html, SECTIONS[5], |html| files(html, page));
    html.raw("</main>");
    head::footer(
        &mut html,
        &counted(page.files.0, "file"),
        "A host's cost is the median of its runs, a group's the median of its hosts.",
    );
    out.write_all(html.as_str().as_bytes())
}

const SECTIONS: [(&str, &str); 6] = [
    ("answer", "Answer"),
    ("groups", "Groups of hosts"),
    ("outliers", "Outliers"),
    ("upgrades", "Upgrades"),
    ("time", "Over time"),
    ("files", "Files"),
];

/// `1,000 hosts`
fn hosts(number: usize) -> String {
    format!("{} {}", thousands(number as f64), plural(number, "host"))
}

fn subtitle(page: &FleetPage) -> String {
    let span = page.survey.span_unix_s.map_or(String::new(), |(first, last)| match (day(first), day(last)) {
        (first, last) if first == last => format!(" on {first}"),
        (first, last) => format!(" from {first} to {last}"),
    });
    let (runs, cases) = (thousands(page.runs as f64), counted(page.survey.cases.len(), "case"));
    format!("{runs} {} of {cases}{span}", plural(page.runs, "run"))
}

fn files(html: &mut Markup, page: &FleetPage) {
    let (files, skipped) = page.files;
    html.raw("<p>").text(&format!("{} read, {skipped} skipped.", counted(files - skipped, "file"))).raw("</p>");
    cells::notes(html, page.skipped.iter().take(MOST_SKIPPED));
    if page.skipped.len() > MOST_SKIPPED {
        html.raw("<p>")
            .text(&format!("Others were skipped for {} more reasons.", page.skipped.len() - MOST_SKIPPED))
            .raw("</p>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::questions::{fixtures, survey};

    fn page_of(count: usize, ns: impl Fn(usize, i64) -> f64, kernel: impl Fn(usize, i64) -> &'static str) -> String {
        let survey = survey(&fixtures::fleet(count, 20, ns, kernel), &fixtures::columns(&["kernel"]));
        let skipped = vec!["<b>.json: no".to_string()];
        let mut out = Vec::new();
        write_fleet_page(&FleetPage { survey: &survey, runs: 600, files: (601, 1), skipped: &skipped }, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_answer_names_the_outlier_the_upgrade_and_the_day() {
        let kernel = |_, day| if day >= 10 { "6.12" } else { "6.1" };
        let ns = |host, day| {
            100.0 * fixtures::noise(host, day) * if host == 3 { 1.3 } else { 1.0 } * if day >= 10 { 1.2 } else { 1.0 }
        };
        let html = page_of(30, ns, kernel);
        for text in
            ["30 hosts", "600 runs of 1 case from 1970-01-01 to 1970-01-20", "n03", "6.1 to 6.12", "since 1970-01-11"]
        {
            assert!(html.contains(text), "{text}");
        }
        assert!(html.contains("&lt;b&gt;.json: no") && !html.contains("<b>.json"));
    }

    #[test]
    fn too_few_hosts_are_said_to_be() {
        let html = page_of(4, fixtures::noise, |_, _| "6.1");
        assert!(
            html.contains("takes 10 hosts with the same processor and kernel; the largest such group has 4"),
            "{html}"
        );
    }
}
