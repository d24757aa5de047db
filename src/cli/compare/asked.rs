//! What is asked of a comparison, whatever is compared.

use super::gate::GateArgs;
use std::path::PathBuf;

/// The flags that profiles and single files have too.
pub struct Asked<'a> {
    pub files: &'a [PathBuf],
    /// The other side; empty if each file is one.
    pub versus: &'a [PathBuf],
    pub labels: &'a [String],
    pub baseline: Option<&'a str>,
    /// Patterns of what is shown and judged; empty for all.
    pub only: &'a [String],
    /// Smaller differences are not shown, as a share.
    pub threshold: Option<f64>,
    pub gate: &'a GateArgs,
}
