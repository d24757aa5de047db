//! Pages about result files, profiles, kernel explanations and atlases. `page` has the parts of a page; the other modules
//! choose them for each kind of page.

mod atlas;
mod host;
mod kernel;
mod page;
mod profile;
mod run;

pub use atlas::atlas_page;
pub use kernel::{Explained, explained_page};
pub use page::Page;
pub use profile::{profile_page, profiles_page};
pub use run::{MOST_DETAILED, RunsPage, runs_page};

use document::Document;
use page::Section;

/// A page for answers that have only a document, such as races.
pub fn document_page(title: &str, document: Document) -> Page {
    Page {
        title: title.to_string(),
        sections: vec![Section::new("answer", "Answer", page::blocks(document))],
        made_from: "1 file".to_string(),
        ..Page::default()
    }
}
