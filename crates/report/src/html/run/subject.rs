//! What a page about result files is about.

use crate::html::kernel::Explained;
use crate::run::portrait::Detail;
use crate::run::portrait::Portrait;
use analysis::compare::Comparison;

/// With more files, the page has no distributions.
pub const MOST_DETAILED: usize = 8;

pub struct RunsPage<'a> {
    /// In the order in which they were named; at least one.
    pub files: &'a [Portrait],
    /// `None` for one file.
    pub comparison: Option<&'a Comparison>,
    pub explained: &'a [Explained],
}

impl RunsPage<'_> {
    /// The file that the others are compared with; of one file, that one.
    pub fn main(&self) -> Option<&Portrait> {
        self.files
            .get(self.comparison.map_or(0, |comparison| comparison.baseline))
    }

    pub fn detail(&self) -> Option<&Detail> {
        self.main()?.detail.as_ref()
    }
}
