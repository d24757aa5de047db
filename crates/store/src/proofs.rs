use super::lines::Line;
use model::Entries;
use serde::{Deserialize, Serialize};

/// Kernel entries of one case that an earlier run counted. If a key has several lines, the last one counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// A digest of what they depend on.
    pub key: String,
    pub entries: Entries,
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
