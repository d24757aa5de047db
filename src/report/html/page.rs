//! What a page is made of.

use crate::compare::Comparison;
use crate::model::explained::{KernelExplanation, KernelVersus};
use crate::report::run::portrait::Portrait;

/// Files up to this many have all their distributions on the page.
pub const MOST_DETAILED: usize = 8;

/// What `explain` found in emulated kernels.
pub enum Explained {
    /// In one.
    Kernel(Box<KernelExplanation>),
    /// In two.
    Versus(Box<KernelVersus>),
}

/// What a page is about.
pub struct Page<'a> {
    /// In the order in which they were named; at least one.
    pub files: &'a [Portrait],
    /// `None` for one file.
    pub comparison: Option<&'a Comparison>,
    /// What was looked into beside them.
    pub explained: &'a [Explained],
}

impl Page<'_> {
    /// The file that the others are compared with; of one file, that one.
    pub fn main(&self) -> Option<&Portrait> {
        self.files.get(self.comparison.map_or(0, |comparison| comparison.baseline))
    }
}
