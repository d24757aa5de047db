//! What a page about result files is about.

use crate::html::kernel::Explained;
use crate::run::detail::Detail;
use crate::run::portrait::Portrait;
use analysis::compare::Comparison;

/// Files up to this many have all their distributions on the page.
pub const MOST_DETAILED: usize = 8;

/// What the page is about.
pub struct RunsPage<'a> {
    /// In the order in which they were named; at least one.
    pub files: &'a [Portrait],
    /// `None` for one file.
    pub comparison: Option<&'a Comparison>,
    /// What was looked into beside them.
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
