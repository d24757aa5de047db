//! A self-contained page about an atlas: a heat map of operations by kernel, what each step is made of, and release notes.
//! Pure; called by `syscost report DIR`.
//!
//! Counts stand in one block of JSON, from which `atlas.js` draws; the notes are in the markup, to be read without it.

mod data;
mod notes;

use super::head::{self, Own};
use super::profile::parts::section;
use crate::atlas::Atlas;
use crate::prose::{counted, some};
use crate::write::markup::Markup;
use std::collections::BTreeSet;
use std::io::{self, Write};

const OWN: Own = Own { style: include_str!("atlas/atlas.css"), script: include_str!("atlas/atlas.js") };

const SECTIONS: [(&str, &str); 3] = [("about", "What this is"), ("kernels", "Kernels"), ("notes", "Release notes")];

/// Writes the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_atlas_page(atlas: &Atlas, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Markup::new();
    let releases: BTreeSet<&str> = atlas.kernels.iter().map(|kernel| kernel.release.as_str()).collect();
    let subtitle = format!(
        "{} and {}: instructions in user and kernel mode of an emulated machine, not time",
        counted(releases.len(), "kernel"),
        counted(operations(atlas), "operation")
    );
    head::frame_with(&mut html, "What system calls execute in each kernel", &subtitle, &SECTIONS, OWN);
    html.raw("<main id=\"main\">");
    section(&mut html, SECTIONS[0], |html| about(html, atlas, releases.len()));
    section(&mut html, SECTIONS[1], map);
    section(&mut html, SECTIONS[2], |html| notes::write(html, atlas));
    html.raw("</main><script type=\"application/json\" id=\"atlas-data\">").json(&data::block(atlas)).raw("</script>");
    let files = counted(atlas.kernels.len() + atlas.steps.len(), "file");
    head::footer_with(&mut html, &files, "Counts are those of most boots.", OWN);
    out.write_all(html.as_str().as_bytes())
}

fn operations(atlas: &Atlas) -> usize {
    let cells = atlas.kernels.iter().flat_map(|kernel| &kernel.cells);
    cells.map(|cell| cell.operation.as_str()).collect::<BTreeSet<&str>>().len()
}

fn about(html: &mut Markup, atlas: &Atlas, releases: usize) {
    let unique = |of: fn(&crate::model::atlas::AtlasKernel) -> String| {
        let all: BTreeSet<String> = atlas.kernels.iter().map(of).filter(|text| !text.is_empty()).collect();
        some(&all.into_iter().collect::<Vec<_>>(), 4)
    };
    html.raw("<p class=\"lead\">How many instructions each operation executes in each kernel, counted in user and kernel mode ");
    html.raw("of an emulated machine. It is not time: fewer instructions are often, not always, faster.</p><ul>");
    let facts = [
        ("Kernels", releases.to_string()),
        ("Operations", operations(atlas).to_string()),
        ("Boots of each kernel", unique(|kernel| kernel.boots.to_string())),
        ("Machines", some(&data::machines(atlas).into_iter().map(data::machine_name).collect::<Vec<_>>(), 6)),
        ("Emulator", unique(|kernel| kernel.emulator.clone())),
        ("Probe", unique(|kernel| kernel.probe.clone())),
    ];
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        html.element("li", &format!("{name}: {text}"));
    }
    // Runs do not know which package a kernel is from.
    if atlas.kernels.iter().any(|kernel| !kernel.package.is_empty()) {
        html.raw("<li>Licence of the data: CC0-1.0</li>");
        html.raw("<li>Built by <code>syscost kernel atlas build DIR</code></li></ul>");
    } else {
        html.raw("<li>Counted by <code>syscost run --env KERNEL,... --out FILE</code></li></ul>");
    }
}

/// What the script fills.
fn map(html: &mut Markup) {
    html.raw("<noscript><p>The table of all counts needs JavaScript; the release notes below do not. The counts are also in the ");
    html.raw("atlas's own files.</p></noscript><div class=\"controls\" id=\"controls\" hidden>");
    html.raw("<label>Machine <select id=\"machine\"></select></label>");
    html.raw("<label>Columns <select id=\"view\"><option value=\"series\">one of each series</option>");
    html.raw("<option value=\"all\">all releases</option></select></label>");
    html.raw("<label>Search <input id=\"search\" type=\"search\" placeholder=\"fstat\"></label>");
    html.raw("<label>Family <select id=\"family\"><option value=\"\">all</option></select></label>");
    html.raw(
        "<output id=\"told\"></output></div><div class=\"heat\"><p class=\"rule key\">Colours compare with the first ",
    );
    html.raw(
        "column, or with the first machine: <span class=\"c5\">half or less</span> <span class=\"c3\">fewer</span> <span>the same</span> ",
    );
    html.raw("<span class=\"d3\">more</span> <span class=\"d5\">twice or more</span>. A bar at a cell's left, or a dot on the line, ");
    html.raw(
        "marks a step: its count and the one before are beyond each other's range over boots, by more than 1% where boots differ or there is only one. A dash has its reason as its title.</p>",
    );
    html.raw("<p class=\"rule\">Click a cell, or press Enter on it, for what changed; arrow keys move.</p>");
    html.raw("<div class=\"box map\" id=\"map\" role=\"region\" tabindex=\"0\" aria-label=\"All counts\"></div></div>");
    html.raw("<div id=\"panel\" role=\"region\" aria-label=\"The chosen cell\" aria-live=\"polite\" hidden></div>");
}

#[cfg(test)]
mod tests;
