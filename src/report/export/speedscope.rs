//! The stacks of a profile for speedscope (<https://www.speedscope.app>), in its own file format: one profile of samples for each
//! weight that is known.

use super::exported::ExportFormat;
use super::stacks::{Weighed, weighed};
use crate::model::Profile;
use anyhow::Result;
use indexmap::IndexSet;
use serde_json::{Value, json};
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "speedscope",
    what: "The stacks of a profile, for speedscope",
    write: None,
    write_profile: Some(write),
    holds_instructions: false,
};

fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let mut frames = IndexSet::new();
    let profiles: Vec<Value> = weighed(profile)?.iter().map(|weight| samples(weight, &mut frames)).collect();
    let frames: Vec<Value> = frames.into_iter().map(|name| json!({"name": name})).collect();
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("syscost ", env!("CARGO_PKG_VERSION")),
        "name": super::stacks::name(profile),
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *out, &document)?;
    Ok(writeln!(out)?)
}

fn samples(of: &Weighed, frames: &mut IndexSet<String>) -> Value {
    let indexes =
        |path: &Vec<String>| -> Vec<usize> { path.iter().map(|name| frames.insert_full(name.clone()).0).collect() };
    let samples: Vec<Vec<usize>> = of.stacks.iter().map(|(path, _)| path).map(indexes).collect();
    let weights: Vec<u64> = of.stacks.iter().map(|(_, weight)| *weight).collect();
    json!({
        "type": "sampled",
        "name": of.what,
        "unit": if of.is_time { "nanoseconds" } else { "none" },
        "startValue": 0,
        "endValue": weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight)),
        "samples": samples,
        "weights": weights,
    })
}
