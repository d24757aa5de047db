//! The page about an atlas: a heat map of operations by kernel, what each step is made of, and
//! release notes.
//!
//! Counts stand in one block of JSON, from which `atlas.js` draws; the notes are in the markup, to
//! be read without it.

mod data;
mod notes;

use super::page::{Own, Page, Part, Section};
use document::Block;
use document::write::markup::Markup;
use model::atlas::{Atlas, AtlasKernel};
use model::prose::{counted, some};
use std::collections::BTreeSet;

pub const STYLE: &str = include_str!("atlas/atlas.css");
pub const SCRIPT: &str = include_str!("atlas/atlas.js");
const MAP: &str = include_str!("atlas/map.html");

pub fn atlas_page(atlas: &Atlas) -> Page {
    let releases: BTreeSet<&str> = atlas
        .kernels
        .iter()
        .map(|kernel| kernel.release.as_str())
        .collect();
    Page {
        title: "What system calls execute in each kernel".to_string(),
        subtitle: format!(
            "{} and {}: instructions in user and kernel mode of an emulated machine, not time",
            counted(releases.len(), "kernel"),
            counted(operations(atlas), "operation")
        ),
        sections: vec![
            Section::new("about", "What this is", about(atlas, releases.len())),
            Section::new("kernels", "Kernels", vec![Part::Own(map())]),
            Section::new("notes", "Release notes", notes::parts(atlas)),
        ],
        made_from: counted(atlas.kernels.len() + atlas.steps.len(), "file"),
        numbers: "Counts are those of most boots.",
        own: Own {
            style: STYLE,
            script: SCRIPT,
            data: Some(("atlas-data", data::block(atlas))),
        },
        ..Page::default()
    }
}

fn operations(atlas: &Atlas) -> usize {
    atlas
        .kernels
        .iter()
        .flat_map(|kernel| &kernel.cells)
        .map(|cell| cell.operation.as_str())
        .collect::<BTreeSet<&str>>()
        .len()
}

fn about(atlas: &Atlas, releases: usize) -> Vec<Part> {
    let unique = |of: fn(&AtlasKernel) -> String| {
        let all: BTreeSet<String> = atlas
            .kernels
            .iter()
            .map(of)
            .filter(|text| !text.is_empty())
            .collect();
        some(all, 4)
    };
    // Runs do not know which package a kernel is from.
    let is_packaged = atlas
        .kernels
        .iter()
        .any(|kernel| !kernel.package.is_empty());
    let [licence, made] = if is_packaged {
        ["CC0-1.0", "syscost kernel atlas build DIR"]
    } else {
        ["", "syscost run --env KERNEL,... --out FILE"]
    };
    let facts = vec![
        ("Kernels", releases.to_string()),
        ("Operations", operations(atlas).to_string()),
        (
            "Boots of each kernel",
            unique(|kernel| kernel.boots.to_string()),
        ),
        (
            "Machines",
            some(data::machines(atlas).into_iter().map(data::machine_name), 6),
        ),
        ("Emulator", unique(|kernel| kernel.emulator.clone())),
        ("Probe", unique(|kernel| kernel.probe.clone())),
        ("Licence of the data", licence.to_string()),
        ("Made by", made.to_string()),
    ];
    let lead = "How many instructions each operation executes in each kernel, counted in user and kernel mode of an emulated \
                machine. It is not time: fewer instructions are often, not always, faster.";
    let known = facts
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect();
    vec![
        Part::Lead(lead.to_string()),
        Part::Block(Block::Facts(known)),
    ]
}

/// Lines of the file end between elements, and not in the page.
fn map() -> Markup {
    let mut html = Markup::new();
    for line in MAP.lines() {
        html.raw(line);
    }
    html
}

#[cfg(test)]
mod tests;
