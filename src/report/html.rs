//! A self-contained page about result files: no requests, no dependencies, readable without its script. Pure; called by
//! `syscost report`.
//!
//! Everything is in the markup; the script only sorts, filters and changes the colours. Names come from untrusted
//! files: `Markup` escapes them, and a policy in the page forbids all scripts and styles but its own.

mod answer;
mod atlas;
mod charts;
mod compared;
mod explained;
mod head;
mod host;
mod latency;
mod operations;
mod page;
mod profile;
mod profiles;
mod runs;

pub use atlas::write_atlas_page;
pub use explained::write_explained_page;
pub use page::{Explained, MOST_DETAILED, Page};
pub use profile::write_profile_page;
pub use profiles::{ProfilesPage, write_profiles_page};

use crate::document::Document;
use crate::write::markup::Markup;
use std::io::{self, Write};

/// Writes the page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_page(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Markup::new();
    head::open(&mut html, page);
    html.raw("<main id=\"main\">");
    host::warnings(&mut html, page.files);
    answer::write(&mut html, page);
    page.comparison.iter().for_each(|comparison| compared::write(&mut html, page, comparison));
    operations::write(&mut html, page);
    charts::write(&mut html, page);
    explained::write(&mut html, page.explained);
    latency::write(&mut html, page);
    host::write(&mut html, page);
    html.raw("</main>");
    head::close(&mut html, page);
    out.write_all(html.as_str().as_bytes())
}

/// Writes a page that is a document and no more.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_document_page(title: &str, document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Markup::new();
    head::frame(&mut html, title, "", &[]);
    html.raw("<main id=\"main\">");
    crate::write::html::document(&mut html, document);
    html.raw("</main>");
    head::footer(&mut html, "1 file", "");
    out.write_all(html.as_str().as_bytes())
}
