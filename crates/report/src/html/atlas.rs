//! The page about an atlas: a heat map of operations by kernel, the functions behind each step, and release notes.
//!
//! Counts are in one block of JSON, from which `atlas.js` draws; the notes are in the markup, so that they are readable
//! without scripts.

mod data;
mod notes;

use super::page::{Page, Part, Section};
use document::Block;
use document::write::markup::Markup;
use model::atlas::{Atlas, AtlasKernel};
use model::prose::{counted, some};
use std::collections::BTreeSet;

pub const STYLE: &str = include_str!("atlas/atlas.css");
pub const SCRIPT: &str = include_str!("atlas/atlas.js");
const MAP: &str = include_str!("atlas/map.html");

/// The page, which needs its script for the heat map alone.
pub fn atlas_page(atlas: &Atlas) -> Page {
    let releases: BTreeSet<&str> = atlas
        .kernels
        .iter()
        .map(|kernel| kernel.release.as_str())
        .collect();
    let mut map = Markup::new();
    map.raw(MAP);
    Page {
        title: "Instructions of system calls in each kernel".to_string(),
        subtitle: format!(
            "{} and {}",
            counted(releases.len(), "kernel"),
            counted(operations(atlas), "operation")
        ),
        sections: vec![
            Section::new("about", "About", about(atlas)),
            Section::new("kernels", "Kernels", vec![Part::Markup(map)]),
            Section::new("notes", "Release notes", notes::parts(atlas)),
        ],
        made_from: counted(atlas.kernels.len() + atlas.steps.len(), "file"),
        numbers: "Counts are those of most boots.",
        style: STYLE,
        script: SCRIPT,
        data: data::block(atlas),
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

/// The different values of a fact over all kernels, at most four by name.
fn unique(atlas: &Atlas, fact: fn(&AtlasKernel) -> String) -> String {
    let all: BTreeSet<String> = atlas
        .kernels
        .iter()
        .map(fact)
        .filter(|text| !text.is_empty())
        .collect();
    some(all, 4)
}

fn about(atlas: &Atlas) -> Vec<Part> {
    // Result files of 'syscost run' do not record which package a kernel is from.
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
        (
            "Boots of each kernel",
            unique(atlas, |kernel| kernel.boots.to_string()),
        ),
        (
            "Machines",
            some(data::machines(atlas).into_iter().map(data::machine_name), 6),
        ),
        ("Emulator", unique(atlas, |kernel| kernel.emulator.clone())),
        ("Probe", unique(atlas, |kernel| kernel.probe.clone())),
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

#[cfg(test)]
mod tests;
