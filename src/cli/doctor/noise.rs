//! `doctor --noise`: how far this machine moves by itself, measured by short runs of what every run measures.

use super::super::exit::Exit;
use super::super::messages::Notes;
use super::super::run::{self, RunArgs};
use crate::compare::{Noise, noise};
use crate::doctor::Finding;
use crate::document::{Block, Document, Table};
use crate::model::{Host, REFERENCE, Run};
use crate::report::{Format, JsonDocument, Screen, noise_table, write_answer};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;

/// Seconds that a run should have, and how many there are at least and at most.
const EACH_S: f64 = 3.0;
const FEWEST: f64 = 3.0;
const MOST: f64 = 10.0;

/// What `doctor --noise` prints as JSON.
#[derive(Serialize, JsonSchema)]
pub struct NoiseDocument<'a> {
    #[serde(flatten)]
    noise: &'a Noise,
    /// What on this machine causes noise, or hides its cause.
    causes: &'a [Finding],
    host: &'a Host,
}

impl JsonDocument for NoiseDocument<'_> {
    const SCHEMA: &'static str = "syscost.noise/1";
}

/// Measures for so many seconds. Errors: as for runs.
pub fn measure(seconds: f64, notes: Notes) -> Result<Run> {
    let runs = (seconds / EACH_S).round().clamp(FEWEST, MOST);
    let (time, runs) = ((seconds / runs).to_string(), runs.to_string());
    // No precision ends a run early: all have the same time.
    let words = ["run", REFERENCE, "--no-verify", "--precision", "0.001", "--time", &time, "--runs", &runs];
    Ok(run::measure(&RunArgs::from_words(words)?, notes)?.run)
}

/// Writes what `run` shows, and what may cause it, with the table of that.
pub fn write(
    run: &Run,
    (causes, of_causes): (&[Finding], Table),
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<Exit> {
    let noise = noise(run);
    let document = || {
        let table = noise_table(&noise);
        Document { records: table.records().clone(), blocks: vec![Block::Table(table), Block::Table(of_causes)] }
    };
    let json = NoiseDocument { noise: &noise, causes, host: &run.host };
    write_answer(&json, document, (format, screen), out)?;
    Ok(if run.complete { Exit::Success } else { Exit::Interrupted })
}
