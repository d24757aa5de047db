//! Pages about result files, profiles, kernel explanations and atlases: what a page consists of is
//! in `page`, what is on each kind of page beside it.

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
use page::{Part, Section};

pub fn document_page(title: &str, document: Document) -> Page {
    let parts = document.blocks.into_iter().map(Part::Block).collect();
    Page {
        title: title.to_string(),
        sections: vec![Section::new("answer", "Answer", parts)],
        made_from: "1 file".to_string(),
        ..Page::default()
    }
}
