//! One page about result files that stands alone: no request, no dependency, readable without its script. Pure; called by
//! `syscost report`.
//!
//! Everything is in the markup: script only sorts, filters and changes the colours. Names come from files that anybody may
//! have written; `Markup` escapes them, and a policy in the page forbids every script and style but its own two.

mod answer;
mod cells;
mod charts;
mod compared;
mod head;
mod host;
mod operations;

use super::markup::Markup;
use super::portrait::Portrait;
use crate::compare::Comparison;
use std::io::{self, Write};

/// Files up to this many have all their distributions on the page.
pub const MOST_DETAILED: usize = 8;

/// What a page is about.
pub struct Page<'a> {
    /// In the order in which they were named; at least one.
    pub files: &'a [Portrait],
    /// `None` for one file.
    pub comparison: Option<&'a Comparison>,
}

impl Page<'_> {
    /// The file that the others are compared with; of one file, that one.
    fn main(&self) -> Option<&Portrait> {
        self.files.get(self.comparison.map_or(0, |comparison| comparison.baseline))
    }
}

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_page(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Markup::new();
    head::open(&mut html, page);
    html.raw("<main id=\"main\">");
    answer::write(&mut html, page);
    if page.comparison.is_some() {
        compared::write(&mut html, page);
    }
    operations::write(&mut html, page);
    charts::write(&mut html, page);
    host::write(&mut html, page);
    html.raw("</main>");
    head::close(&mut html, page);
    out.write_all(html.as_str().as_bytes())
}
