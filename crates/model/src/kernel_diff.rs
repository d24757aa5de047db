//! All operations in two emulated kernels, compared: what `syscost kernel diff` finds.

use super::JsonDocument;
use super::atlas::{AtlasCount, AtlasStep};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The output of `syscost kernel diff --format json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelDiff {
    /// The environment of the old kernel, e.g. `linux-6.1`.
    pub before: String,
    /// The environment of the new kernel.
    pub after: String,
    /// Boots of each kernel, each with another seed and memory size, over which counts range.
    pub boots: u32,
    /// Operations with the same count in both kernels.
    pub equal: usize,
    /// Operations whose counts differ, the largest relative change first.
    pub changed: Vec<AtlasStep>,
    /// Operations without a verdict.
    pub not_judged: Vec<NotJudged>,
}

impl JsonDocument for KernelDiff {
    const SCHEMA: &'static str = "syscost.kernel-diff/1";
}

/// An operation that cannot be compared, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotJudged {
    /// With its parameters, e.g. `file.lstat depth=4`.
    pub operation: String,
    /// Instructions per operation in the old kernel; null if it was not counted.
    pub before: Option<AtlasCount>,
    /// The same in the new kernel.
    pub after: Option<AtlasCount>,
    pub reason: String,
}

/// A step that no function explains.
impl From<AtlasStep> for NotJudged {
    fn from(step: AtlasStep) -> NotJudged {
        NotJudged {
            before: AtlasCount::from_boots(&[step.before]),
            after: AtlasCount::from_boots(&[step.after]),
            operation: step.operation,
            reason: step.reason.unwrap_or_default(),
        }
    }
}

impl AtlasStep {
    pub fn growth(&self) -> f64 {
        (self.after - self.before) / self.before.max(1.0)
    }
}
