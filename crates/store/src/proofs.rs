//! Kernel entries that earlier runs counted, a line a case. `session` decides what a key stands for.

use super::lines::Line;
use model::Entries;
use serde::{Deserialize, Serialize};

/// The entries of one case. Of several lines for one key, the last holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// What they depend on, as a digest.
    pub key: String,
    pub entries: Entries,
    /// How long a request might last: what enters the kernel more rarely than that was not seen.
    pub request_us: u64,
    /// When they were counted, in seconds since 1970-01-01 UTC.
    pub unix_s: u64,
}

impl Line for Counted {
    const FILE: &'static str = "proofs.jsonl";
    const KEPT: usize = 4096;

    fn is_sound(&self) -> bool {
        self.entries
            .iter()
            .all(|(name, count)| !name.is_empty() && count.is_finite() && count > 0.0)
    }
}
