//! How fast the machine was in earlier runs: from it a run learns how much whole runs scatter.

use super::lines::Line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    pub host: String,
    /// The processor's model, and which of them measured: cores differ.
    pub cpu: String,
    pub kernel: String,
    /// Architecture and compiler of the probe: another build has another level, above all one that an emulator translates.
    pub build: String,
    pub started_unix_s: u64,
    pub panel_ns: f64,
    pub members: BTreeMap<String, f64>,
    /// The cost of each case in units of `panel_ns`.
    #[serde(default)]
    pub cases: BTreeMap<String, f64>,
}

impl Line for Level {
    const FILE: &'static str = "levels.jsonl";
    /// All operations of each run.
    const KEPT: usize = 64;

    fn is_sound(&self) -> bool {
        self.panel_ns.is_finite() && self.panel_ns > 0.0
    }
}
